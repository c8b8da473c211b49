"""Whatever inventory comes: what the core renders for it, a real slurmctld takes and gives back."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

import strategies
from slurm_lab import Judge
from slurm_topology.core.model import ClusterTopology, Flat, Inventory, Tree
from slurm_topology.core.pipeline import compute
from slurm_topology.core.slurm_version import SlurmVersion

from .shown import shown

pytestmark = pytest.mark.slurm

SLURM = settings(
    max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def default_units(topology: ClusterTopology) -> set[tuple[str, tuple[str, ...], tuple[str, ...]]] | None:
    """Name, children and nodes of each switch or block of the default; None for flat."""
    body = next(entry.body for entry in topology.topologies if entry.cluster_default)
    if isinstance(body, Flat):
        return None
    return _units(body)


def _units(body: object) -> set[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    if isinstance(body, Tree):
        return {(switch.name, tuple(sorted(switch.children)), tuple(sorted(switch.nodes))) for switch in body.switches}
    return {(block.name, (), tuple(sorted(block.nodes))) for block in getattr(body, "blocks", ())}


def assert_taken(judge: Judge, inventory: Inventory, version: str) -> None:
    rendering = compute(inventory, SlurmVersion.parse(version))
    if rendering.text is None:
        return
    nodes = sorted({node.name for node in inventory.nodes}) or ["nobody"]
    verdict = judge.judge(rendering.text, rendering.file_name, nodes, show=True)
    assert verdict.accepted, (verdict.reasons, rendering.text)
    wanted = default_units(rendering.topology)
    if wanted is not None:
        assert _units(shown(verdict.topology_shown)) == wanted


@given(strategies.inventories())
@SLURM
def test_slurmctld_24_11_takes_the_rendering_of_any_inventory(judge_24_11: Judge, inventory: Inventory) -> None:
    assert_taken(judge_24_11, inventory, "24.11.5")


@given(strategies.inventories())
@SLURM
def test_slurmctld_26_05_takes_the_rendering_of_any_inventory(judge_26_05: Judge, inventory: Inventory) -> None:
    assert_taken(judge_26_05, inventory, "26.05.5")
