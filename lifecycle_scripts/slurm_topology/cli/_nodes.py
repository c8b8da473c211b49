"""Which nodes Slurm has, in the forms in which a user has them at hand."""

from __future__ import annotations

from pathlib import Path

from slurm_topology.core.errors import InputError
from slurm_topology.core.hostlist import expand
from slurm_topology.core.read_scontrol import read_nodes

from ._files import read_json_or_text

__all__ = ["known_nodes"]

_FILE_NAMES = (".txt", ".json", ".out", ".log")


def known_nodes(given: str) -> frozenset[str]:
    """Node names from a host list, or from a file of host lists or of "scontrol show nodes" (text or JSON).

    Raises InputError for a host list that Slurm would refuse, a file that can't be read, and for no nodes at all.
    """
    nodes = _read(given)
    if not nodes:
        raise InputError(f"--nodes {given}: has no nodes: expected a host list, a file of them, or scontrol's output")
    return nodes


def _read(given: str) -> frozenset[str]:
    if not _is_file(given):
        if "/" in given or given.endswith(_FILE_NAMES):  # no host's name has one or ends so: a file was meant
            read_json_or_text(Path(given))  # raises InputError with what is wrong with it
        return frozenset(expand(given))
    content = read_json_or_text(Path(given))
    if isinstance(content, str) and "NodeName=" not in content:
        return frozenset(expand(content))
    return frozenset(node.name for node in read_nodes(content))


def _is_file(given: str) -> bool:
    try:
        return Path(given).is_file()
    except (OSError, ValueError):  # a host list can be longer than a path may be
        return False
