"""Names of switches, blocks and topologies.

A name comes from what it names (a network-node id, an UltraServer id, a zone), never from a position, so that a
change elsewhere renames nothing. It is legal for every Slurm version:

* only letters, digits, ``.``, ``_`` and ``-``: Slurm refuses or splits ``[ ] , :``, blanks and ``=`` (trials,
  docs/topology.md)
* at most 64 characters: longer ones are fatal from 24.11 on
* no trailing number of 2^64 or more: Slurm folds names by their trailing number and corrupts such a one without a word

Two ids never share a name: a legal id that looks like none of our own names stays as it is; every other id gets a
readable stem and 48 bits of its SHA-256, and a name of that form counts as not legal for an id.
"""

from __future__ import annotations

import hashlib
import re

__all__ = ["MAX_LENGTH", "leaf_of_switch", "legal_name", "name_in_zone", "unplaced", "zone_root"]

MAX_LENGTH = 64  # from Slurm 24.11 on, a longer SwitchName is fatal

_ROOT, _UNPLACED, _LEAF = "zone", "unplaced", "leaf-of"  # stems of the names that we give ourselves
_HASH_LENGTH = 12  # hexadecimal digits

# Legal for Slurm, and not of the form that _hashed gives. 2^64 has 20 digits, so up to 18 at the end are always well.
_LEGAL = re.compile(
    rf"(?!(?:.*-)?h[0-9a-f]{{{_HASH_LENGTH}}}\Z|.*[0-9]{{19}}\Z)[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_LENGTH - 1}}}"
)
_RESERVED = re.compile(rf"(?:{_ROOT}|{_UNPLACED}|{_LEAF})(?:-.*)?|all|default", re.IGNORECASE)


def legal_name(identifier: str) -> str:
    """The name for what ``identifier`` identifies: itself when that is legal, else a readable stem and a hash."""
    if _LEGAL.fullmatch(identifier) and not _RESERVED.fullmatch(identifier):
        return identifier
    return _hashed(identifier, identifier)


def name_in_zone(identifier: str, zone: str | None) -> str:
    """The name for what ``identifier`` identifies in one of several zones that (against all reason) share it."""
    return _hashed(f"{identifier}-{zone}", "in-zone", identifier, zone or "")


def zone_root(zone: str | None) -> str:
    """The switch that joins everything in one Availability Zone (None: the only zone, whatever its name)."""
    return _own(_ROOT, zone)


def unplaced(zone: str | None) -> str:
    """The leaf or block for nodes of unknown position in one zone."""
    return _own(_UNPLACED, zone)


def leaf_of_switch(switch: str) -> str:
    """The leaf below ``switch`` for the nodes of which nothing lower is known."""
    return _own(_LEAF, switch)


def _own(stem: str, identifier: str | None) -> str:
    name = stem if identifier is None else f"{stem}-{identifier}"
    return name if _LEGAL.fullmatch(name) else _hashed(name, stem, identifier or "")


def _hashed(readable: str, *parts: str) -> str:
    """A legal name that no two lists of parts share."""
    exact = "".join(f"{len(part)}:{part}" for part in parts)
    digest = hashlib.sha256(exact.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", readable).strip("-._")[: MAX_LENGTH - _HASH_LENGTH - 2].rstrip("-._")
    return f"{stem}-h{digest}" if stem else f"h{digest}"
