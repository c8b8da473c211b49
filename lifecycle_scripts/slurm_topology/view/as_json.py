"""The picture as JSON, for other programs."""

from __future__ import annotations

import json
from typing import Any

from slurm_topology.core.explain import JobPhase, NodeFacts
from slurm_topology.core.model import TopologyKind

from .picture import Drawing, DrawnJob, DrawnUnit, Picture, UnitKind

__all__ = ["render"]


def render(picture: Picture) -> str:
    """One object, in the words of topology.yaml where there are such. What is unknown is left out."""
    document = {
        "cluster": picture.title,
        "facts": dict(picture.facts),
        "topologies": [_topology(drawing) for drawing in picture.drawings],
        "nodes": {name: _node(facts) for name, facts in picture.nodes.items()},
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
    switches = [_switch(drawing, unit) for unit in drawing.units if unit.kind in (UnitKind.SWITCH, UnitKind.LEAF)]
    blocks = [_unit("block", unit) for unit in drawing.units if unit.kind is UnitKind.BLOCK]
    outside = [node for unit in drawing.units if unit.kind is UnitKind.OUTSIDE for node in unit.nodes]
    return {
        "topology": drawing.name,
        "kind": drawing.kind.value,
        "cluster_default": drawing.is_default,
        "partitions": list(drawing.partitions),
        **({"switches": switches} if drawing.kind is TopologyKind.TREE else {}),
        **({"block_sizes": list(drawing.block_sizes), "blocks": blocks} if drawing.kind is TopologyKind.BLOCK else {}),
        **({"outside": outside} if outside else {}),
    }


def _switch(drawing: Drawing, unit: DrawnUnit) -> dict[str, Any]:
    children = [drawing.units[child].name for child in unit.children]
    return {**_unit("switch", unit), **({"children": children} if children else {})}


def _unit(word: str, unit: DrawnUnit) -> dict[str, Any]:
    states = {state.value: count for state, count in unit.states.items()}
    ultraserver = {"ultraserver": unit.ultraserver} if unit.ultraserver else {}
    return {word: unit.name, "nodes": list(unit.nodes), "states": states, **ultraserver}


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
        document |= {"nodes": list(job.nodes), "leaves": list(found.leaves), "worst_hops": found.worst_hops}
    return document
