"""A JSON document's members as a dataclass's: only those that it has, each of its type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from slurm_topology.core.errors import InputError

__all__ = ["members"]


def members(document: Mapping[str, Any], kind: type) -> dict[str, Any]:
    """The document's members that the dataclass has, each of its type. A member that we don't know is dropped."""
    known = {each.name: each for each in fields(kind)}
    found = {name: value for name, value in document.items() if name in known}
    for name, value in found.items():
        expected = str(known[name].type).partition("[")[0]
        kinds: dict[str, tuple[type, ...]] = {
            "float": (int, float),
            "int": (int,),
            "str": (str,),
            "bool": (bool,),
            "dict": (dict,),
            "list": (list,),
        }
        if not isinstance(value, kinds[expected]) or (expected in ("int", "float") and isinstance(value, bool)):
            raise InputError(f"{name} is {type(value).__name__}, expected {expected}")
    return found
