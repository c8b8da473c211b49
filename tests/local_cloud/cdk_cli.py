"""Running the real CDK CLI, with progress for the eyes and a log for later."""

from __future__ import annotations

import ctypes
import json
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer
from typing import Any

from local_cloud.environment import ROOT, cdk_command

__all__ = ["CdkError", "CdkResult", "run_cdk"]

LONGEST_SECONDS = 600
PR_SET_PDEATHSIG = 1  # linux/prctl.h
# Of hundreds of stack events: failures, the stack itself, the cluster and the custom resources.
_INTERESTING = re.compile(
    r"_FAILED|_COMPLET.*(AWS::CloudFormation::Stack|AWS::SageMaker::Cluster|Custom::)|✅|❌|^Error|Error:|error:"
)
_DEFAULTS: dict[str, list[str]] = {
    "deploy": ["--require-approval", "never", "--progress", "events"],
    "destroy": ["--force", "--progress", "events"],
}


@dataclass(frozen=True)
class CdkResult:
    """What a CDK command did; `outputs` is {stack: {output: value}} of a deployment."""

    command: tuple[str, ...]
    seconds: float
    log: Path
    text: str
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)


class CdkError(Exception):
    """The CDK CLI failed; the message ends with the last lines of its log."""

    def __init__(self, result: CdkResult, returncode: int) -> None:
        tail = "\n".join(result.text.splitlines()[-25:])
        command = " ".join(result.command)
        super().__init__(f"cdk {command} ended with {returncode} (log: {result.log}):\n{tail}")
        self.result = result
        self.returncode = returncode


def run_cdk(
    arguments: Sequence[str],
    *,
    environ: Mapping[str, str],
    log: Path,
    app: str | None,
    assembly: Path,
    folder: Path = ROOT,
    progress: Callable[[str], None],
) -> CdkResult:
    """Run `cdk ARGUMENTS` in `folder`, synthesizing into `assembly`; CdkError if it fails.

    `app` None is the one in cdk.json. Every stack event that matters goes to `progress`.
    """
    outputs = log.with_suffix(".outputs.json")
    argv = [*cdk_command(), *arguments, "--no-notices", "--no-color", *_DEFAULTS.get(arguments[0], [])]
    argv += ["--app", app] if app else []
    argv += ["--output", str(assembly)] if app != str(assembly) else []
    argv += ["--outputs-file", str(outputs)] if arguments[0] == "deploy" else []
    started = time.monotonic()
    returncode, text = _run(argv, environ, log, folder, progress)
    found: dict[str, Any] = json.loads(outputs.read_text()) if returncode == 0 and outputs.exists() else {}
    result = CdkResult(tuple(arguments), time.monotonic() - started, log, text, found)
    if returncode:
        raise CdkError(result, returncode)
    return result


def _run(
    argv: list[str], environ: Mapping[str, str], log: Path, folder: Path, progress: Callable[[str], None]
) -> tuple[int, str]:
    lines: list[str] = []
    with (
        log.open("w") as file,
        subprocess.Popen(
            argv,
            env=dict(environ),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=_end_with_parent,  # noqa: PLW1509 (a system call, no lock is taken)
        ) as process,
        _ended_after(LONGEST_SECONDS, process),
    ):
        assert process.stdout is not None
        for line in process.stdout:
            file.write(line)
            lines.append(line)
            if _INTERESTING.search(line):
                progress(line.rstrip())
    return process.returncode, "".join(lines)


@contextmanager
def _ended_after(seconds: float, process: subprocess.Popen[str]) -> Iterator[None]:
    """Kill it on Ctrl-C, and when it takes too long: a custom resource that is silent holds a stack for an hour."""
    timer = Timer(seconds, process.kill)
    timer.start()
    try:
        yield
    except BaseException:
        process.kill()
        raise
    finally:
        timer.cancel()


def _end_with_parent() -> None:
    """In the child: get SIGTERM when the parent dies, whatever it dies of (Linux)."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
