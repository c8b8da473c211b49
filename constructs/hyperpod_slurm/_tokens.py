"""Values that nobody knows at synth: tokens, which exist only at deploy time, and placeholders of look-ups.

A look-up (``Vpc.from_lookup``, ``StringParameter.value_from_lookup``) gives a made-up value in the first synthesis;
then the CDK CLI asks AWS and synthesizes again. An error about a made-up value would stop it before it asks.

`Token.is_unresolved` crosses into the jsii kernel (about 0.1 ms each); a cluster of 100 groups asks a few thousand
times. CDK writes tokens into strings as ``${Token[…]}`` and into numbers far below -1e200, so that most values can be
told without asking.
"""

from __future__ import annotations

import re
from typing import Any, TypeGuard

from aws_cdk import Token

__all__ = ["is_known", "is_token", "known_number", "known_text", "resolved_text"]

# What look-ups of aws-cdk-lib give before AWS was asked: a parameter, an AMI, a VPC's blocks, zones of the account.
_PLACEHOLDER = re.compile(r"dummy-value-for-.*|ami-1234|1\.2\.3\.4/5|dummy[0-9][a-z]", re.DOTALL)
_NO_TOKEN_BELOW = 1e200  # CDK's encoded numbers are near -1.888e289 (core/lib/private/encoding)


def is_token(value: Any) -> bool:
    """Whether ``value`` is, or holds, something that only the deployment knows."""
    if value is None or isinstance(value, bool):
        return False
    if isinstance(value, str):
        return "${Token[" in value
    if isinstance(value, (int, float)):
        return not -_NO_TOKEN_BELOW < value < _NO_TOKEN_BELOW
    return bool(Token.is_unresolved(value))


def is_known(value: Any) -> bool:
    """Whether ``value`` is set and known at synth."""
    if value is None or is_token(value):
        return False
    return not (isinstance(value, str) and _PLACEHOLDER.fullmatch(value))


def known_number(value: float | None) -> TypeGuard[float]:
    """Whether ``value`` is a number that can be compared at synth."""
    return is_known(value)


def known_text(value: str | None) -> TypeGuard[str]:
    """Whether ``value`` is a text that can be read at synth."""
    return is_known(value)


def resolved_text(value: Any) -> str:
    """A text that `Stack.resolve` gave, references as cdk-nag writes them: ``<LogicalId.Attribute>``."""
    if isinstance(value, str):
        return value
    (function, argument), *_ = value.items()
    if function == "Fn::Join":
        delimiter, parts = argument
        return str(delimiter).join(resolved_text(part) for part in parts)
    if function == "Fn::GetAtt":
        return f"<{'.'.join(resolved_text(part) for part in argument)}>"
    if function == "Fn::Sub" and isinstance(argument, str):
        return re.sub(r"\$\{([^}]*)\}", r"<\1>", argument)
    return f"<{resolved_text(argument)}>" if function == "Ref" else resolved_text(argument)
