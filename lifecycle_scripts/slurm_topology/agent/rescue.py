"""slurmctld is down because of its topology files: put some there that it takes, and let it start.

Waiting for it would wait for ever: HyperPod's own known faults end here (tree plugin and no file, a yaml of `[]` in a
crash loop).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from slurm_topology.agent import findings
from slurm_topology.agent.apply import Applied, Applier
from slurm_topology.agent.compute import Wanted
from slurm_topology.agent.daemon import restart_failed
from slurm_topology.agent.disk import DiskState
from slurm_topology.agent.history import History
from slurm_topology.agent.observation import Observation
from slurm_topology.agent.rehearse import Verdict
from slurm_topology.core import render_yaml
from slurm_topology.core.errors import ApplyError
from slurm_topology.core.model import ClusterTopology, Flat, NamedTopology

__all__ = ["candidates", "flat", "rescue"]

FROM_HISTORY = "history entry"
HISTORY_TRIED = 3  # older topologies are older truths
OVERRIDE = re.compile(r"Invalid node topology specified (\S+) for")  # "tree:leaf1,block:b2"


def candidates(seen: Observation, wanted: Wanted | None, history: History) -> Iterator[tuple[str, DiskState]]:
    """What to try, best first: the wanted topology, what was good lately, flat."""
    if wanted is not None and wanted.target is not None:
        yield "the wanted topology", wanted.target
    for entry in islice(history.entries(), HISTORY_TRIED):
        if seen.conf is not None and entry.conf_path == seen.conf.path:
            yield f"{FROM_HISTORY} {entry.number}", entry.state


def flat(seen: Observation, refusals: Iterable[str]) -> DiskState:
    """Every node is as near as any other: slurmctld always starts with this.

    Topologies that partitions or nodes' own overrides name have to exist; an override accepts any unit of a flat one.
    ``refusals``: slurmctld's words, which tell the overrides where it is down.
    """
    assert seen.version is not None and seen.conf is not None  # noqa: S101, PT018 (decide never acts without)
    if not seen.version.has_topology_yaml:
        return seen.disk._replace(plugin=seen.version.flat_plugin)
    said = (each for text in refusals for override in OVERRIDE.findall(text) for each in override.split(","))
    live = (each for node in (seen.slurm.nodes if seen.slurm else ()) for each in (node.topology or "").split(","))
    overrides = {each.partition(":")[0] for each in chain(said, live) if ":" in each}
    names = sorted({"default", *seen.conf.partition_topologies, *overrides})
    topologies = (NamedTopology(name, Flat(), name == "default") for name in names)
    return seen.disk._replace(yaml=render_yaml.render(ClusterTopology(tuple(topologies))))


def rescue(applier: Applier, seen: Observation, wanted: Wanted | None, history: History, held: list[str]) -> Applied:
    """Find a state that slurmctld starts with, write it, see slurmctld answer. Raises ApplyError.

    ``held``: jobs that were held when the topology was last right. The journal stays: the coming passes know by it
    what is ours, and which jobs to release once the topology is right.
    """
    name, target = _first_that_starts(applier, seen, wanted, history)
    applier.check_conf(seen)
    applier.check_pause()
    applier.journal(target, seen, held, before=target)  # nobody is to put back what slurmctld dies of
    wrote = applier.write(seen, target)
    restart_failed(applier.shell, applier.settings.slurmctld_unit)
    if not applier.answers(applier.settings.slurmctld_wait_seconds):
        raise ApplyError(f"slurmctld doesn't start although a rehearsal with {name} does", "ping")
    return Applied(False, 0.0, (), (findings.rescued(name),), target, wrote)


def _first_that_starts(
    applier: Applier, seen: Observation, wanted: Wanted | None, history: History
) -> tuple[str, DiskState]:
    assert seen.conf is not None  # noqa: S101 (decide never acts without)
    refusals: list[str] = []
    for name, target in chain(candidates(seen, wanted, history), [("flat", None)]):
        tried = flat(seen, refusals) if target is None else target
        rehearsal = applier.rehearser.rehearse(tried, seen.conf, seen.slurmctld)
        # where nothing can be tried: flat is always taken, and for what is wanted the checker vouches
        untried = rehearsal.verdict is Verdict.UNKNOWN and not name.startswith(FROM_HISTORY)
        if rehearsal.verdict is Verdict.STARTS or untried:
            return name, tried
        refusals += rehearsal.reasons
    raise ApplyError("no topology was found that slurmctld starts with, not even flat: see its log", "rehearse")
