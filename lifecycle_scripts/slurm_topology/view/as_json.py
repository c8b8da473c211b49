"""The picture as JSON, for other programs."""

from __future__ import annotations

import json
from typing import Any

from slurm_topology.core.explain import JobPhase, NodeFacts
from slurm_topology.core.hostlist import fold

from .picture import Drawing, DrawnJob, DrawnUnit, Picture

__all__ = ["render"]


def render(picture: Picture) -> str:
    """One object; node lists as host lists. What is unknown is left out."""
    document = {
        "cluster": picture.title,
        **dict(picture.facts),
        "topologies": [_topology(drawing) for drawing in picture.drawings],
        "nodes": {name: _node(facts) for name, facts in sorted(picture.nodes.items())},
        "jobs": [_job(drawn) for drawn in picture.jobs],
        "findings": [
            {
                "id": each.id,
                "severity": each.severity.value,
                "subject": each.subject,
                "message": each.message,
                "remedy": each.remedy,
            }
            for each in picture.findings
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _topology(drawing: Drawing) -> dict[str, Any]:
    return {
        "name": drawing.name,
        "kind": drawing.kind.value,
        "cluster_default": drawing.is_default,
        "partitions": list(drawing.partitions),
        "block_sizes": list(drawing.block_sizes),
        "units": [_unit(drawing, unit) for unit in drawing.units],
    }


def _unit(drawing: Drawing, unit: DrawnUnit) -> dict[str, Any]:
    return {
        "name": unit.name,
        "kind": unit.kind.value,
        "parent": None if unit.parent is None else drawing.units[unit.parent].name,
        "total": unit.total,
        "states": {state.value: count for state, count in unit.states.items()},
        **({"nodes": fold(unit.nodes)} if unit.nodes else {}),
    }


def _node(facts: NodeFacts) -> dict[str, Any]:
    known = {name: value for name, value in facts._asdict().items() if value not in (None, ()) and name != "name"}
    return {**known, "state": facts.state.value}


def _job(drawn: DrawnJob) -> dict[str, Any]:
    job, found = drawn.job, drawn.score
    document: dict[str, Any] = {
        "id": job.id,
        "name": job.name,
        "user": job.user,
        "state": job.state,
        "node_count": job.node_count,
        "topology": drawn.topology,
    }
    if job.phase is JobPhase.PENDING:
        document["reason"] = job.reason
    if found is not None:
        document |= {"nodes": fold(job.nodes), "leaves": list(found.leaves), "worst_hops": found.worst_hops}
    return document
