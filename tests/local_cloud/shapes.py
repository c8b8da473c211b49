"""Requests against botocore's own service model, with the messages that AWS services give.

botocore's client checks types and required members only; the services check patterns, lengths, ranges and enums too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import botocore.session
from botocore.model import ListShape, MapShape, ServiceModel, Shape, StructureShape
from botocore.validate import ParamValidator

__all__ = ["coerce", "problems", "service_model"]

# In AWS's documentation, not yet in the pinned botocore.
_NEWER_ENUM_VALUES = {"DeepHealthCheckType": {"MultiNodeTrainingValidation"}}


@cache
def service_model(service: str = "sagemaker") -> ServiceModel:
    return botocore.session.get_session().get_service_model(service)


def problems(request: dict[str, Any], shape: StructureShape) -> list[str]:
    """All that is wrong with the form of a request; empty if the service would accept it."""
    report = ParamValidator().validate(request, shape)
    if report.has_errors():
        return [report.generate_report()]
    return list(_constraint_failures(request, shape, ""))


def _constraint_failures(value: Any, shape: Shape, path: str) -> Iterator[str]:
    if isinstance(shape, StructureShape):
        for name, member in value.items():
            wire_name = name[0].lower() + name[1:]
            yield from _constraint_failures(member, shape.members[name], f"{path}.{wire_name}" if path else wire_name)
        return
    if reason := _broken_constraint(value, shape):
        yield f"Value '{value}' at '{path}' failed to satisfy constraint: Member must {reason}"
    if isinstance(shape, ListShape):
        for number, member in enumerate(value, 1):
            yield from _constraint_failures(member, shape.member, f"{path}.{number}.member")
    elif isinstance(shape, MapShape):
        for key, member in value.items():
            yield from _constraint_failures(member, shape.value, f"{path}.{key}")


def _broken_constraint(value: Any, shape: Shape) -> str | None:
    if shape.type_name in ("integer", "long"):
        return _out_of_range(value, shape.metadata, "have value {} than or equal to")
    if shape.type_name in ("list", "map"):
        return _out_of_range(len(value), shape.metadata, "have length {} than or equal to")
    if shape.type_name == "string":
        return _bad_string(value, shape)
    return None


def _out_of_range(size: int, metadata: dict[str, Any], words: str) -> str | None:
    if size < metadata.get("min", size):
        return f"{words.format('greater')} {metadata['min']}"
    if size > metadata.get("max", size):
        return f"{words.format('less')} {metadata['max']}"
    return None


def _bad_string(value: str, shape: Shape) -> str | None:
    allowed = {*getattr(shape, "enum", ()), *_NEWER_ENUM_VALUES.get(shape.name, ())}
    if getattr(shape, "enum", ()) and value not in allowed:
        return f"satisfy enum value set: [{', '.join(sorted(allowed))}]"
    if length := _out_of_range(len(value), shape.metadata, "have length {} than or equal to"):
        return length
    pattern = shape.metadata.get("pattern")
    # \p{…} classes (tags) are Java's; Python's re can't read them.
    if pattern and r"\p{" not in pattern and not re.fullmatch(pattern, value):
        return f"satisfy regular expression pattern: {pattern}"
    return None


def coerce(value: Any, shape: Shape) -> Any:
    """A template's value in the API's types: CloudFormation hands numbers and booleans over as text.

    Members that the API doesn't have (read-only ones of a template, such as CurrentCount) are left out.
    """
    if isinstance(shape, StructureShape) and isinstance(value, dict):
        return {name: coerce(member, shape.members[name]) for name, member in value.items() if name in shape.members}
    if isinstance(shape, ListShape) and isinstance(value, list):
        return [coerce(member, shape.member) for member in value]
    if isinstance(shape, MapShape) and isinstance(value, dict):
        return {key: coerce(member, shape.value) for key, member in value.items()}
    if shape.type_name in ("integer", "long") and isinstance(value, str) and re.fullmatch(r"-?\d+", value):
        return int(value)
    if shape.type_name == "boolean" and value in ("true", "false"):
        return value == "true"
    return value
