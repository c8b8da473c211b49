"""Set-up and deployment helpers: what runs before anything is installed, and what protects a real account."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from local_cloud import LocalCloud

ROOT = Path(__file__).parents[1]


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = script("setup")
    monkeypatch.setattr(module, "LOGS", tmp_path)
    return module


# -- set-up ------------------------------------------------------------------------------------------------------------
def test_a_step_runs_when_its_key_changes_only(setup: ModuleType, tmp_path: Path) -> None:
    key, runs = ["one"], []

    def run(_log: Path) -> bool:
        runs.append(key[0])
        return True

    step = setup.Step("Thing", tmp_path / "stamp", lambda: key[0], run)
    assert [setup.run_step(step), setup.run_step(step)] == [True, False]
    key[0] = "two"
    assert setup.run_step(step)
    assert runs == ["one", "two"]


def test_a_step_that_could_not_be_done_here_is_tried_again(setup: ModuleType, tmp_path: Path) -> None:
    step = setup.Step("Thing", tmp_path / "stamp", lambda: "one", lambda _log: False)
    assert [setup.run_step(step), setup.run_step(step)] == [True, True]


def test_a_failure_shows_the_end_of_the_log_and_what_to_do(setup: ModuleType, tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('no route to host'); raise SystemExit(7)"]
    with pytest.raises(
        setup.SetupError, match=r"(?s)ended with 7:.*no route to host\nTo do: look at the cable\. Log: "
    ):
        setup.run(command, tmp_path / "log", hint="look at the cable")


@pytest.mark.parametrize(
    ("programs", "message"),
    [
        ({"apt-get": "/usr/bin/apt-get"}, "missing Debian packages. As root: apt-get install python3-venv"),
        ({}, r"missing on this system: python3-venv \(Debian's names\)"),
    ],
)
def test_missing_debian_packages_are_named(
    setup: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, programs: dict[str, str], message: str
) -> None:
    """Without root, without sudo: the command to give is told, nothing is tried."""
    monkeypatch.setattr(setup, "missing_debian_packages", lambda: ["python3-venv"])
    monkeypatch.setattr(setup.shutil, "which", programs.get)
    monkeypatch.setattr(setup.os, "geteuid", lambda: 1000)
    with pytest.raises(setup.SetupError, match=message):
        setup.debian_packages(tmp_path / "log")


def test_linter_settings_don_t_reinstall_packages(
    setup: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup, "ROOT", tmp_path)
    text = (ROOT / "pyproject.toml").read_text()

    def tables_of(text: str) -> list[str]:
        (tmp_path / "pyproject.toml").write_text(text)
        found: list[str] = setup.packaging_tables()
        return found

    before = tables_of(text)
    if sys.version_info >= (3, 11):
        assert tables_of(text.replace("line-length = 120", "line-length = 121")) == before
    assert tables_of(text.replace('"PyYAML>=6.0"', '"PyYAML>=6.1"')) != before


def test_the_lock_file_pins_the_cli_and_names_no_registry() -> None:
    lock = json.loads((ROOT / "package-lock.json").read_text())
    wanted = json.loads((ROOT / "package.json").read_text())["dependencies"]["aws-cdk"]
    assert re.fullmatch(r"2\.\d+\.\d+", wanted), "aws-cdk 3.0.0 is an accident; never a range"
    assert lock["packages"]["node_modules/aws-cdk"]["version"] == wanted
    assert not [name for name, package in lock["packages"].items() if "resolved" in package]
    assert "omit-lockfile-registry-resolved=true" in (ROOT / ".npmrc").read_text().splitlines()


def test_each_target_is_explained() -> None:
    """`make help` and .PHONY know every target."""
    text = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))
    explained = set(re.findall(r"^([a-z-]+):[^#\n]*## ", text, re.MULTILINE))
    phony = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert phony is not None
    assert targets == explained == set(phony.group(1).split())


# -- deployment --------------------------------------------------------------------------------------------------------
def deploy(environ: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "deploy.py"), *arguments]
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)


def test_deploy_asks_for_the_bootstrap_first() -> None:
    with LocalCloud() as cloud:
        done = deploy(cloud.environ(), "deploy")
    assert done.returncode == 1
    assert (
        done.stderr
        == "deploy: us-west-2 isn't bootstrapped for the CDK. Once an account and region: `make bootstrap`.\n"
    )


@pytest.mark.parametrize("variable", ["AWS_REGION", "AWS_DEFAULT_REGION"])
def test_the_region_is_the_one_that_was_asked_for(variable: str) -> None:
    """The CDK CLI reads AWS_REGION, boto3 AWS_DEFAULT_REGION; the first wins, as in every newer SDK."""
    with LocalCloud() as cloud:
        environ = {name: value for name, value in cloud.environ().items() if "REGION" not in name}
        done = deploy({**environ, "AWS_DEFAULT_REGION": "us-east-2", variable: "eu-west-1"}, "deploy")
    assert "deploy: eu-west-1 isn't bootstrapped" in done.stderr


def test_an_old_bootstrap_is_told() -> None:
    with LocalCloud() as cloud:
        parameter = {"Name": "/cdk-bootstrap/hnb659fds/version", "Value": "5", "Type": "String"}
        cloud.client("ssm").put_parameter(**parameter)
        done = deploy(cloud.environ(), "deploy")
    assert done.returncode == 1
    assert "is version 5, 6 is needed" in done.stderr


def test_no_credentials_are_told(tmp_path: Path) -> None:
    nothing = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "AWS_EC2_METADATA_DISABLED": "true"}
    done = deploy(nothing, "deploy")
    assert done.returncode == 1
    assert "Unable to locate credentials" in done.stderr
    assert "AWS_PROFILE" in done.stderr


def test_an_unknown_command_explains_itself() -> None:
    done = deploy({"PATH": os.environ["PATH"]}, "undeploy")
    assert done.returncode == 2
    assert "deploy|destroy" in done.stderr
