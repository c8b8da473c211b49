"""One pass: lock → order → observe → compute → compare → decide → act → record.

Everything that triggers the agent runs this same pass; a trigger only says "look now". What a pass does depends on
what it sees and on nothing else, so it doesn't matter how many triggers came, in which order, or which were lost.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from slurm_topology.agent import compute, jobs, picture, recover, rescue
from slurm_topology.agent.apply import Applied, Applier, Change, as_map
from slurm_topology.agent.compute import Wanted
from slurm_topology.agent.decide import Action, Decision, Reason, Situation, decide
from slurm_topology.agent.observation import Observation, Role
from slurm_topology.agent.observe import Observer
from slurm_topology.agent.places import Place
from slurm_topology.agent.record import PassRecord, after_failure, after_pass, after_success
from slurm_topology.agent.rehearse import Rehearsal
from slurm_topology.agent.settings import Mode
from slurm_topology.agent.state import AgentState, Store
from slurm_topology.agent.world import World
from slurm_topology.core.errors import ApplyError, SlurmTopologyError
from slurm_topology.core.model import Finding, Severity

__all__ = ["Pass", "reconcile"]


def reconcile(world: World) -> PassRecord | None:
    """Run one pass. None when another one is running: it is asked to look once more.

    Raises StateError when the agent's own memory can't be written: then nothing was changed, because a change is
    journalled first.
    """
    world.files.make_folder(world.settings.state_folder, 0o750)
    with world.files.lock(world.lock_file) as ours:
        if not ours:
            world.files.make_folder(world.request_file.parent)
            world.files.touch(world.request_file)
            return None
        return Pass(world).run()


@dataclass
class Pass:
    """One pass over one world."""

    world: World

    def __post_init__(self) -> None:
        world = self.world
        self.store: Store = world.store()
        self.known_places: dict[str, Place] = {}
        self.applier = Applier(
            world.shell, world.files, world.clock, world.slurm, self.store, world.rehearser, world.settings
        )

    def run(self) -> PassRecord:
        started, now = self.world.clock.monotonic(), self.world.clock.now()
        state = self.store.load_state()
        situation: Situation | None = None
        decision = Decision(Action.NOTHING, Reason.NO_INPUT)
        applied, failure = None, None
        try:
            state, interrupted = self._put_in_order(state)
            situation = self.situation(state, now)
            decision = decide(situation)
            applied = self._act(decision, situation, interrupted)
            if applied is not None:
                state = after_success(state, decision, applied, self.world.settings, self.world.clock.now())
        except Exception as error:  # a fault of ours is a failed pass like any other: counted, told, tried again
            if not isinstance(error, SlurmTopologyError | OSError):
                self.world.log.event("internal-error", Severity.ERROR, traceback=traceback.format_exc())
            failure = error
            state = after_failure(
                state, decision, error, self.world.settings, self.world.clock.now(), self.world.clock.random()
            )
        record = self._record(started, now, situation, decision, applied, failure)
        self._remember(state, situation, record)
        return record

    # ---- looking

    def _put_in_order(self, state: AgentState) -> tuple[AgentState, list[str] | None]:
        """Undo or complete what a killed pass left.

        Also: which jobs were held before it began (None: no pass was killed).
        """
        transaction = self.store.load_transaction()
        if transaction is None:
            return state, None
        self.world.log.event("interrupted-pass", started_at=transaction.started_at)
        return recover.put_in_order(self.applier, transaction, state), transaction.held_jobs

    def situation(self, state: AgentState, now: float) -> Situation:
        world = self.world
        observer = Observer(world.shell, world.files, world.slurm, world.settings, state.conf_path, world.host_name)
        seen = observer.look(now)
        mode = self._mode(seen)
        self.known_places = self.store.load_places()
        wanted = compute.compute(seen, self.known_places, opt_out=mode is Mode.OWN and seen.manager_active)
        drawn = picture.draw(seen, wanted, state) if wanted is not None and wanted.target is not None else None
        return Situation(
            seen, wanted, drawn, self._disk_verdict(seen), state, self.store.load_pause(), world.settings, mode
        )

    def _mode(self, seen: Observation) -> Mode:
        """The plan's mode, unless agent.json says another one."""
        plan_mode = seen.plan.mode if seen.plan else None
        return Mode(plan_mode) if plan_mode and self.world.settings.mode is Mode.OWN else self.world.settings.mode

    def _disk_verdict(self, seen: Observation) -> Rehearsal | None:
        """Only for a slurmctld that is down: would it start with what is on disk?"""
        if seen.role is not Role.DOWN or seen.conf is None or seen.version is None:
            return None
        return self.world.rehearser.rehearse(seen.disk, seen.conf, seen.slurmctld)

    # ---- acting

    def _act(self, decision: Decision, situation: Situation, interrupted: list[str] | None) -> Applied | None:
        """Do what was decided, then what an interrupted pass left to do. None when nothing was done."""
        seen, wanted = situation.seen, situation.wanted
        if decision.action is Action.NOTHING:
            self._finish_interrupted(interrupted, decision)
            return None
        if decision.action is Action.RESCUE:
            return rescue.rescue(self.applier, seen, wanted, self.world.history)
        if decision.action is Action.ASSIGN:
            return Applied(False, 0.0, "", (), self.applier.assign(decision.assignments))
        if decision.target is None or wanted is None:
            raise ApplyError("nothing to apply was computed", "decide")
        held = interrupted if interrupted is not None else self._held_before(situation)
        reconfigure = decision.action is not Action.RESTORE_FILE
        change = Change(decision.target, wanted.topology, decision.assignments, held, reconfigure)
        applied = self.applier.apply(change, seen)
        self._write_history(decision, situation, wanted)
        self.store.end_transaction()
        return applied

    def _held_before(self, situation: Situation) -> list[str]:
        view, state = situation.seen.slurm, situation.state
        return jobs.held_before(view.jobs if view else (), state.held_jobs, state.settled_at)

    def _finish_interrupted(self, interrupted: list[str] | None, decision: Decision) -> None:
        """The killed pass had put its topology in force: release what it held."""
        if interrupted is None:
            return
        if decision.reason is Reason.IN_FORCE:
            self.applier.release(interrupted)
        self.store.end_transaction()

    def _write_history(self, decision: Decision, situation: Situation, wanted: Wanted) -> None:
        assert decision.target is not None and situation.seen.conf is not None  # noqa: S101, PT018
        self.world.history.add(
            at=self.world.clock.now(),
            reason=decision.reason.value,
            slurm_version=str(situation.seen.version),
            conf_path=situation.seen.conf.path,
            summary=picture.summary(situation.seen, wanted),
            disk=as_map(decision.target),
        )

    # ---- remembering

    def _record(
        self,
        started: float,
        now: float,
        situation: Situation | None,
        decision: Decision,
        applied: Applied | None,
        failure: Exception | None,
    ) -> PassRecord:
        drawn = situation.picture if situation else None
        view = situation.seen.slurm if situation else None
        return PassRecord(
            at=now,
            seconds=self.world.clock.monotonic() - started,
            action=decision.action,
            reason=decision.reason,
            failed=(str(failure) or repr(failure)) if failure else "",
            stage=getattr(failure, "stage", "") if failure else "",
            reconfigured=applied.reconfigured if applied else False,
            reconfigure_seconds=applied.reconfigure_seconds if applied else 0.0,
            released=applied.released if applied else (),
            nodes=len(view.nodes) if view else 0,
            unplaced=len(drawn.unplaced) if drawn else 0,
            findings=self._findings(situation, decision, applied),
            again_after_seconds=decision.again_after_seconds,
        )

    def _findings(
        self, situation: Situation | None, decision: Decision, applied: Applied | None
    ) -> tuple[Finding, ...]:
        seen = situation.seen.findings if situation else ()
        wanted = situation.wanted.findings if situation and situation.wanted else ()
        return (*self.store.findings, *seen, *wanted, *decision.findings, *(applied.findings if applied else ()))

    def _remember(self, state: AgentState, situation: Situation | None, record: PassRecord) -> None:
        wanted = situation.wanted if situation else None
        if wanted is not None and wanted.places != self.known_places:
            self.store.save_places(wanted.places)
        self.store.save_state(after_pass(state, situation, record))
