"""The documentation: commands marked ``<!-- run -->`` print what the page says, generated pages are current, the site
builds and asks nobody for anything."""

from __future__ import annotations

import importlib.util
import py_compile
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from slurm_topology.cli.main import run
from slurm_topology.core import inventory, pipeline, read_resource_config
from slurm_topology.core.slurm_version import SlurmVersion

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^<!-- run -->\n```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Step(NamedTuple):
    """A command, and the lines that the page shows below it."""

    command: str
    shown: list[str]


def steps(text: str) -> list[Step]:
    found: list[Step] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append(Step(line[2:], []))
        else:
            found[-1].shown.append(line)
    return found


def marked_blocks() -> Iterator[tuple[str, list[Step]]]:
    for path in sorted(DOCS.rglob("*.md")):
        for number, block in enumerate(BLOCK.findall(path.read_text()), 1):
            yield f"{path.relative_to(DOCS)}:{number}", steps(block)


MARKED = dict(marked_blocks())


@pytest.mark.parametrize("place", MARKED)
def test_commands_print_what_the_page_says(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``…`` on a page stands for anything, a line of its own for any lines."""
    (tmp_path / "docs").symlink_to(DOCS)
    (tmp_path / "cdk.out").symlink_to(DOCS / "example")  # a template, as cdk synth leaves it there
    monkeypatch.chdir(tmp_path)
    for step in MARKED[place]:
        program, *words = shlex.split(step.command)
        assert program == "slurm-topology", f"{place}: only slurm-topology is run, got {step.command}"
        assert run(words) == 0, f"{place}: {step.command}\n{capsys.readouterr().err}"
        printed = capsys.readouterr().out
        assert matches(step.shown, printed), (
            f"{place}: {step.command} printed\n{printed}\nand the page shows\n" + "\n".join(step.shown)
        )


def matches(shown: list[str], printed: str) -> bool:
    lines = (
        r"(?:\n[^\n]*)*?" if line == "…" else "\n" + r"[^\n]*?".join(map(re.escape, line.split("…"))) for line in shown
    )
    text = "".join(f"\n{line.rstrip()}" for line in printed.rstrip().splitlines())
    return re.fullmatch("".join(lines), text) is not None


def test_matching_is_strict_where_nothing_is_left_out() -> None:
    assert matches(["a", "…", "d"], "a\nb\nc\nd\n")
    assert matches(["a", "…"], "a\n")
    assert matches(["…"], "a\n")
    assert matches(["since …: x"], "since 2026: x")
    assert not matches(["a"], "a\nb")
    assert not matches(["a", "…", "d"], "a\nb\nc")


def test_several_pages_have_commands_that_run() -> None:
    assert len({place.partition(":")[0] for place in MARKED}) >= 4


# ---- generated pages


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.mark.parametrize(("maker", "page"), [("commands", "commands.md"), ("metrics", "metrics.md")])
def test_generated_pages_are_current(maker: str, page: str) -> None:
    """`make docs` writes them anew."""
    made = "\n".join(getattr(module("make_commands"), maker)())
    assert (DOCS / "reference" / page).read_text() == made


def test_pictures_of_the_concepts_are_current(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = module("make_pictures")
    monkeypatch.setattr(pictures, "IMAGES", tmp_path)
    pictures.main()
    for path in sorted(tmp_path.iterdir()):
        assert (DOCS / "images" / path.name).read_text() == path.read_text()


def test_the_doctors_checks_are_all_explained() -> None:
    page = (DOCS / "reference" / "doctor.md").read_text()
    assert re.findall(r"^\| (DOC\d+) \|", page, re.MULTILINE) == module("make_commands").doctor_ids()


EIGHT = ("c1 s1 l1", "c1 s1 l1", "c1 s1 l2", "c1 s1 l2", "c1 s2 l3", "c1 s2 l3", "c1 s1", "")


@pytest.mark.parametrize("version", ["24.11.5", "25.11.4"])
def test_the_tree_on_the_topology_page_is_the_one_that_is_written(version: str) -> None:
    instances = [
        {
            "InstanceName": f"train-{number}",
            "CustomerIpAddress": f"10.1.0.{number}",
            "InstanceId": f"i-{number}",
            "InstanceLabel": {f"network-node-layer-{layer}": node for layer, node in enumerate(path.split(), 1)},
        }
        for number, path in enumerate(EIGHT, 1)
    ]
    group = {"Name": "train", "InstanceType": "ml.p5.48xlarge", "Instances": instances}
    nodes, _ = inventory.build(resource_config=read_resource_config.read({"InstanceGroups": [group]}))
    text = pipeline.compute(nodes, SlurmVersion.parse(version)).text
    assert text is not None
    written = [line for line in text.splitlines() if not line.startswith("#")]
    page = (DOCS / "topology.md").read_text()
    if version < "25":
        shown = re.findall(r"SwitchName=\S+ \S+=\S+", page)
        assert set(shown[:5]) <= set(written), written
    else:
        assert "\n".join(written) + "\n" == page.partition("```yaml\n")[2].partition("```")[0]


# ---- the site


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly: a broken link is an error."""
    folder = tmp_path_factory.mktemp("site")
    py_compile.compile(str(DOCS / "make_commands.py"))  # as `make docs` leaves it: a __pycache__ beside the pages
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_site_builds_without_a_broken_link(site: Path) -> None:
    assert (site / "index.html").exists()
    assert (site / "how-to" / "explain.html").exists()


def test_the_site_holds_nothing_that_only_makes_it(site: Path) -> None:
    """Whatever lies in docs/ beside the pages: programs, what Python leaves of them, the example's files."""
    suffixes = {path.suffix for path in site.rglob("*") if path.is_file()}
    assert suffixes.isdisjoint({".py", ".pyc", ".conf", ".txt", ".yaml"})
    assert not (site / "example").exists()
    assert list(site.rglob("__pycache__")) == []


def test_the_site_asks_nobody_for_anything(site: Path) -> None:
    """Scripts, styles, images and frames come from the site itself; only links lead away."""
    loads = re.compile(
        r'<(?:script|img|iframe|source)\b[^>]*\bsrc="([^"]+)"|<link\b[^>]*\brel="(?:stylesheet|preconnect|icon)"[^>]*\bhref="([^"]+)"'
    )
    for path in site.rglob("*.html"):
        loaded = [one or other for one, other in loads.findall(path.read_text())]
        assert [address for address in loaded if re.match(r"(?:https?:)?//", address)] == [], path.name
