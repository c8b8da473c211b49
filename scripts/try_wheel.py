"""Build the wheel and the sdist, install the wheel into a new environment, synthesize with it and run its command.

`try_wheel.py` installs the newest dependencies that pyproject.toml allows; `--floor` the oldest ones of aws-cdk-lib and
constructs. `--python PATH` takes another interpreter, to try every supported version. Needs a package index.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
FLOOR = ("aws-cdk-lib==2.252.0", "constructs==10.5.0")

APP = """
from aws_cdk import App, Stack
from hyperpod_slurm import (ClusterInstanceType, ComputeGroup, ControllerGroup, InterfaceType, LoginGroup, NewDatabase,
    NewLustre, NewOpenZfs, PatchingStrategy, SlurmCluster, TopologyAlarms, TopologyDashboard)

app = App()
stack = Stack(app, "Try")
cluster = SlurmCluster(stack, "Cluster", shared_storage=[NewLustre(), NewOpenZfs()], accounting=NewDatabase(),
    instance_groups=[ControllerGroup("controller"), LoginGroup("login"),
        ComputeGroup("train", ClusterInstanceType.P5_48XLARGE, 8, interface_type=InterfaceType.EFA,
            auto_patch=PatchingStrategy.WHEN_IDLE, image_release_version="1.2.3")])
TopologyDashboard(stack, "Dashboard", cluster=cluster, alarms=TopologyAlarms(stack, "Alarms", cluster=cluster))
app.synth()
"""


def run(argv: Sequence[str | Path], folder: Path, **environ: str) -> str:
    """Run a command; its output is shown when it fails."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | environ
    result = subprocess.run(list(map(str, argv)), cwd=folder, env=env, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, argv))} ended with {result.returncode}:\n{result.stdout}{result.stderr}")
    return result.stdout


def build(folder: Path) -> Path:
    """The wheel; the sdist is built on the way, and the wheel from it."""
    run([sys.executable, "-m", "build", "--outdir", folder, ROOT], ROOT)
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    print(f"built {wheel.name} and {sdist.name}")
    return wheel


def install(wheel: Path, folder: Path, python: str | None, floor: bool) -> Path:
    """A new environment with the wheel; gives its Python."""
    if python is None:
        venv.create(folder, with_pip=True)
    else:
        run([python, "-m", "venv", folder], folder.parent)
    made = folder / "bin" / "python"
    run([made, "-m", "pip", "install", "--quiet", wheel, *(FLOOR if floor else ())], folder)
    versions = run([made, "-c", "import sys; print(sys.version.split()[0])"], folder).strip()
    listed = json.loads(run([made, "-m", "pip", "list", "--format", "json"], folder))
    shown = [
        f"{entry['name']} {entry['version']}" for entry in listed if entry["name"] in ("aws-cdk-lib", "constructs")
    ]
    print(f"installed with Python {versions}, {', '.join(shown)}")
    return made


def synthesize(python: Path, folder: Path) -> None:
    """An app outside of the project, and what its template must have."""
    (folder / "app.py").write_text(APP)
    run([python, "app.py"], folder, CDK_OUTDIR=str(folder / "cdk.out"))
    template = json.loads((folder / "cdk.out" / "Try.template.json").read_text())
    by_type = {resource["Type"]: resource["Properties"] for resource in template["Resources"].values()}
    cluster = by_type["AWS::SageMaker::Cluster"]
    group = cluster["InstanceGroups"][2]
    found = (
        cluster["Orchestrator"]["Slurm"]["AccountingDatabase"]["Port"],
        group["NetworkInterface"],
        group["AutoPatchConfig"],
        group["ImageReleaseVersion"],
        by_type["Custom::HyperPodSlurmTopologyPlan"]["Mode"],
        len(by_type["Custom::HyperPodSlurmS3PrefixList"]),
    )
    expected = (3306, {"InterfaceType": "efa"}, {"PatchingStrategy": "WhenIdle"}, "1.2.3", "own", 4)
    if found != expected:
        sys.exit(f"the template has {found}, expected {expected}")
    command = python.with_name("slurm-topology")
    print(
        run([command, "plan", "--template", folder / "cdk.out" / "Try.template.json"], folder).splitlines()[1].strip()
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--floor", action="store_true", help="oldest aws-cdk-lib and constructs")
    parser.add_argument("--python", help="another interpreter")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build(folder / "dist")
        python = install(wheel, folder / "environment", arguments.python, arguments.floor)
        synthesize(python, folder)


if __name__ == "__main__":
    main()
