"""Interfaces: Python's protocols, and those of jsii, which isinstance knows nothing of."""

from __future__ import annotations

from typing import Any

__all__ = ["implements"]


def implements(value: object, interface: Any) -> bool:
    """Whether ``value`` has what the interface adds to those it extends; nothing is read, for that asks the kernel."""
    if isinstance(value, type):
        return False
    names = [name for name in vars(interface) if not name.startswith("_")]
    names = [name for name in names if isinstance(vars(interface)[name], property)] or names
    if type(value).__module__.startswith("jsii."):  # what jsii gives for a class that it has no name for
        has = [type(delegate) for delegate in getattr(value, "_delegates", ())]
        return not has or all(any(hasattr(one, name) for one in has) for name in names)
    return all(hasattr(type(value), name) for name in names)
