"""The doctor's rules: pure, each gives a grade, its evidence, and the command that mends it.

A rule that can't be tried says so (UNKNOWN); it never passes for want of knowledge. docs/doctor.md explains every id.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from slurm_topology.agent.observation import Role
from slurm_topology.agent.rehearse import Verdict
from slurm_topology.agent.writers import yields
from slurm_topology.core.explain import JobPhase, Waiting, explain_pending
from slurm_topology.core.hostlist import fold

from ._check import Examined, Grade

__all__ = ["RULES", "Rule"]

Rule = Callable[[Examined], tuple[Grade, str, str]]

_OK = Grade.OK
_SHOWN = 6  # of a list of names; the rest is counted
_RECONCILE = "slurm-topology reconcile --now"
_SCRATCH = re.compile(r"/\S*/scratch\.[^/\s]+/")  # where it was rehearsed: of no interest to anybody


def _some(names: Collection[str]) -> str:
    listed = sorted(names)
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more


# ---- Slurm


def _slurmctld(examined: Examined) -> tuple[Grade, str, str]:
    seen = examined.situation.seen
    if seen.role is Role.ACTIVE:
        return _OK, f"Slurm {seen.version} answers, and this is the active controller", ""
    if seen.role is Role.STANDBY:
        return (
            Grade.WARNING,
            f"{seen.active_host} is the active controller: this one only looks",
            f"run the doctor on {seen.active_host}",
        )
    return (
        Grade.ERROR,
        "no slurmctld answers `scontrol ping`",
        f"systemctl status {examined.situation.settings.slurmctld_unit}",
    )


def _configuration(examined: Examined) -> tuple[Grade, str, str]:
    conf = examined.situation.seen.conf
    if conf is None:
        return (
            Grade.ERROR,
            "slurm.conf was not found, and Slurm doesn't say where it is",
            'set "slurm_conf" in /etc/slurm-topology/agent.json',
        )
    return _OK, f"{conf.path} (nodes: {len(conf.nodes)}, partitions: {len(conf.partitions)})", ""


def _version(examined: Examined) -> tuple[Grade, str, str]:
    seen = examined.situation.seen
    if seen.version is None or seen.next_version is None:
        return Grade.UNKNOWN, f"the version of {seen.slurmctld} is not known", f"{seen.slurmctld} -V"
    if seen.version != seen.next_version:
        text = f"Slurm {seen.version} runs, the next reconfigure starts {seen.next_version} ({seen.slurmctld})"
        return Grade.WARNING, text, f"systemctl restart {examined.situation.settings.slurmctld_unit}"
    return _OK, f"{seen.version}, also after the next reconfigure", ""


def _foreground(examined: Examined) -> tuple[Grade, str, str]:
    daemon = examined.situation.seen.daemon
    if daemon is None:
        return Grade.UNKNOWN, "no slurmctld process was found on this machine", ""
    if daemon.foreground:
        text = "slurmctld runs in the foreground (-D): a refused reconfigure kills it, and scontrol says 0"
        return Grade.WARNING, text, "nothing to do: the agent rehearses each file, and pings after each reconfigure"
    return _OK, f"process {daemon.pid} is a daemon: a refused reconfigure leaves it alive", ""


# ---- topology


def _accepted(examined: Examined) -> tuple[Grade, str, str]:
    rehearsal = examined.rehearsal
    if rehearsal is None:
        text = "slurmctld could not be rehearsed with what is on disk: there is no slurm.conf to rehearse with"
        return Grade.UNKNOWN, text, _configuration(examined)[2]
    if rehearsal.verdict is Verdict.UNKNOWN:
        text = f"slurmctld could not be rehearsed with what is on disk: {'; '.join(rehearsal.reasons)}"
        unprivileged = any("network namespace" in reason for reason in rehearsal.reasons)
        return Grade.UNKNOWN, text, "run the doctor as root" if unprivileged else ""
    if rehearsal.verdict is Verdict.REFUSED:
        reasons = _SCRATCH.sub("", "; ".join(rehearsal.reasons))
        text = f"slurmctld would die of what is on disk at its next start: {reasons}"
        return Grade.ERROR, text, f"{_RECONCILE}, or slurm-topology rollback"
    notes = f"; it warns: {'; '.join(rehearsal.notes)}" if rehearsal.notes else ""
    return (Grade.WARNING if notes else _OK), f"a rehearsed slurmctld starts with what is on disk{notes}", ""


def _wanted(examined: Examined) -> tuple[Grade, str, str]:
    situation = examined.situation
    if situation.wanted is None:
        settings = situation.settings
        return (
            Grade.ERROR,
            "no topology can be computed: Slurm's version or HyperPod's file is unknown",
            f"ls -l {settings.resource_config}",
        )
    if situation.wanted.target is None:
        return Grade.ERROR, "the computed topology has errors, so nothing may be written", "slurm-topology status"
    if situation.wanted.incomplete:
        missing = situation.wanted.incomplete
        text = f"the network position of {len(missing)} nodes is not known yet: {_some(missing)}"
        return Grade.WARNING, text, "labels come minutes after launch; if they don't, see docs/operations.md"
    return _OK, f"computed for {len(situation.wanted.inventory.nodes)} nodes, each in its place", ""


def _on_disk(examined: Examined) -> tuple[Grade, str, str]:
    drawn = examined.situation.picture
    if drawn is None:
        return Grade.UNKNOWN, "nothing to compare with", ""
    if drawn.foreign:
        return (
            Grade.WARNING,
            "another writer changed the file since the agent wrote it",
            "slurm-topology status (who, and whether the agent yields)",
        )
    if not drawn.disk_right:
        return Grade.WARNING, "what is on disk means something else than the computed topology", _RECONCILE
    return _OK, "means the same as the computed topology", ""


def _in_force(examined: Examined) -> tuple[Grade, str, str]:
    drawn = examined.situation.picture
    if drawn is None or examined.situation.seen.slurm is None:
        return Grade.UNKNOWN, "Slurm's own view could not be compared", ""
    if drawn.disk_right and not drawn.force_right:
        return Grade.ERROR, "the file is right, but slurmctld has never loaded it", "scontrol reconfigure"
    if not drawn.force_right:
        return Grade.WARNING, "Slurm works with another topology than the computed one", _RECONCILE
    return _OK, "slurmctld works with the computed topology", ""


def _unplaced(examined: Examined) -> tuple[Grade, str, str]:
    drawn = examined.situation.picture
    if drawn is None:
        return Grade.UNKNOWN, "not known without a topology", ""
    if drawn.unplaced:
        return (
            Grade.ERROR,
            f"{len(drawn.unplaced)} nodes are in no leaf or block, jobs can't use them: {_some(drawn.unplaced)}",
            _RECONCILE,
        )
    return _OK, "every node of every partition is in its topology", ""


def _partitions(examined: Examined) -> tuple[Grade, str, str]:
    drawn = examined.situation.picture
    if drawn is None:
        return Grade.UNKNOWN, "not known without a topology", ""
    if drawn.assignments:
        text = "partitions work with another topology than planned: " + _some(drawn.assignments)
        commands = [
            f"scontrol update PartitionName={name} Topology={topology}"
            for name, topology in sorted(drawn.assignments.items())
        ]
        return Grade.WARNING, text, "; ".join(commands)
    return _OK, "every partition has the topology that the plan gives it", ""


def _overrides(examined: Examined) -> tuple[Grade, str, str]:
    view = examined.situation.seen.slurm
    if view is None:
        return Grade.UNKNOWN, "not known without Slurm", ""
    nodes = {node.name for node in view.nodes if node.topology}
    if nodes:
        text = f"{len(nodes)} nodes have a Topology= of their own, which beats the file: {_some(nodes)}"
        return Grade.WARNING, text, f"scontrol update NodeName={fold(nodes)} Topology= && scontrol reconfigure"
    return _OK, "no node has a Topology= of its own", ""


# ---- jobs


def _held_jobs(examined: Examined) -> tuple[Grade, str, str]:
    view = examined.situation.seen.slurm
    if view is None:
        return Grade.UNKNOWN, "not known without Slurm", ""
    held = [job.id for job in view.jobs if job.bad_constraints]
    if held:
        text = f"{len(held)} jobs are held with BadConstraints: they met a topology that they don't fit: {_some(held)}"
        return Grade.WARNING, text, f"slurm-topology explain {held[0]}; scontrol release {','.join(held[:_SHOWN])}"
    return _OK, "no job is held because of a topology", ""


def _impossible_jobs(examined: Examined) -> tuple[Grade, str, str]:
    context = examined.context
    if context is None:
        return Grade.UNKNOWN, "not known without Slurm", ""
    waiting = [explain_pending(context, job) for job in context.snapshot.jobs if job.phase is JobPhase.PENDING]
    never = [each.job.id for each in waiting if each.waiting is Waiting.NEVER]
    if never:
        return (
            Grade.WARNING,
            f"{len(never)} pending jobs can never start in this topology: {_some(never)}",
            f"slurm-topology explain {never[0]}",
        )
    return _OK, f"none of {len(waiting)} pending jobs is impossible", ""


# ---- the agent


def _units(examined: Examined) -> tuple[Grade, str, str]:
    if not examined.units:
        return (
            Grade.UNKNOWN,
            "systemd doesn't run here: nothing starts the agent by itself",
            "slurm-topology reconcile, from cron or by hand",
        )
    asleep = sorted(unit for unit, state in examined.units.items() if state != "active")
    if asleep:
        return Grade.ERROR, f"not active: {', '.join(asleep)}", f"systemctl enable --now {' '.join(asleep)}"
    return _OK, f"{', '.join(sorted(examined.units))} are active", ""


def _passes(examined: Examined) -> tuple[Grade, str, str]:
    state = examined.situation.state
    last = state.last_passes[-1] if state.last_passes else None
    if last is None:
        return Grade.WARNING, "the agent has never made a pass here", _RECONCILE
    if state.failures:
        return (
            Grade.ERROR,
            f"the last {state.failures} passes failed: {last.get('failed') or 'see the log'}",
            "journalctl -u slurm-topology",
        )
    return _OK, f"the last pass ended well ({last.get('action')}: {last.get('reason')})", ""


def _awake(examined: Examined) -> tuple[Grade, str, str]:
    situation = examined.situation
    if situation.pause is not None:
        return Grade.WARNING, f"the agent is paused: {situation.pause.reason}", "slurm-topology resume"
    if yields(situation.state, situation.seen.now):
        text = "the agent has yielded: another writer keeps reverting its topology"
        return Grade.WARNING, text, "decide who owns the topology (docs/operations.md), then slurm-topology resume"
    return _OK, f"mode {situation.mode.value}, neither paused nor yielding", ""


def _writers(examined: Examined) -> tuple[Grade, str, str]:
    situation = examined.situation
    if not situation.seen.manager_active:
        return _OK, f"{situation.settings.manager_unit} doesn't run here", ""
    plugin = situation.seen.disk.plugin or "(not set)"
    if situation.mode.value == "own" and plugin not in ("topology/flat", "topology/default"):
        text = f"HyperPod's own topology manager runs here, and TopologyPlugin={plugin} invites it to write"
        return Grade.WARNING, text, f"{_RECONCILE} (it sets HyperPod's documented opt-out)"
    return _OK, f"HyperPod's manager runs; TopologyPlugin={plugin}, the agent's mode is {situation.mode.value}", ""


RULES: tuple[tuple[str, str, Rule], ...] = (
    ("DOC001", "slurmctld", _slurmctld),
    ("DOC002", "slurm.conf", _configuration),
    ("DOC003", "Slurm version", _version),
    ("DOC004", "how slurmctld runs", _foreground),
    ("DOC010", "next start", _accepted),
    ("DOC011", "computed topology", _wanted),
    ("DOC012", "topology on disk", _on_disk),
    ("DOC013", "topology in force", _in_force),
    ("DOC014", "nodes outside", _unplaced),
    ("DOC015", "partitions", _partitions),
    ("DOC016", "overrides", _overrides),
    ("DOC020", "held jobs", _held_jobs),
    ("DOC021", "impossible jobs", _impossible_jobs),
    ("DOC030", "agent's units", _units),
    ("DOC031", "agent's passes", _passes),
    ("DOC032", "agent awake", _awake),
    ("DOC033", "other writers", _writers),
)
