"""slurm-topology doctor: everything that can be wrong on a controller, with evidence and the command that mends it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import Any

from slurm_topology.agent.daemon import systemd_runs, unit_state
from slurm_topology.agent.full_pass import Pass
from slurm_topology.agent.install import STARTED_UNITS
from slurm_topology.agent.observation import Observation
from slurm_topology.agent.rehearse import Rehearsal
from slurm_topology.agent.world import World
from slurm_topology.core.errors import SlurmTopologyError
from slurm_topology.core.explain import Context
from slurm_topology.core.model import Finding, Severity

from ._agent import add_settings, world_of
from ._check import Check, Examined, Grade
from ._check_rules import RULES
from ._snapshot import live_snapshot

__all__ = ["add_arguments", "checks", "examine", "run"]

_ORDER = (Grade.ERROR, Grade.WARNING, Grade.UNKNOWN, Grade.OK)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_settings(parser)
    parser.add_argument("--json", action="store_true", help="print the checks as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Exit code: 1 when something is wrong (severity error), else 0. Changes nothing."""
    made = list(checks(examine(world_of(arguments))))
    print(_as_json(made) if arguments.json else _as_text(made))
    return 1 if any(check.grade is Grade.ERROR for check in made) else 0


def checks(examined: Examined) -> Iterator[Check]:
    """Every check, then what the agent's own look found, worst first within each."""
    for id_, title, rule in RULES:
        yield Check(id_, title, *rule(examined))
    situation = examined.situation
    found = {*situation.seen.findings, *(situation.wanted.findings if situation.wanted else ())}
    yield from (
        _of_finding(finding) for finding in sorted(found, key=lambda each: (list(Severity).index(each.severity), each))
    )


def _of_finding(finding: Finding) -> Check:
    grade = {Severity.ERROR: Grade.ERROR, Severity.WARNING: Grade.WARNING, Severity.INFO: Grade.OK}[finding.severity]
    return Check(finding.id, finding.subject, grade, finding.message, finding.remedy)


def examine(world: World) -> Examined:
    """Look at everything. What can't be looked at is missing from the answer, and its checks say so."""
    store = world.store()
    situation = Pass(world, store).situation(store.load_state())
    return Examined(situation, _rehearsed(world, situation.seen), _unit_states(world), _context(world, situation.seen))


def _rehearsed(world: World, seen: Observation) -> Rehearsal | None:
    return None if seen.conf is None else world.rehearser.rehearse(seen.disk, seen.conf, seen.slurmctld)


def _unit_states(world: World) -> dict[str, str]:
    return {unit: unit_state(world.shell, unit) for unit in STARTED_UNITS} if systemd_runs(world.files) else {}


def _context(world: World, seen: Observation) -> Context | None:
    if seen.slurm is None:
        return None
    try:
        return Context(live_snapshot(world))
    except SlurmTopologyError:
        return None  # it answered a moment ago: the check of slurmctld tells


def _as_text(made: Sequence[Check]) -> str:
    lines = []
    for grade in _ORDER:
        for check in made:
            if check.grade is grade:
                lines.append(f"{grade.value:<8} {check.id:<8} {check.title}: {check.evidence}")
                lines += [f"{'':<17} → {check.remedy}"] if check.remedy else []
    counts = ", ".join(f"{sum(check.grade is grade for check in made)} {grade.value}" for grade in _ORDER)
    return "\n".join([*lines, "", counts])


def _as_json(made: Sequence[Check]) -> str:
    documents: list[dict[str, Any]] = [{**check._asdict(), "grade": check.grade.value} for check in made]
    return json.dumps(documents, indent=1)
