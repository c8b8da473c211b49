"""Faults that one Slurm version has and another hasn't."""

from __future__ import annotations

import pytest

from core.clusters import blocks_of, gb200, inventory, ultra_cluster
from slurm_topology.agent.readback import Exempt, agrees
from slurm_topology.core.errors import InputError
from slurm_topology.core.model import Blocks, ClusterTopology, Flat, NamedTopology
from slurm_topology.core.pipeline import compute
from slurm_topology.core.slurm_version import SlurmVersion

SERIES = ("24.05", "24.11", "25.05", "25.11", "26.05")


@pytest.mark.parametrize("text", ["slurm 22.05.8", "slurm 23.11.10", "23.02"])
def test_an_older_slurm_with_another_block_syntax_is_refused(text: str) -> None:
    """22.05 has no block plugin, 23.11 wants BlockLevels instead of BlockSizes, and both die of our files."""
    with pytest.raises(InputError, match=r"is not supported.*24\.05"):
        SlurmVersion.parse(text)


@pytest.mark.parametrize("series", SERIES)
def test_the_flat_plugin_has_the_name_that_this_slurm_knows(series: str) -> None:
    """topology/flat is fatal before 25.05, where topology/default was its name."""
    rendering = compute(inventory([], []), SlurmVersion.parse(series))
    assert rendering.plugin == ("topology/default" if series < "25.05" else "topology/flat")


def test_powered_down_nodes_that_slurm_25_11_0_drops_from_its_blocks_are_no_disagreement() -> None:
    """Up to 25.11.2 they are back at the next reconfigure: to reconfigure for them would be to do it for ever."""
    rendering = compute(inventory(ultra_cluster(us1=4, us2=4), [gb200(ultraserver_instances=18)]), SlurmVersion(25, 11))
    sizes, blocks = blocks_of(rendering.topology)
    without_one = Blocks(sizes, (blocks[0]._replace(nodes=blocks[0].nodes[1:]), *blocks[1:]))
    shown = ClusterTopology((NamedTopology("block", without_one, True),))
    asleep = blocks[0].nodes[0]
    assert agrees(rendering.topology, shown, Exempt(absent={asleep}))
    assert not agrees(rendering.topology, shown), "a node that is awake must be there"
    assert not agrees(rendering.topology, shown, Exempt(absent={blocks[1].nodes[0]}))


def test_every_series_has_a_flat_topology_that_it_can_be_given() -> None:
    """The way out of every trouble: nothing to write before 25.05, a yaml from then on, never an empty file."""
    for series in SERIES:
        rendering = compute(inventory([], []), SlurmVersion.parse(series))
        assert [type(entry.body) for entry in rendering.topology.topologies] == [Flat]
        assert (rendering.text is None) == (series < "25.05")
        assert rendering.text is None or "flat" in rendering.text
