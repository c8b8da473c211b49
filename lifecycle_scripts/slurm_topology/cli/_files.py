"""Reading what the user points at: every fault of a file is one InputError that names it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from slurm_topology.core.errors import InputError

__all__ = ["read_any_text", "read_json", "read_json_or_text", "read_text"]


def read_text(path: Path) -> str:
    """The file's text. Raises InputError when there is none to be had."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start}): expected a text file") from error


def read_any_text(path: Path) -> str:
    """The file's text, bytes that are no UTF-8 kept as surrogates: for checks that tell what is wrong with the file.

    Raises InputError when there is no such file or it can't be read.
    """
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def read_json(path: Path) -> Any:
    """The file's JSON. Raises InputError when it is none."""
    return _parse(path, read_text(path))


def read_json_or_text(path: Path) -> Any:
    """Parsed JSON when the file begins like JSON, else its text: Slurm's answers come in both forms."""
    content = read_text(path)
    return _parse(path, content) if content.lstrip()[:1] in ("{", "[") else content


def _parse(path: Path, content: str) -> Any:
    try:
        return json.loads(content)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: not JSON: {error.msg} (line {error.lineno}, column {error.colno})") from error
    except RecursionError as error:
        raise InputError(f"{path}: not usable: its JSON is nested too deeply") from error
