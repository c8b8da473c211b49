"""Is this machine a controller?

By the plan, by HyperPod's file, by what runs here: the first that knows decides. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from slurm_topology.agent.slurm_conf import SlurmConf
from slurm_topology.core.model import NodeRole
from slurm_topology.core.plan_document import PlanDocument
from slurm_topology.core.read_resource_config import ResourceConfig

__all__ = ["controller_hosts", "is_controller", "local_addresses", "own_names", "short"]

HOST = re.compile(r"([^()\s]+)(?:\(([^()]*)\))?$")
LOCAL = re.compile(r"\|-- (\d+(?:\.\d+){3})\n\s+/32 host LOCAL")


def is_controller(
    addresses: Collection[str], config: ResourceConfig | None, plan: PlanDocument | None, *, slurmctld_here: bool
) -> tuple[bool | None, str]:
    """None: that can't be known yet. Also says why, in one sentence.

    ``addresses``: of this machine. On the controller itself HyperPod's file names no controller's address; on others
    it does.
    """
    if slurmctld_here:
        return True, "slurmctld runs here"
    group = next((each.group for each in config.instances if each.address in addresses), None) if config else None
    roles = {each.name: each.role for each in plan.groups} if plan else {}
    if group is not None and group in roles:
        return roles[
            group
        ] is NodeRole.CONTROLLER, f"this is an instance of group {group}, which is {roles[group].value} in the plan"
    if config is not None and config.controller_addresses:
        ours = sorted(set(config.controller_addresses) & set(addresses))
        return bool(ours), f"resource_config.json names the controllers {', '.join(config.controller_addresses)}"
    if config is not None and group is not None:
        return True, f"resource_config.json names no other controller than this instance of group {group}"
    return None, "neither the plan nor resource_config.json knows this machine, and no slurmctld runs here"


def local_addresses(fib_trie: str) -> set[str]:
    """This machine's IPv4 addresses, from the kernel's own table (/proc/net/fib_trie)."""
    return {address for address in LOCAL.findall(fib_trie) if not address.startswith("127.")}


def controller_hosts(conf: SlurmConf) -> tuple[tuple[str, str], ...]:
    """Name and address ("" when not given) of each SlurmctldHost, the first one first."""
    values = (value for line in conf.lines for key, value in line.pairs if key == "slurmctldhost")
    return tuple((match[1], match[2] or "") for value in values if (match := HOST.match(value)))


def own_names(hosts: Collection[tuple[str, str]], host_name: str, addresses: Collection[str]) -> tuple[str, ...] | None:
    """Those controllers of slurm.conf that are this machine, by name or address; None when it names none at all."""
    if not hosts:
        return None
    return tuple(
        name
        for name, address in hosts
        if short(name) in (short(host_name), "localhost") or address in addresses or address.startswith("127.")
    )


def short(host: str) -> str:
    return host.partition(".")[0].lower()
