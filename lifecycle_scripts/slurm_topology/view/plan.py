"""A plan as a picture: what each partition will get and why, before any node exists. As text, SVG and HTML.

``plan_picture`` is what the CDK library writes beside a template, so that a pull request can show it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from slurm_topology.core.model import Capability, Choice, Finding, Group, NodeRole, Plan, Severity, TopologyKind

from . import plan_svg
from .escape import markup

__all__ = ["PlanPicture", "PlannedGroup", "plan_picture", "plans_html"]

_KINDS = {
    TopologyKind.TREE: "jobs get the lowest switch with enough free nodes",
    TopologyKind.BLOCK: "a job up to the block size gets one UltraServer, or waits",
    TopologyKind.FLAT: "every node is as near as any other",
}
_STYLE = """
body{margin:0;padding:28px 32px;font:14px/1.55 system-ui,-apple-system,sans-serif;color:#1c2430;background:#fbfbfd}
h1{position:absolute;width:1px;height:1px;margin:0;overflow:hidden;clip-path:inset(50%)}
h2{font-size:15px;margin:28px 0 8px}
.drawing{overflow-x:auto;max-width:1100px}svg{display:block;min-width:1000px;height:auto}
@media print{svg{min-width:0}}
ul{list-style:none;margin:0;padding:0;max-width:1100px}li{padding:9px 0;border-top:1px solid #dfe3ea}
code{font:12.5px ui-monospace,Menlo,Consolas,monospace}.soft{color:#566173}.error{color:#b34700}.warning{color:#7a5b00}
@media (max-width:700px){body{padding:16px 12px}}
@media (prefers-color-scheme:dark){body{color:#e8ebf0;background:#11151b}li{border-color:#2b3340}.soft{color:#a2acba}
.error{color:#ff9a62}.warning{color:#f0c45c}}
"""
_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
"""


class PlannedGroup(NamedTuple):
    """A group in a choice.

    ``blocks``: usable nodes of each UltraServer that it will have; empty when it forms none, or too little is known.
    """

    name: str
    instance_type: str
    node_count: int | None
    words: str  # what its nodes will look like
    blocks: tuple[int, ...] = ()


@dataclass(frozen=True)
class PlanPicture:
    """The picture; ``rows`` pairs each choice with its compute groups, the cluster's default first."""

    title: str
    rows: tuple[tuple[Choice, tuple[PlannedGroup, ...]], ...]
    findings: tuple[Finding, ...]

    def text(self) -> str:
        """For a terminal or a comment, with a line break at the end."""
        return (
            "\n".join([self.title, *(line for row in self.rows for line in _text_row(*row)), *_text_findings(self)])
            + "\n"
        )

    def svg(self) -> str:
        """A standalone SVG file."""
        return plan_svg.render(self.title, self.rows)

    def html(self) -> str:
        """A standalone HTML file."""
        return plans_html([self])


def plans_html(pictures: Sequence[PlanPicture]) -> str:
    """One HTML file with the SVG and the findings of each plan. It has no script and asks nobody for anything."""
    title = markup(", ".join(picture.title for picture in pictures))
    head = f'<link rel="icon" href="data:,"><title>{title}</title><style>{_STYLE}</style></head>'
    return f"{_HEAD}{head}\n<body><main><h1>{title}</h1>{''.join(map(_section, pictures))}</main></body></html>\n"


def _section(picture: PlanPicture) -> str:
    findings = "".join(map(_html_finding, picture.findings)) or '<li class="soft">Nothing to report.</li>'
    # drawn as wide as its words need; where that is too wide it is scrolled, by keyboard too
    drawing = (
        f'<div class="drawing" role="group" tabindex="0" aria-label="{markup(picture.title)}">{picture.svg()}</div>'
    )
    return f"<section>{drawing}<h2>Findings</h2><ul>{findings}</ul></section>\n"


def plan_picture(plan: Plan, groups: Sequence[Group], *, title: str = "Topology plan") -> PlanPicture:
    """The picture of a plan and the groups that it was made from."""
    compute = [group for group in groups if group.role is NodeRole.COMPUTE]
    rows = [(plan.default, _members(compute, None))]
    rows += [(choice, _members(compute, choice.subject)) for choice in plan.partitions]
    if plan.partitions:  # each group is drawn with its own partition; the default shows those without one
        rows[0] = (plan.default, tuple(_planned(group) for group in compute if not group.partitions))
    return PlanPicture(title, tuple(rows), plan.findings)


def _members(groups: Sequence[Group], partition: str | None) -> tuple[PlannedGroup, ...]:
    return tuple(_planned(group) for group in groups if partition is None or partition in group.partitions)


def _planned(group: Group) -> PlannedGroup:
    if group.capability is not Capability.BLOCK or not group.ultraserver_instances:
        words = {
            Capability.TREE: "leaf switches are known when the nodes exist",
            Capability.BLOCK: "UltraServers are known when the nodes exist",
            Capability.NONE: "no network topology",
        }[group.capability]
        return PlannedGroup(group.name, group.instance_type, group.count, words)
    blocks = tuple(_blocks(group.count or 0, group.ultraserver_instances, group.spare_instances))
    size = f"UltraServers of {group.ultraserver_instances}"
    spare = f", {group.spare_instances} of each kept spare" if group.spare_instances else ""
    words = f"{len(blocks)} {size}{spare}" if group.count is not None else f"{size}{spare}"
    return PlannedGroup(group.name, group.instance_type, group.count, words, blocks)


def _blocks(count: int, size: int, spare: int) -> Iterator[int]:
    """UltraServers fill one at a time: 20 usable nodes of 18 + 0 spare are 18 + 2."""
    usable = max(1, size - spare)
    while count > 0:
        yield min(count, usable)
        count -= usable


# ---- text


def _text_row(choice: Choice, groups: Sequence[PlannedGroup]) -> Iterator[str]:
    subject = f"partition {choice.subject}" if choice.subject else "cluster default"
    sizes = f", block size {', '.join(map(str, choice.block_sizes))}" if choice.block_sizes else ""
    yield ""
    yield f"{subject}: {choice.kind.value}{sizes}"
    yield f"  {choice.reason}"
    yield f"  {choice.kind.value}: {_KINDS[choice.kind]}"
    for group in groups:
        count = "? x" if group.node_count is None else f"{group.node_count:,} x"
        yield f"  {count:>7} {group.instance_type:<26} {group.name:<16} {group.words}"


def _text_findings(picture: PlanPicture) -> Iterator[str]:
    if picture.findings:
        yield ""
    for severity in Severity:
        for finding in sorted(each for each in picture.findings if each.severity is severity):
            yield f"{finding.id} {finding.severity.value}: {finding.message}"
            if finding.remedy:
                yield f"    → {finding.remedy}"


def _html_finding(finding: Finding) -> str:
    head = f'<code>{markup(finding.id)}</code> <b class="{finding.severity.value}">{finding.severity.value}</b>'
    remedy = f'<br><span class="soft">→ {markup(finding.remedy)}</span>' if finding.remedy else ""
    return f"<li>{head} {markup(finding.message)}{remedy}</li>"
