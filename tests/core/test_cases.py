"""Every cluster of tests/cases gets the file that is beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cluster_cases import CASES, VERSIONS, Case, content
from slurm_topology.core import inventory, read_instance_topology
from slurm_topology.core.compare import diff, same_meaning
from slurm_topology.core.difference import Difference
from slurm_topology.core.model import Blocks, Tree
from slurm_topology.core.parse_conf import parse as parse_conf
from slurm_topology.core.parse_yaml import parse as parse_yaml
from slurm_topology.core.pipeline import compute
from slurm_topology.core.slurm_version import SlurmVersion

FOLDER = Path(__file__).parents[1] / "cases"
EC2 = sorted((FOLDER / "ec2").glob("*.ec2.json"))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_expected_file_is_written(case: Case, version: str, tmp_path: Path) -> None:
    assert case.sources
    assert case.render(version, tmp_path)[0] == 0
    assert content(tmp_path) == case.expected(version)


def test_there_are_cases() -> None:
    """A mistyped folder would make all of the above pass by testing nothing."""
    assert len([case for case in CASES if case.name.startswith("hyperpod/")]) >= 11
    assert len([case for case in CASES if case.name.startswith("clusters/")]) >= 8
    assert len(EC2) == 3


@pytest.mark.parametrize("path", EC2, ids=lambda path: path.name)
@pytest.mark.parametrize("version", VERSIONS)
def test_ec2_answers_give_the_expected_trees(path: Path, version: str) -> None:
    """Up to the names of switches, and to collapse without loss."""
    source = read_instance_topology.read(json.loads(path.read_text()))
    merged, findings = inventory.build(instance_topology=source)
    rendering = compute(merged, SlurmVersion.parse(version))
    expected = parse_conf(path.with_name(path.name.replace(".ec2.json", ".tree.conf")).read_text()).topology
    body = rendering.topology.topologies[0].body
    assert isinstance(body, Tree)
    assert same_meaning(expected, rendering.topology)
    assert (findings, rendering.findings) == ((), ())


def change(before: str, after: str, version: str) -> Difference:
    """What changes between two cases of tests/cases/hyperpod."""
    parse, name = (parse_conf, "topology.conf") if version == "24.11" else (parse_yaml, "topology.yaml")
    folders = [FOLDER / "hyperpod" / "expected" / case / version for case in (before, after)]
    one, other = (parse((folder / name).read_text()).topology for folder in folders)
    return diff(one, other)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_replaced_node_is_the_only_one_that_moves(version: str) -> None:
    difference = change("p5-16", "p5-16.after", version)
    (only,) = difference.topologies
    assert [moved.subject for moved in only.changes.moved] == ["ip-10-1-0-109"]
    assert (only.changes.added, only.changes.lost) == ((), ())


@pytest.mark.parametrize("version", VERSIONS)
def test_a_scale_up_moves_nobody(version: str) -> None:
    (only,) = change("p5-scale-up", "p5-scale-up.after", version).topologies
    assert only.changes.moved == ()
    assert len(only.changes.added) == 6
    assert only.changes.lost == ()


def test_spares_shrink_the_blocks_of_both_versions() -> None:
    for version, parse, name in (("24.11", parse_conf, "topology.conf"), ("25.11", parse_yaml, "topology.yaml")):
        text = (FOLDER / "hyperpod" / "expected" / "gb200-with-spares" / version / name).read_text()
        body = parse(text).topology.topologies[0].body
        assert isinstance(body, Blocks)
        assert body.block_sizes == (17,)
