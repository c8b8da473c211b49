"""The picture as one HTML file: no request to anywhere, no framework, readable with 8 and with 10,000 nodes.

The page is a template with its style and script written into it; both are named by hash in its
Content-Security-Policy, so that nothing else can run in it, whatever a node or a job is called. The data is JSON; the
page makes its elements from it as they come near the screen. Without scripts the same picture stands there as text.
"""

from __future__ import annotations

import base64
import hashlib
import json
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from slurm_topology.core.errors import InputError
from slurm_topology.core.explain import FREE_STATES, OUT_OF_SERVICE_STATES, NodeFacts, NodeState
from slurm_topology.core.hostlist import fold
from slurm_topology.core.model import TopologyKind

from .answers import leaves_word
from .escape import markup
from .palette import STYLES
from .picture import Drawing, DrawnJob, DrawnUnit, Picture
from .text import TextStyle, placement_text
from .text import render as render_text

__all__ = ["asset", "hashed", "render"]

_SCRIPTS = ("model.js", "fabric.js", "walk.js", "side.js", "main.js")
_STATES = tuple(NodeState)
_LONGEST_HOST_LIST = 400  # characters of a unit's host list that are worth showing

# label of a column in the details, the fact, whether nodes can be coloured by it, whether it is a name to copy
_COLUMNS: tuple[tuple[str, str, Callable[[NodeFacts], str | None], bool, bool], ...] = (
    ("type", "instance type", lambda node: node.instance_type, True, False),
    ("group", "instance group", lambda node: node.group, True, False),
    ("partitions", "partitions", lambda node: ", ".join(node.partitions) or None, True, False),
    ("zone", "zone", lambda node: node.zone, True, False),
    ("ultraserver", "UltraServer", lambda node: node.ultraserver_id, True, True),
    ("id", "instance id", lambda node: node.instance_id, False, True),
    ("since", "since", lambda node: node.reason_since, False, False),
    ("path", "network path", lambda node: " → ".join(node.network_path) or None, False, True),
)


def render(picture: Picture) -> str:
    """The whole file."""
    style = asset("picture.css") + _state_style()
    script = f'"use strict";(() => {{\n{"".join(map(asset, _SCRIPTS))}}})();'
    facts = " ".join(f"<span>{markup(label)} <b>{markup(value)}</b></span>" for label, value in picture.facts)
    return _filled(
        asset("picture.html"),
        {
            "TITLE": markup(picture.title),
            "FACTS": facts,
            "STYLE": style,
            "STYLE_HASH": hashed(style),
            "SCRIPT": script,
            "SCRIPT_HASH": hashed(script),
            "TEXT": markup(render_text(picture, TextStyle())),
            "DATA": json.dumps(_data(picture), ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"),
        },
    )


def asset(name: str) -> str:
    """A file of view/assets. Raises InputError when the installation lacks it."""
    content = pkgutil.get_data(__package__ or "", f"assets/{name}")
    if content is None:
        raise InputError(f"view/assets/{name} is missing from slurm_topology: the installation is incomplete")
    return content.decode()


def hashed(text: str) -> str:
    """SHA-256 as a Content-Security-Policy names it."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _filled(template: str, values: dict[str, str]) -> str:
    """Put values for @NAMES@, each place once and never inside a value."""
    pieces = template.split("@")
    return "".join(values.get(piece, piece) if number % 2 else piece for number, piece in enumerate(pieces))


def _state_style() -> str:
    """The colours of each state, by its class."""
    return "".join(
        f".s-{state.value}{{--fill:light-dark({look.light},{look.dark});"
        f"--edge:light-dark({look.light_edge},{look.dark_edge})}}\n"
        for state, look in STYLES.items()
    )


# ---- the data


def _data(picture: Picture) -> dict[str, Any]:
    names = list(picture.nodes)
    number = {name: index for index, name in enumerate(names)}
    facts = list(picture.nodes.values())
    return {
        "states": [_state(state, picture) for state in _STATES],
        "nodes": {
            "name": names,
            "state": [_STATES.index(node.state) for node in facts],
            "reason": {number[node.name]: node.reason for node in facts if node.reason},
        },
        "columns": list(_columns(facts)),
        "drawings": [_drawing(drawing, number) for drawing in picture.drawings],
        "jobs": [_job(drawn, number) for drawn in picture.jobs],
        "findings": [
            {
                "id": finding.id,
                "severity": finding.severity.value,
                "subject": finding.subject,
                "message": finding.message,
                "remedy": finding.remedy,
            }
            for finding in picture.findings
        ],
    }


def _state(state: NodeState, picture: Picture) -> dict[str, Any]:
    count = picture.states.get(state, 0)
    return {
        "name": state.value,
        "meaning": STYLES[state].meaning,
        "free": state in FREE_STATES,
        "isAway": state in OUT_OF_SERVICE_STATES,
        "count": count,
    }


def _columns(facts: Sequence[NodeFacts]) -> Iterable[dict[str, Any]]:
    """Only columns in which something is known: distinct values, and for each node which one (-1: unknown)."""
    for key, label, read, is_colour, is_code in _COLUMNS:
        values: dict[str, int] = {}
        at = [-1 if value is None else values.setdefault(value, len(values)) for value in map(read, facts)]
        if values:
            yield {
                "key": key,
                "label": label,
                "values": list(values),
                "at": at,
                "isColour": is_colour,
                "isCode": is_code,
            }


def _drawing(drawing: Drawing, number: dict[str, int]) -> dict[str, Any]:
    return {
        "name": drawing.name,
        "kind": drawing.kind.value,
        "about": _about(drawing),
        "units": [_unit(unit, number) for unit in drawing.units],
    }


def _about(drawing: Drawing) -> str:
    kinds = {
        "tree": "Tree: jobs get the lowest switch with enough free nodes",
        "block": "Blocks: a job up to the block size gets one block, or waits",
        "flat": "Flat: every node is as near as any other",
    }
    leaves = "" if drawing.kind is TopologyKind.FLAT else leaves_word(drawing.kind, drawing.leaf_count)
    parts = [kinds[drawing.kind.value], leaves]
    parts += [f"block sizes {', '.join(map(str, drawing.block_sizes))}" if drawing.block_sizes else ""]
    uses = (["the cluster's default"] if drawing.is_default else []) + [
        f"partition {name}" for name in drawing.partitions
    ]
    parts += [f"used by {', '.join(uses)}" if uses else "used by no partition"]
    return " · ".join(filter(None, parts))


def _unit(unit: DrawnUnit, number: dict[str, int]) -> dict[str, Any]:
    hosts = fold(unit.nodes) if unit.nodes else ""
    return {
        "name": unit.name,
        "kind": unit.kind.value,
        "parent": unit.parent,
        "nodes": [number[node] for node in unit.nodes],
        "ultraserver": unit.ultraserver,
        "hosts": hosts if len(hosts) <= _LONGEST_HOST_LIST else f"{hosts[:_LONGEST_HOST_LIST]}…",
    }


def _job(drawn: DrawnJob, number: dict[str, int]) -> dict[str, Any]:
    job = drawn.job
    return {
        "id": job.id,
        "name": job.name,
        "user": job.user,
        "state": job.state,
        "count": job.node_count or len(job.nodes),
        "reason": job.reason if drawn.score is None else "",
        "topology": drawn.topology,
        "placement": placement_text(drawn.score) if drawn.score else "",
        "nodes": [number[node] for node in job.nodes if node in number],
    }
