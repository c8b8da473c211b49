"""Runs inside a judge's box: starts a throw-away slurmctld per case and tells what it said.

One JSON request a line on standard input, one JSON answer a line on standard output. Only the standard library: this
file is copied into the box and run by the root's own Python.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

CONF, STATE, LOG, ERR = (
    Path("/opt/slurm/etc"),
    Path("/var/spool/slurmctld"),
    Path("/var/log/slurm/slurmctld.log"),
    Path("/tmp/err"),
)
STARTED = "Running as primary controller"


def fresh(files: dict[str, str]) -> None:
    """Leave nothing of the case before: configuration, state, log."""
    for folder in (CONF, STATE):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    LOG.unlink(missing_ok=True)
    for name, text in files.items():
        (CONF / name).write_text(text)


def said() -> str:
    return LOG.read_text(errors="replace") if LOG.exists() else ""


def wait_for_verdict(slurmctld: subprocess.Popen[bytes], deadline: float) -> None:
    """Until slurmctld says that it runs, ends, or time is up."""
    while slurmctld.poll() is None and STARTED not in said() and time.monotonic() < deadline:
        time.sleep(0.002)


def ask(command: list[str], deadline: float) -> str:
    """The output of a client command, tried again until slurmctld answers."""
    while True:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0 or time.monotonic() > deadline:
            return done.stdout + done.stderr
        time.sleep(0.01)


def end(slurmctld: subprocess.Popen[bytes]) -> None:
    slurmctld.kill()  # its state is thrown away: no orderly end is needed
    slurmctld.wait()


def one(request: dict[str, Any]) -> dict[str, Any]:
    """Request: files (name → text), commands (argv's), seconds. Answer: started, returncode, log, errors, outputs."""
    fresh(request["files"])
    deadline = time.monotonic() + request["seconds"]
    with ERR.open("wb") as errors:
        command = ["slurmctld", "-D", "-c", "-f", str(CONF / "slurm.conf")]
        slurmctld = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)
    try:
        wait_for_verdict(slurmctld, deadline)
        started = STARTED in said() and slurmctld.poll() is None
        outputs = [ask(command, deadline) for command in request["commands"]] if started else []
        returncode = slurmctld.poll()
    finally:
        end(slurmctld)
    errors_text = ERR.read_text(errors="replace")
    return {"started": started, "returncode": returncode, "log": said(), "errors": errors_text, "outputs": outputs}


for line in sys.stdin:
    print(json.dumps(one(json.loads(line))), flush=True)
