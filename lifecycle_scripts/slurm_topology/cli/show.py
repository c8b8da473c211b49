"""slurm-topology show: the topology in force, as a tree in the terminal, JSON, SVG, HTML, DOT or Mermaid."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from slurm_topology.agent.files import Files
from slurm_topology.core.errors import InputError
from slurm_topology.view import (
    Picture,
    TextStyle,
    draw,
    render_dot,
    render_html,
    render_json,
    render_mermaid,
    render_svg,
    render_text,
)

from ._snapshot import add_snapshot_options, read_snapshot

__all__ = ["add_arguments", "run", "text_style", "write_out"]

_FORMATS: dict[str, Callable[[Picture], str]] = {
    "json": render_json,
    "svg": render_svg,
    "html": render_html,
    "dot": render_dot,
    "mermaid": render_mermaid,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=["text", *_FORMATS], default="text", help="default: %(default)s")
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="the same as --format json")
    parser.add_argument("--output", type=Path, metavar="F", help="write into this file instead of standard output")
    parser.add_argument(
        "--all", action="store_true", help="text: a line for every switch or block, however many there are"
    )
    add_snapshot_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 0. Raises InputError (2), CommandError (3)."""
    picture = draw(read_snapshot(arguments))
    if arguments.format == "text":
        style = text_style(everything=arguments.all, to_file=arguments.output is not None)
        write_out(render_text(picture, style), arguments.output)
    else:
        write_out(_FORMATS[arguments.format](picture), arguments.output)
    return 0


def text_style(*, everything: bool = False, to_file: bool = False) -> TextStyle:
    """What this terminal can show; NO_COLOR and TERM=dumb are respected (https://no-color.org)."""
    colour = sys.stdout.isatty() and not to_file and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    utf8 = to_file or "utf" in (sys.stdout.encoding or "").lower()
    return TextStyle(colour, utf8) if not everything else TextStyle(colour, utf8, None)


def write_out(text: str, path: Path | None) -> None:
    """To a file in one step, or to standard output. Raises InputError when the file can't be written."""
    if path is None:
        sys.stdout.write(text)
        return
    try:
        path.absolute().parent.mkdir(parents=True, exist_ok=True)
        Files().write_atomically(path.absolute(), text)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
