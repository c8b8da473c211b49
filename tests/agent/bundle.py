"""The node bundle in a lab: staged and run as HyperPod does it, without vendored packages."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile

from agent.agent_lab import SOURCE, AgentLab

__all__ = ["SCRIPTS", "STAGING", "manifest", "run_script", "stage"]

SCRIPTS = SOURCE.parent
STAGING = "/tmp/lifecycle"


def agent_zip(extra: str = "") -> bytes:
    """The bundle's agent.zip, without vendored packages; ``extra`` makes it another version."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path in sorted(SOURCE.rglob("*")):
            if path.suffix in (".py", ".json", ".typed", ".js", ".css", ".html"):
                archive.write(path, f"slurm_topology/{path.relative_to(SOURCE)}")
        for path in sorted((SCRIPTS / "systemd").iterdir()):
            archive.write(path, f"systemd/{path.name}")
        archive.writestr("vendor/marker.py", extra)
    return buffer.getvalue()


def manifest(script: str | None = None, content: str = "") -> str:
    """manifest.json of a bundle whose extension is this one script, or that has none."""
    sums = {f"extension/{script}": hashlib.sha256(content.encode()).hexdigest()} if script else {}
    return json.dumps({"extension_script": script, "sha256": sums}, indent=2)


def stage(lab: AgentLab, *, extra: str = "", script: str | None = None, content: str = "") -> None:
    """Copy the bundle to the node, as HyperPod does. ``script``: the one file of the team's own, with this content."""
    lab.lab.run("mkdir", "-p", STAGING, check=True)
    lab.lab.box.outside(f"{STAGING}/agent.zip").write_bytes(agent_zip(extra))
    for name in ("on_init_complete.sh", "on_create.sh"):
        lab.lab.box.write_text(f"{STAGING}/{name}", (SCRIPTS / name).read_text())
    lab.lab.box.write_text(f"{STAGING}/manifest.json", manifest(script, content))
    if script:
        lab.lab.box.write_text(f"{STAGING}/extension/{script}", content)


def run_script(lab: AgentLab, name: str = "on_init_complete.sh") -> int:
    done = lab.lab.run("bash", f"{STAGING}/{name}")
    return done.returncode
