"""The agent on one screen: what it sees, what it would do now, what it has done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from slurm_topology.agent.decide import decide
from slurm_topology.agent.disk import CONF, PLUGIN, YAML, as_map
from slurm_topology.agent.full_pass import Pass
from slurm_topology.agent.observation import Observation
from slurm_topology.agent.situation import Situation
from slurm_topology.agent.state import AgentState, Pause
from slurm_topology.agent.text import digest
from slurm_topology.agent.world import World
from slurm_topology.agent.writers import yields
from slurm_topology.core.model import Blocks, ClusterTopology, Finding, NamedTopology, Tree

__all__ = ["Status", "Written", "look"]

PASSES_SHOWN = 5


@dataclass(frozen=True)
class Written:
    """Who wrote what, and when (seconds since 1970; None: nobody knows)."""

    what: str  # a topology file, or "TopologyPlugin": slurm.conf's line
    by_agent: bool
    at: float | None  # for another writer the time of the file's last change


@dataclass(frozen=True)
class Status:
    """All of it, ready to print."""

    mode: str
    pause: Pause | None
    slurm: str
    action: str
    reason: str
    in_force: str
    files: str
    written: tuple[Written, ...]
    manager_active: bool  # HyperPod's own writer of topology files runs on this machine
    yield_until: float  # 0: not yielding
    next_look: str
    findings: tuple[Finding, ...]
    passes: tuple[dict[str, Any], ...]  # newest last
    counters: dict[str, int]

    def as_json(self) -> dict[str, Any]:
        document = asdict(self)
        document["findings"] = [{**asdict(finding), "severity": finding.severity.value} for finding in self.findings]
        return document


def look(world: World) -> Status:
    """Observe and decide, and change nothing."""
    store = world.store()
    state = store.load_state()
    situation = Pass(world, store).situation(state)
    decision = decide(situation)
    seen = situation.seen
    found = (*seen.findings, *(situation.wanted.findings if situation.wanted else ()), *decision.findings)
    return Status(
        mode=situation.mode.value,
        pause=situation.pause,
        slurm=f"{seen.version or 'version unknown'}, {seen.role.value}"
        + (f" ({seen.active_host} acts)" if seen.active_host else ""),
        action=decision.action.value,
        reason=decision.reason.value,
        in_force=describe(seen.slurm.in_force) if seen.slurm else "unknown",
        files=_files(situation),
        written=tuple(_written(world, seen, state)),
        manager_active=seen.manager_active,
        yield_until=state.yield_until if yields(state, seen.now) else 0.0,
        next_look=f"in {decision.again_after_seconds:.0f} s"
        if decision.again_after_seconds
        else "at the next change, and every minute",
        findings=found,
        passes=tuple(state.last_passes[-PASSES_SHOWN:]),
        counters=state.counters,
    )


def describe(topology: ClusterTopology) -> str:
    named = (f"{each.name}: {_body(each)}" if each.name else _body(each) for each in topology.topologies)
    return "; ".join(named) or "unknown"


def _body(topology: NamedTopology) -> str:
    body = topology.body
    if isinstance(body, Tree):
        leaves = [switch for switch in body.switches if not switch.children]
        nodes = sum(len(leaf.nodes) for leaf in leaves)
        return f"tree of {len(body.switches)} switches, {len(leaves)} leaves, {nodes} nodes"
    if isinstance(body, Blocks):
        nodes = sum(len(block.nodes) for block in body.blocks)
        return f"{len(body.blocks)} blocks, sizes {list(body.block_sizes)}, {nodes} nodes"
    return "flat"


def _written(world: World, seen: Observation, state: AgentState) -> Iterator[Written]:
    """Of all that is there: by its content, so that a file that another program wrote since isn't taken for ours."""
    if seen.conf is None:
        return
    folder = Path(seen.conf.path).parent
    places = {CONF: folder / CONF, YAML: folder / YAML, PLUGIN: Path(seen.conf.plugin_file or seen.conf.path)}
    for what, text in as_map(seen.disk).items():
        if text is None:
            continue
        known, at = state.put.get(what, ["", None])
        if known == digest(text):
            yield Written(what, True, at)
        else:
            changed = world.files.signature(places[what])
            yield Written(what, False, changed.modified_ns / 1e9 if changed else None)


def _files(situation: Situation) -> str:
    seen, drawn = situation.seen, situation.picture
    names = ", ".join(name for name, _ in seen.disk.topology_files()) or "no topology file"
    verdict = (
        ""
        if drawn is None
        else ", as wanted"
        if drawn.disk_right
        else ", changed by another writer"
        if drawn.foreign
        else ", not as wanted"
    )
    return f"{seen.conf.path if seen.conf else '?'}: {names}, TopologyPlugin {seen.disk.plugin or '(not set)'}{verdict}"
