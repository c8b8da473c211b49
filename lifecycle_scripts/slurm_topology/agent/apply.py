"""The transaction: put a topology in force, whole or not at all.

::

    rehearse → journal → write → reconfigure → ping → read back → assign → release → (recorded by the pass)
                           └────────────── any failure: restore ──────────────┘

Invariants, at every instant and after a kill at any instant:

1. what is on disk is a state that slurmctld starts with (``disk.steps_between``; each step is one rename);
2. what slurmctld runs with is the old topology or the new one, whole;
3. while ``transaction.json`` is there, it holds all that is needed to undo the change and to release what it held.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from slurm_topology.agent import findings, jobs, observe, readback
from slurm_topology.agent.assign import assign, assigned
from slurm_topology.agent.clock import Clock
from slurm_topology.agent.disk import PLUGIN, DiskState, Step, as_map, steps_between
from slurm_topology.agent.files import Files, Signature
from slurm_topology.agent.observation import Observation
from slurm_topology.agent.rehearse import Rehearser, Verdict
from slurm_topology.agent.settings import Settings
from slurm_topology.agent.settle import settle
from slurm_topology.agent.shell import Shell
from slurm_topology.agent.slurm import Slurm
from slurm_topology.agent.slurm_conf import SlurmConf, with_topology_plugin, without_topology_plugin
from slurm_topology.agent.state import Original, Store, Transaction
from slurm_topology.agent.way_back import go_back
from slurm_topology.core import compare
from slurm_topology.core.errors import ApplyError, CommandError, SlurmTopologyError
from slurm_topology.core.model import ClusterTopology, Finding
from slurm_topology.core.slurm_version import SlurmVersion

__all__ = ["Applied", "Applier", "Change", "ConfChangedError", "PausedError"]

POLL_SECONDS = 0.05
# the unit may write only what it was told at installation
READ_ONLY_HINT = ". Run `slurm-topology install` again: it lets the agent's unit write Slurm's folder"
LOG_WORDS = ("fatal", "error")
REASON_LENGTH = 400  # characters of slurmctld's log that go into a message


class ConfChangedError(ApplyError):
    """slurm.conf was changed while the change was computed from it. Nothing was done; look again."""


class PausedError(ApplyError):
    """An operator paused the agent while the change was prepared. Nothing was done."""


@dataclass(frozen=True)
class Change:
    """What to put in force.

    ``topology`` None: the text is taken as it is, and read-back only has to answer (roll-back).
    """

    target: DiskState
    topology: ClusterTopology | None
    assignments: dict[str, str]
    held_before: list[str]
    reconfigure: bool = True
    exempt: readback.Exempt | None = None
    heed_pause: bool = False  # an operator's own command works in a pause, too


@dataclass(frozen=True)
class Applied:
    """What came of it."""

    reconfigured: bool
    reconfigure_seconds: float
    released: tuple[str, ...]
    findings: tuple[Finding, ...] = field(default=())
    target: DiskState | None = None  # what was written, when it isn't what was decided
    wrote: tuple[str, ...] = ()  # the files that were changed, and PLUGIN for slurm.conf's line


@dataclass(frozen=True)
class Applier:
    """Applies changes to one observed Slurm."""

    shell: Shell
    files: Files
    clock: Clock
    slurm: Slurm
    store: Store
    rehearser: Rehearser
    settings: Settings
    own_writes: dict[Path, Signature | None] = field(default_factory=dict)  # slurm.conf as we left it

    def apply(self, change: Change, seen: Observation) -> Applied:
        """Do it. Raises ApplyError; what was in force before is in force again then, as far as Slurm lets us."""
        _, version = _known(seen)
        found = self.rehearse(change.target, seen)
        self.check_conf(seen)
        if change.heed_pause:
            self.check_pause()
        self.journal(change.target, seen, change.held_before, assignments=change.assignments)
        try:
            wrote = self.write(seen, change.target)
            seconds = self._reconfigure(seen) if change.reconfigure else 0.0
            if change.reconfigure:
                self._verify(change, version)
        except (SlurmTopologyError, OSError) as error:
            stage = error.stage if isinstance(error, ApplyError) else "write"
            raise ApplyError(f"{error}. {go_back(self, change, seen)}", stage) from error
        found += self.assign(change.assignments)
        released = self.release(change.held_before)
        return Applied(change.reconfigure, seconds, released, found, wrote=wrote)

    # ---- before

    def rehearse(self, target: DiskState, seen: Observation) -> tuple[Finding, ...]:
        """Raises ApplyError when the live slurmctld would refuse it.

        Where it can't be tried, the checker's word has to do.
        """
        conf, _ = _known(seen)
        rehearsal = self.rehearser.rehearse(target, conf, seen.slurmctld)
        why = "; ".join(rehearsal.reasons)
        if rehearsal.verdict is Verdict.REFUSED:
            raise ApplyError(f"slurmctld would refuse this topology: {why}. Nothing was changed", "rehearse")
        if rehearsal.verdict is Verdict.STARTS:
            return ()
        return (findings.not_rehearsed(rehearsal.reasons),)

    def check_conf(self, seen: Observation) -> None:
        """The last look before the first write. Raises ConfChangedError when slurm.conf isn't what was observed."""
        for path, signature in seen.conf_signatures.items():
            if self.files.signature(Path(path)) != signature:
                raise ConfChangedError(f"{path} was changed by another program meanwhile", "write")

    def check_pause(self) -> None:
        """Likewise. Raises PausedError when the agent was paused after the pass began."""
        if self.store.load_pause() is not None:
            raise PausedError("the agent was paused meanwhile", "write")

    def journal(
        self,
        target: DiskState,
        seen: Observation,
        held: list[str],
        *,
        before: DiskState | None = None,
        assignments: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Note what is going to be done. ``before``: what to go back to after a kill half-way (None: as it is now)."""
        conf, version = _known(seen)
        self.remember_original(seen)
        maps = as_map(before or seen.disk), as_map(target)
        given = assigned(seen.slurm.partitions) if seen.slurm else {}
        self.store.save_transaction(
            Transaction(self.clock.now(), conf.path, *maps, held, str(version), False, given, dict(assignments))
        )

    def remember_original(self, seen: Observation) -> None:
        """Before our first write: what uninstall will put back."""
        conf, _ = _known(seen)
        if self.store.load_original() is None:
            given = assigned(seen.slurm.partitions) if seen.slurm else {}
            self.store.save_original(Original(conf.path, as_map(seen.disk), given))

    # ---- the change

    def write(self, seen: Observation, target: DiskState) -> tuple[str, ...]:
        """From the observed state to the target, over safe states only. Returns what was changed. Raises ApplyError."""
        conf, version = _known(seen)
        steps = steps_between(seen.disk, target, version)
        for step in steps:
            self.write_step(step, conf)
        return tuple(dict.fromkeys(step.what for step in steps))

    def read_text(self, path: str) -> str | None:
        return self.files.read_text(Path(path))

    def write_step(self, step: Step, conf: SlurmConf) -> None:
        """One atomic change of the configuration folder. Raises ApplyError."""
        try:
            if step.what == PLUGIN:
                self._write_plugin(step.text, Path(conf.plugin_file or conf.path))
            elif step.text is None:
                self.files.remove(Path(conf.path).with_name(step.what))
            else:
                place = Path(conf.path).with_name(step.what)
                # owner and mode stay what they were, unless slurmctld would die of them
                readable = self.files.may_read(place, conf.value("SlurmUser") or "root")
                self.files.write_atomically(place, step.text, mode=None if readable else 0o644)
        except OSError as error:
            hint = READ_ONLY_HINT if error.errno == errno.EROFS else ""
            text = f"{step.what} can't be written beside {conf.path}: {error.strerror}{hint}"
            raise ApplyError(text, "write") from error

    def _write_plugin(self, plugin: str | None, path: Path) -> None:
        """Never into a file that somebody may be writing: what he still writes would go to the file that we replaced.

        So it must have been quiet for a moment, unless it was we who changed it last.
        """
        if self.files.signature(path) != self.own_writes.get(path):
            settle(self.files, self.clock, [path], self.settings)
        read_from = self.files.signature(path)
        text = self.files.read_text(path)
        if text is None:
            raise ApplyError(f"{path} has gone while it was to be changed", "write")
        edited = without_topology_plugin(text) if plugin is None else with_topology_plugin(text, plugin)
        self.files.write_atomically(path, edited, unless_changed_since=read_from)
        self.own_writes[path] = self.files.signature(path)

    def _reconfigure(self, seen: Observation) -> float:
        """Reconfigure and wait for the answer to a ping. Returns Slurm's own time in seconds. Raises ApplyError."""
        log = Path(seen.slurm.log_file) if seen.slurm and seen.slurm.log_file else None
        before = self.files.signature(log) if log else None
        started = self.clock.monotonic()
        try:
            done = self.slurm.reconfigure()
        except CommandError as error:
            raise ApplyError(f"scontrol reconfigure: {error}", "reconfigure") from error
        if not done.ok:
            reason = self._log_words(log, before.size if before else 0) or done.last_words
            raise ApplyError(f"slurmctld refused to reconfigure: {reason}", "reconfigure")
        if not self.answers(self.settings.slurmctld_wait_seconds):
            raise ApplyError("slurmctld doesn't answer after the reconfigure", "ping")
        return self.clock.monotonic() - started

    def _log_words(self, log: Path | None, offset: int) -> str:
        """slurmctld's own words since ``offset``: scontrol only ever says "Unspecified error"."""
        lines = self.files.read_from(log, offset).splitlines() if log else []
        reasons = (line.partition("] ")[2] or line for line in lines if any(word in line for word in LOG_WORDS))
        return "; ".join(reasons)[-REASON_LENGTH:]

    def answers(self, seconds: float) -> bool:
        """Wait until a controller answers a ping."""
        end = self.clock.monotonic() + seconds
        while True:
            try:
                if any(line.up for line in self.slurm.ping()):
                    return True
            except CommandError:
                pass  # a hanging ping is no answer
            if self.clock.monotonic() >= end:
                return False
            self.clock.sleep(POLL_SECONDS)

    def _verify(self, change: Change, version: SlurmVersion) -> None:
        """Read back what Slurm runs with. Raises ApplyError when it isn't what was published."""
        try:
            _, seen = observe.in_force(self.slurm, version)
        except CommandError as error:
            raise ApplyError(f"the topology can't be read back: {error}", "read-back") from error
        if change.topology is not None and not readback.agrees(change.topology, seen, change.exempt):
            what = compare.diff(change.topology, seen)
            raise ApplyError(f"Slurm runs with another topology than was published: {what}", "read-back")

    # ---- after

    def assign(self, assignments: Mapping[str, str]) -> tuple[Finding, ...]:
        """Give the partitions their topologies; what Slurm refuses is a finding."""
        return assign(self.slurm, assignments)

    def release(self, before: list[str]) -> tuple[str, ...]:
        """Release what became BadConstraints through us. A Slurm that can't be asked is left for the next pass."""
        try:
            wanted = jobs.to_release(self.slurm.pending_jobs(), before, self.clock.now())
            refused = self.slurm.release(wanted)
        except CommandError:
            return ()
        return tuple(job for job in wanted if job not in refused)


def _known(seen: Observation) -> tuple[SlurmConf, SlurmVersion]:
    assert seen.conf is not None and seen.version is not None  # noqa: S101, PT018 (decide never acts without)
    return seen.conf, seen.version
