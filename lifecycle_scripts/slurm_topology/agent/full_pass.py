"""A full pass: put in order → observe → compute → compare → decide → act → remember."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, replace

from slurm_topology.agent import compute, findings, jobs, picture, recover, rescue, triggers
from slurm_topology.agent.apply import Applied, Applier, Change, ConfChangedError, PausedError
from slurm_topology.agent.assign import assigned
from slurm_topology.agent.client_conf import keep_client_conf
from slurm_topology.agent.compute import Wanted
from slurm_topology.agent.decide import decide
from slurm_topology.agent.decision import Action, Decision, Reason
from slurm_topology.agent.disk import as_map
from slurm_topology.agent.glance import release_late
from slurm_topology.agent.observation import Observation, Role
from slurm_topology.agent.observe import Observer
from slurm_topology.agent.outcome import after_failure, after_success, news_of, record_of
from slurm_topology.agent.places import Place
from slurm_topology.agent.record import PassRecord, Settled, after_pass
from slurm_topology.agent.rehearse import Rehearsal, Verdict
from slurm_topology.agent.settings import Mode, mode_in_force
from slurm_topology.agent.situation import Situation
from slurm_topology.agent.slurm import PendingJob
from slurm_topology.agent.slurm_conf import read_slurm_conf
from slurm_topology.agent.state import AgentState, Store, Transaction
from slurm_topology.agent.world import World
from slurm_topology.core.errors import ApplyError, CommandError, SlurmTopologyError
from slurm_topology.core.model import Finding, Severity

__all__ = ["Pass"]

# Slurm answers, and nothing more is going to be done: the jobs that a killed pass held can be free.
RESTED = (Reason.IN_FORCE, Reason.NOT_OURS)


@dataclass
class Pass:
    """One pass over one world. One use."""

    world: World
    store: Store

    def __post_init__(self) -> None:
        world = self.world
        self.started, self.now = world.clock.monotonic(), world.clock.now()
        self.known_places: dict[str, Place] = {}
        self.freed: tuple[str, ...] = ()  # jobs that a killed pass had held
        self.applier = Applier(
            world.shell, world.files, world.clock, world.slurm, self.store, world.rehearser, world.settings
        )

    def run(self, state: AgentState, transaction: Transaction | None, fingerprint: str) -> PassRecord:
        """``fingerprint``: of everything before this look, "" when it isn't known."""
        situation: Situation | None = None
        decision, applied, failure = Decision(Action.NOTHING, Reason.NO_INPUT), None, None
        try:
            state = self._put_in_order(state, transaction)
            situation = self.situation(state)
            decision = decide(situation)
            applied = self._act(decision, situation, transaction)
            if applied is not None:
                held = self._held_before(situation, transaction)
                state = after_success(state, decision, applied, self.world.settings, self.world.clock.now(), held)
        except PausedError:
            decision = Decision(Action.NOTHING, Reason.PAUSED)
        except ConfChangedError:
            decision = Decision(
                Action.NOTHING, Reason.CONF_CHANGING, again_after_seconds=self.world.settings.coalesce_seconds
            )
        except Exception as error:  # a fault of ours is a failed pass like any other: counted, told, tried again
            failure = error
            state = self._failed(state, decision, error)
        seconds = self.world.clock.monotonic() - self.started
        record = record_of(situation, decision, applied, failure, at=self.now, seconds=seconds)
        return self._end(state, situation, record, fingerprint)

    # ---- looking

    def _put_in_order(self, state: AgentState, transaction: Transaction | None) -> AgentState:
        """Undo or complete what a killed pass left."""
        if transaction is None:
            return state
        self.world.log.event("interrupted-pass", started_at=transaction.started_at)
        return recover.put_in_order(self.applier, transaction, state)

    def situation(self, state: AgentState) -> Situation:
        """Observe and compare. Changes nothing."""
        world = self.world
        observer = Observer(world.shell, world.files, world.slurm, world.settings, state.conf_path, world.host_name)
        seen = observer.look(self.now)
        mode = self._mode(seen)
        self.known_places = self.store.load_places()
        opt_out = mode is Mode.OWN and seen.manager_active
        wanted = compute.compute(seen, self.known_places, opt_out=opt_out)
        drawn = None
        if wanted is not None and wanted.target is not None:
            drawn = picture.draw(seen, wanted, state, disk_refused=self._disk_refused(seen, mode))
        pause = self.store.load_pause()
        seed = compute.seed(seen, wanted, opt_out=opt_out) if wanted and self._first_boot(state, seen, wanted) else None
        return Situation(seen, wanted, seed, drawn, self._disk_verdict(seen), state, pause, world.settings, mode)

    def _first_boot(self, state: AgentState, seen: Observation, wanted: Wanted) -> bool:
        """The cluster has never been complete, and there is still time to wait for that.

        An agent that has lost its state, or stood by until now, knows by what is in force that it has been.
        """
        late = state.first_node_at > 0 and self.now - state.first_node_at > self.world.settings.first_boot_seconds
        return not (state.complete_once or late or wanted.complete or picture.places_in_force(seen))

    def _mode(self, seen: Observation) -> Mode:
        """The plan's mode, unless agent.json says another one."""
        return mode_in_force(self.world.settings, seen.plan.mode if seen.plan else None)

    def _disk_refused(self, seen: Observation, mode: Mode) -> bool:
        """Would slurmctld refuse what is on disk?

        What the checker suspects is tried. Where it can't be tried, a guest has no proof, and leaves it alone.
        """
        if not picture.disk_suspect(seen) or seen.role is not Role.ACTIVE or seen.conf is None:
            return False
        tried = self.world.rehearser.rehearse(seen.disk, seen.conf, seen.slurmctld).verdict
        return tried is Verdict.REFUSED or (tried is Verdict.UNKNOWN and mode is not Mode.REPAIR)

    def _disk_verdict(self, seen: Observation) -> Rehearsal | None:
        """Only for a slurmctld that is down: would it start with what is on disk?"""
        if seen.role is not Role.DOWN or seen.conf is None or seen.version is None:
            return None
        if seen.unreadable:
            return Rehearsal(Verdict.REFUSED, seen.unreadable)  # a rehearsal reads a copy
        verdict = self.world.rehearser.rehearse(seen.disk, seen.conf, seen.slurmctld)
        blamed = verdict.verdict is Verdict.REFUSED and self.world.rehearser.blames_topology(seen.conf, seen.slurmctld)
        return verdict if blamed else None

    # ---- acting

    def _act(self, decision: Decision, situation: Situation, transaction: Transaction | None) -> Applied | None:
        """Do what was decided, then what an interrupted pass left to do. None when nothing was done."""
        seen, wanted = situation.seen, situation.wanted
        if decision.action is Action.NOTHING:
            self._finish_interrupted(decision, transaction)
            return None
        if decision.action is Action.RESCUE:
            held = self._held_before(situation, transaction)
            return rescue.rescue(self.applier, seen, situation.seed or wanted, self.world.history, held)
        if decision.action is Action.ASSIGN:
            return self._assign(decision)
        if decision.target is None or decision.topology is None:
            raise ApplyError("nothing to apply was computed", "decide")
        held = self._held_before(situation, transaction)
        reconfigure = decision.action is not Action.RESTORE_FILE
        exempt = picture.exempt(seen.slurm)
        change = Change(decision.target, decision.topology, decision.assignments, held, reconfigure, exempt, True)
        applied = self.applier.apply(change, seen)
        self._write_history(decision, seen, applied)
        self.store.end_transaction()
        return applied

    def _assign(self, decision: Decision) -> Applied:
        found = self.applier.assign(decision.assignments)
        if len(found) == len(decision.assignments):
            raise ApplyError("; ".join(finding.message for finding in found), "assign")
        return Applied(False, 0.0, (), found)

    def _held_before(self, situation: Situation, transaction: Transaction | None) -> list[str]:
        """Jobs that aren't ours to release: as the killed pass saw it, when there was one."""
        if transaction is not None:
            return transaction.held_jobs
        view, drawn = situation.seen.slurm, situation.picture
        if view is None:
            return situation.state.held_jobs
        lacked = drawn is not None and bool(drawn.unplaced)
        state = situation.state
        ours = jobs.made_by_us(view.jobs, state.held_jobs, state.released_jobs, state.applied_at, self.now)
        return jobs.held_before(view.jobs, state.held_jobs, ours, nodes_lacked=lacked)

    def _finish_interrupted(self, decision: Decision, transaction: Transaction | None) -> None:
        """Release what the killed pass held. Its journal stays until that can be done, or a change is completed."""
        if transaction is not None and decision.reason in RESTED:
            self.freed = self.applier.release(transaction.held_jobs)
            self.store.end_transaction()

    def _write_history(self, decision: Decision, seen: Observation, applied: Applied) -> None:
        assert decision.target and decision.topology and seen.conf  # noqa: S101, PT018 (nothing is applied without)
        kept = assigned(seen.slurm.partitions) if seen.slurm and not applied.reconfigured else {}
        self.world.history.add(
            at=self.world.clock.now(),
            reason=decision.reason.value,
            slurm_version=str(seen.version),
            conf_path=seen.conf.path,
            summary=picture.summary(seen, decision.topology),
            disk=as_map(decision.target),
            assignments={**kept, **decision.assignments},
        )

    def _still_held(self, state: AgentState, pending: tuple[PendingJob, ...]) -> tuple[Finding, ...]:
        """Released, and held again: these jobs don't fit the topology."""
        again = [job for job in jobs.held(pending) if job in state.released_jobs]
        return (findings.jobs_do_not_fit(again),) if again else ()

    # ---- remembering

    def _end(self, state: AgentState, situation: Situation | None, record: PassRecord, fingerprint: str) -> PassRecord:
        released = (*record.released, *self.freed)
        record = replace(record, released=released, findings=(*self.store.findings, *record.findings))
        view = situation.seen.slurm if situation else None
        settled = None
        if record.reason is Reason.IN_FORCE and view is not None:
            released = tuple(dict.fromkeys((*released, *self._release_late(state, view.jobs))))
            found = (*record.findings, *self._still_held(state, view.jobs))
            record = replace(record, released=released, findings=found)
            settled = Settled(fingerprint, view.jobs, released)
        news = news_of(situation) if situation else None
        self.store.save_state(after_pass(state, record, news, settled))
        if situation is not None:
            try:
                self._keep(situation)
            except (SlurmTopologyError, OSError) as error:  # the next pass does it: what was done is done, and told
                self.world.log.event("not-kept", Severity.WARNING, why=str(error))
        return record

    def _release_late(self, state: AgentState, pending: tuple[PendingJob, ...]) -> tuple[str, ...]:
        try:
            return release_late(self.world, state, pending, self.now)
        except CommandError as error:  # tried again at the next look
            self.world.log.event("not-released", Severity.WARNING, why=str(error))
            return ()

    def _keep(self, situation: Situation) -> None:
        """What is cheap to keep right at every look."""
        wanted, seen = situation.wanted, situation.seen
        if wanted is not None and wanted.places != self.known_places:
            self.store.save_places(wanted.places)
        if seen.conf is not None:
            # read anew: this very pass may have changed the plugin line
            keep_client_conf(self.world, read_slurm_conf(seen.conf.path, self.applier.read_text))
        if seen.role is Role.ACTIVE:
            self._keep_triggers(seen)

    def _keep_triggers(self, seen: Observation) -> None:
        """Slurm's triggers call a program that touches a file of SlurmUser's."""
        if self.world.files.signature(triggers.NOTIFIER_PATH) is None:
            return  # run from a checkout: nothing is installed that Slurm could call
        user = seen.slurm.slurm_user if seen.slurm else "root"
        self.world.prepare_request(user)
        if armed := triggers.arm(self.world.slurm, user):
            self.world.log.event("triggers-set", events=",".join(armed))

    def _failed(self, state: AgentState, decision: Decision, error: Exception) -> AgentState:
        world = self.world
        if not isinstance(error, SlurmTopologyError | OSError):
            world.log.event("internal-error", Severity.ERROR, traceback=traceback.format_exc())
        return after_failure(state, decision, error, world.settings, world.clock.now(), world.clock.random())
