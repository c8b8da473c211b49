"""Arguments of a wrong Python type, before anything looks at them. Id HPS017.

One look at the annotations, so that no other rule has to ask. Own code, because jsii pins typeguard to 2.13, which
knows neither ``X | None`` nor the interfaces of jsii, and takes True for a number.
"""

from __future__ import annotations

import importlib
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, NamedTuple

from slurm_topology.core.model import Finding

from ._interfaces import implements
from ._rules import as_text, error
from ._tokens import is_token

__all__ = ["expect_types", "wrong_types"]

_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "True or False", type(None): "None"}


class _Wrong(NamedTuple):
    path: str  # of the value in the arguments: ``instance_groups[1].capacity``
    kind: Any  # the annotation
    value: object


def expect_types(function: Callable[..., Any], arguments: Mapping[str, object]) -> None:
    """Raise TypeError with one finding a line when ``arguments`` are not what the annotations of ``function`` say.

    ``arguments`` may hold more than the function takes, as ``locals()`` does at its begin.
    """
    found = list(wrong_types(function, arguments))
    if found:
        raise TypeError("\n".join(map(as_text, found)))


def wrong_types(function: Callable[..., Any], arguments: Mapping[str, object]) -> Iterator[Finding]:
    """A finding for each argument, field of an argument, or element of a list, that has a wrong type."""
    for name, kind in _hints(function).items():
        if name not in arguments or name == "return":
            continue
        for wrong in _wrong(name, arguments[name], kind):
            subject, path = _subject(wrong.path, name, arguments[name])
            message = f"{path} must be {_words(wrong.kind)}; got {_shown(wrong.value)}"
            yield error("HPS017", subject, message, _remedy(wrong))


def _wrong(path: str, value: object, kind: Any) -> Iterator[_Wrong]:
    origin, options = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        tries = [list(_wrong(path, value, option)) for option in options]
        if all(tries):  # where an option fits but for what is in it, what is in it is wrong
            deeper = [found for found in tries if found[0].path != path]
            yield from deeper[0] if deeper else [_Wrong(path, kind, value)]
    elif origin is not None:  # Sequence[X], tuple[X, ...]
        if isinstance(value, str) or not isinstance(value, Sequence):
            yield _Wrong(path, kind, value)
        else:
            for index, element in enumerate(value):
                yield from _wrong(f"{path}[{index}]", element, options[0])
    elif not _is(value, kind):
        yield _Wrong(path, kind, value)
    elif is_dataclass(value) and not isinstance(value, type):
        hints = _hints(type(value))
        for field in fields(value):
            yield from _wrong(f"{path}.{field.name}", getattr(value, field.name), hints[field.name])


def _is(value: object, kind: Any) -> bool:
    if kind is Any:
        return True
    if kind in (int, float):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return kind is float or isinstance(value, int) or value.is_integer() or is_token(value)
    if getattr(kind, "_is_protocol", False):
        return implements(value, kind)
    return isinstance(value, kind)


@cache
def _hints(described: Any) -> dict[str, Any]:
    """Annotations of a function or a class, as types."""
    names: dict[str, Any] = {"KW_ONLY": type(KW_ONLY)}  # Python 3.10 refuses an annotation that is no type
    try:
        return typing.get_type_hints(described, localns=names)
    except NameError as missing:  # imported for type checkers alone, because it is slow: aws_rds
        module = importlib.import_module(f"aws_cdk.aws_{missing.name}")
        return typing.get_type_hints(described, localns={**names, str(missing.name): module})


def _subject(path: str, argument: str, value: object) -> tuple[str, str]:
    """Whom a finding is about, and the path from there: a group by its name, if it has one that can be read."""
    index, closing, rest = path.removeprefix(f"{argument}[").partition("].")
    if argument == "instance_groups" and closing and isinstance(value, Sequence):
        name = value[int(index)].name
        return (name if isinstance(name, str) else f"{argument}[{index}]"), rest
    return "", path


def _words(kind: Any) -> str:
    origin, options = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_words(option) for option in sorted(options, key=lambda one: one is type(None)))
    if origin is not None:
        return f"a list, each element {_words(options[0])}"
    if isinstance(kind, type) and issubclass(kind, Enum) and len(kind) <= 8:
        return " or ".join(f"{kind.__name__}.{member.name}" for member in kind)
    return _WORDS.get(kind) or str(kind.__name__)


def _shown(value: object) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if value is None or isinstance(value, (bool, Enum)):
        return str(value)
    plain = isinstance(value, (str, int, float))
    return f"{value!r:.80} ({type(value).__name__})" if plain else f"a value of type {type(value).__name__}"


def _remedy(wrong: _Wrong) -> str:
    options = typing.get_args(wrong.kind) or (wrong.kind,)
    if typing.get_origin(wrong.kind) is Sequence and not any(_wrong("", wrong.value, options[0])):
        return "Put it into a list."
    for option in options:
        if isinstance(option, type) and issubclass(option, Enum) and not isinstance(wrong.value, type):
            for member in option:
                if wrong.value == member.value:
                    return f"Write {option.__name__}.{member.name}."
    if isinstance(wrong.value, type) or callable(wrong.value):
        return "Call it: a value is expected here."
    if hasattr(type(wrong.value), "resolve"):  # jsii's IResolvable
        return "Make it a text by Token.as_string, or a number by Token.as_number."
    return "See docs/reference/constructs.md."
