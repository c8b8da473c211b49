"""Faults of deployments: custom resources, grants, and scripts that run on nodes."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from aws_lambda.lab import Lab, group
from cdk.apps import INITIAL, PLAN, ROOT, S3_PREFIX_LIST, new_cluster, new_stack, properties_of, template_of
from hyperpod_slurm import _assets

SCRIPTS = ROOT / "lifecycle_scripts"


# ---- custom resources


def test_new_code_of_the_handler_makes_all_resources_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """CloudFormation calls an unchanged custom resource never again: a mended handler would mend nothing."""

    def fingerprints() -> list[Any]:
        stack = new_stack()
        new_cluster(stack)
        return [properties_of(stack, kind)["Fingerprint"] for kind in (PLAN, INITIAL, S3_PREFIX_LIST)]

    before = fingerprints()
    assert fingerprints() == before
    built = _assets.build_handler()
    monkeypatch.setattr(_assets, "build_handler", lambda: built._replace(content_hash="0" * 64))
    assert not set(fingerprints()) & set(before)


@pytest.mark.parametrize("kind", ["Create", "Update", "Delete"])
def test_a_failed_custom_resource_keeps_its_physical_id_so_that_it_can_be_deleted(kind: str) -> None:
    """One that invents a new id when it fails makes CloudFormation delete a resource that never was, and the stack
    hangs in DELETE_FAILED."""
    good, broken = Lab(), Lab(groups=[group("gpu", "ml.p5.48xlarge", 4, Role="Nonsense")])
    answer = broken.plan(kind)
    assert answer["Status"] == ("SUCCESS" if kind == "Delete" else "FAILED")
    assert answer["PhysicalResourceId"] == good.plan()["PhysicalResourceId"]


@pytest.mark.parametrize("kind", ["Create", "Update", "Delete"])
def test_files_of_others_in_the_lifecycle_bucket_stay(kind: str) -> None:
    """BucketDeployment's prune deletes what it doesn't know: other clusters' files, and users' own."""
    lab = Lab()
    others: dict[tuple[str, str], tuple[bytes, dict[str, str]]] = {
        ("sagemaker-lifecycle", key): (b"x", {}) for key in ("own.sh", "hyperpod-slurm/c8/0000/agent.zip")
    }
    lab.s3.objects.update(others)
    lab.plan()
    lab.plan(kind, LifecyclePrefix="hyperpod-slurm/c8/4567")
    assert others.items() <= lab.s3.objects.items()
    assert ("sagemaker-lifecycle", "hyperpod-slurm/c8/0123/agent.zip") in lab.s3.objects, "a roll-back needs it"


# ---- grants


def test_no_role_may_touch_every_sagemaker_bucket() -> None:
    """Others grant s3:* on arn:aws:s3:::sagemaker-*: the data of every team of the account."""
    stack = new_stack()
    new_cluster(stack)
    statements = [
        statement
        for resource in template_of(stack)["Resources"].values()
        if resource["Type"] in ("AWS::IAM::Policy", "AWS::IAM::Role", "AWS::IAM::ManagedPolicy")
        for statement in resource["Properties"].get("PolicyDocument", {}).get("Statement", [])
    ]
    assert len(statements) > 5
    about_s3 = [statement for statement in statements if "s3:" in str(statement["Action"])]
    assert about_s3
    for statement in about_s3:
        assert "s3:*" not in str(statement["Action"])
        assert "sagemaker-*" not in str(statement["Resource"])
        assert statement["Resource"] != "*"


# ---- on the node


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A node bundle as HyperPod stages it, whose agent can't be installed."""
    return staged(tmp_path / "staged")


def staged(folder: Path, extension: Path | None = None, script: str | None = None) -> Path:
    """The bundle that the library makes, copied to a node; its agent can't be installed."""
    with zipfile.ZipFile(_assets.build_bundle(extension, script).path) as archive:
        archive.extractall(folder)
    (folder / "agent.zip").write_bytes(b"this is no zip")
    return folder


@pytest.fixture
def team(tmp_path: Path) -> Path:
    """A team's own scripts, which leave a mark when they run; names as people give them."""
    folder = tmp_path / "team"
    (folder / "lib").mkdir(parents=True)
    (folder / "mine.sh").write_text('. "./lib/préparer les nœuds.sh"\ntouch "$MARK"\n')
    for name in ("préparer les nœuds.sh", 'with "quotes" and \\.sh', "空.txt", "\N{ROCKET} .sh"):
        (folder / "lib" / name).write_text(f"# {name}\n")
    return folder


