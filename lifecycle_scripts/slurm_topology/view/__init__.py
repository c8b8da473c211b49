"""Pictures: a snapshot of a cluster, or a plan, as text, SVG, HTML, JSON, DOT, Mermaid. Pure; imports the core only."""

from __future__ import annotations

from .answers import fragmentation_lines, job_lines, pending_lines, placed_lines
from .as_json import render as render_json
from .graph import render_dot, render_mermaid
from .html import render as render_html
from .picture import Picture, draw
from .plan import PlanPicture, plan_picture, plans_html
from .simulated import outcome_lines
from .svg import render as render_svg
from .text import TextStyle
from .text import render as render_text

__all__ = [
    "Picture",
    "PlanPicture",
    "TextStyle",
    "draw",
    "fragmentation_lines",
    "job_lines",
    "outcome_lines",
    "pending_lines",
    "placed_lines",
    "plan_picture",
    "plans_html",
    "render_dot",
    "render_html",
    "render_json",
    "render_mermaid",
    "render_svg",
    "render_text",
]
