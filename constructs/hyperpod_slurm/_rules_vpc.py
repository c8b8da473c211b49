"""The rule about the block of a new VPC. Id HPS066. Checked by ClusterNetwork, unlike the rules of a ClusterSpec."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from slurm_topology.core.model import Finding

from ._rules import error

__all__ = ["block_fits"]

_LARGEST = 16  # "between a /28 netmask (16 IP addresses) and a /16 netmask" (VPC user guide, VPC CIDR blocks)
_SMALLEST = 25  # the half that is not the nodes' holds three /28, the smallest subnets: two for databases, one public


def block_fits(cidr: str) -> Iterator[Finding]:
    try:
        fits = _LARGEST <= ipaddress.IPv4Network(cidr).prefixlen <= _SMALLEST
        got = repr(cidr)
    except ValueError as refused:
        fits, got = False, f"{cidr!r}: {refused}"
    if not fits:
        yield error(
            "HPS066",
            "cidr",
            f"a new network takes an IPv4 block of /{_LARGEST} to /{_SMALLEST}, such as 10.0.0.0/16; got {got}",
            "Choose such a block: half of it is for nodes, which cannot grow.",
        )