def run(bundle: Path, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    chosen = {"PATH": "/usr/bin:/bin", "SLURM_TOPOLOGY_INSTALL_LOG": str(bundle / "log"), **environment}
    return subprocess.run(
        ["bash", str(bundle / script)], env=chosen, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("script", ["on_init_complete.sh", "on_create.sh"])
def test_an_agent_that_cannot_be_installed_does_not_fail_the_node(bundle: Path, script: str) -> None:
    """HyperPod takes a node whose lifecycle script fails for broken, replaces it, and fails again."""
    done = run(bundle, script)
    assert done.returncode == 0, done.stderr
    assert "the node goes on without it" in done.stdout


def test_a_log_that_cannot_be_written_does_not_fail_the_node(bundle: Path) -> None:
    assert run(bundle, "on_init_complete.sh", SLURM_TOPOLOGY_INSTALL_LOG="/proc/nowhere/log").returncode == 0


def test_a_script_of_the_users_that_fails_does_fail_the_node(tmp_path: Path, team: Path) -> None:
    """It is their script: its failure is theirs to see, and not hidden behind the agent's success."""
    (team / "mine.sh").write_text("exit 7\n")
    assert run(staged(tmp_path / "staged", team, "mine.sh"), "on_init_complete.sh").returncode == 7


ENTRY_POINTS = ("on_init_complete.sh", "on_create.sh")
LOCALES: tuple[dict[str, str], ...] = ({}, {"LC_ALL": "C"}, {"LC_ALL": "C.UTF-8"})


@pytest.mark.parametrize("locale", LOCALES, ids=str)
def test_a_whole_copy_runs_the_users_script_whatever_its_files_are_called(
    tmp_path: Path, team: Path, locale: dict[str, str]
) -> None:
    """JSON escapes some names; what is read by a shell has to be read back."""
    bundle, mark = staged(tmp_path / "staged", team, "mine.sh"), tmp_path / "ran"
    done = run(bundle, "on_create.sh", MARK=str(mark), **locale)
    assert done.returncode == 0, done.stdout + done.stderr
    assert mark.exists()


@pytest.mark.parametrize("fault", ["missing", "empty", "cut off", "another"])
def test_a_copy_that_is_not_whole_fails_the_node(tmp_path: Path, team: Path, fault: str) -> None:
    """Each file in turn, but the agent's: a node without the team's setup would take jobs as if it were ready."""
    whole = staged(tmp_path / "staged", team, "mine.sh")
    files = [path.relative_to(whole) for path in whole.rglob("*") if path.is_file() and path.suffix != ".zip"]
    files = [file for file in files if file.name not in ENTRY_POINTS]
    assert len(files) == 6
    for number, file in enumerate(files):
        broken = shutil.copytree(whole, tmp_path / str(number))
        content = (broken / file).read_bytes()
        if fault == "missing":
            (broken / file).unlink()
        else:
            changed = {"empty": b"", "cut off": content[: len(content) // 2], "another": b"exit 0\n"}
            (broken / file).write_bytes(changed[fault])
        done = run(broken, "on_create.sh", MARK=str(broken / "ran"))
        assert (done.returncode, (broken / "ran").exists()) == (1, False), file
        assert "isn't whole" in done.stdout
        assert file.name in done.stdout


def test_a_manifest_that_is_cut_off_anywhere_fails_the_node(bundle: Path) -> None:
    """Whoever has no scripts of their own can't be told from one whose manifest doesn't get as far as to say so."""
    content = (bundle / "manifest.json").read_text()
    total = content.count("\n")
    for lines in (0, 1, 2, total // 2, total - 1):
        (bundle / "manifest.json").write_text("".join(content.splitlines(keepends=True)[:lines]))
        assert run(bundle, "on_init_complete.sh").returncode == 1, lines


def test_nodes_fetch_no_code_while_they_are_set_up() -> None:
    """A git branch that moves, or a registry that is down, makes another cluster than the one that was tested."""
    scripts = [path for path in sorted(SCRIPTS.rglob("*")) if path.suffix in (".sh", ".service")]
    fetching = re.compile(r"\b(git|curl|wget|pip3?|apt|apt-get|yum|dnf|aws|http|https)\b")
    assert len(scripts) >= 3
    assert [path.name for path in scripts if fetching.search(_commands(path))] == []
    imported = set().union(*(_imports(SCRIPTS / "slurm_topology" / part) for part in ("core", "view", "agent", "cli")))
    assert "subprocess" in imported, "the look at the imports sees something"
    assert imported & {"urllib", "http", "ftplib", "requests", "pip", "ssl"} == set()


def _commands(path: Path) -> str:
    """A script without its comments."""
    return "\n".join(line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))


def _imports(folder: Path) -> set[str]:
    """First names of all modules that are imported below a folder."""
    nodes = (node for path in folder.rglob("*.py") for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
    return found
