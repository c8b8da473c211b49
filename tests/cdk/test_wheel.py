"""The wheel, built and unpacked: an app that finds the library there and nowhere else synthesizes.

`scripts/try_wheel.py` installs it for real, with the newest and the oldest dependencies; that needs a package index.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from cdk.apps import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built by the project's own back end, with what is installed here."""
    folder = tmp_path_factory.mktemp("wheel")
    argv = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    result = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    (built,) = folder.glob("*.whl")
    return built


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_what_is_in_it(wheel: Path) -> None:
    found = names(wheel)
    assert {"hyperpod_slurm/py.typed", "slurm_topology/py.typed", "slurm_topology/core/instance_types.json"} <= found
    assert {
        "hyperpod_slurm/_lifecycle_scripts/on_create.sh",
        "hyperpod_slurm/_lifecycle_scripts/on_init_complete.sh",
    } <= found
    tops = {name.partition("/")[0] for name in found if ".dist-info" not in name}
    assert tops == {"hyperpod_slurm", "slurm_topology"}, (
        "nothing else of ours lands in site-packages, `constructs` least"
    )


def test_its_scripts_can_be_run(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        modes = {info.filename: info.external_attr >> 16 & 0o777 for info in archive.infolist()}
    assert modes["hyperpod_slurm/_lifecycle_scripts/on_create.sh"] & 0o111


def test_an_app_synthesizes_with_it(wheel: Path, tmp_path: Path) -> None:
    """The same bundle as from the source checkout: its hash is in the template."""
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    app = tmp_path / "app.py"
    app.write_text((ROOT / "examples" / "simplest.py").read_text())
    folders = {"wheel": [site], "source": [ROOT / "constructs", ROOT / "lifecycle_scripts"]}
    keys = {}
    for kind, path in folders.items():
        environ = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([*map(str, path), sysconfig.get_path("purelib")]),
            "CDK_OUTDIR": str(tmp_path / kind),
        }
        argv = [sys.executable, "-P", "-S", str(app)]
        result = subprocess.run(argv, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        template = json.loads((tmp_path / kind / "Simplest.template.json").read_text())
        (plan,) = (r for r in template["Resources"].values() if r["Type"] == "Custom::HyperPodSlurmTopologyPlan")
        keys[kind] = plan["Properties"]["BundleKey"]
    assert keys["wheel"] == keys["source"]
