"""The way from one state of the configuration folder to another: safe at each step."""

from __future__ import annotations

import itertools

import pytest

from slurm_topology.agent.disk import DiskState, flat_like, steps_between
from slurm_topology.agent.recover import way_back
from slurm_topology.core.slurm_version import SlurmVersion

OLD, NEW = SlurmVersion(24, 11, 0), SlurmVersion(25, 11, 4)
TREE, BLOCKS, OTHER_TREE = "SwitchName=a Nodes=n1\n", "BlockName=a Nodes=n1\n", "SwitchName=b Nodes=n1\n"
# what slurmctld 24.11 starts with: any file while no plugin reads it, else a file of the plugin's kind
GOOD_OLD = [
    *(DiskState(conf, None, plugin) for conf in (None, TREE, BLOCKS) for plugin in (None, "topology/default")),
    DiskState(TREE, None, "topology/tree"),
    DiskState(OTHER_TREE, None, "topology/tree"),
    DiskState(BLOCKS, None, "topology/block"),
]
GOOD_NEW = [
    *(DiskState(conf, yaml, "topology/flat") for conf in (None, TREE) for yaml in (None, "- a\n", "- b\n")),
    DiskState(TREE, None, "topology/tree"),
    DiskState(TREE, "- a\n", "topology/tree"),
    DiskState(None, "- a\n", "topology/tree"),  # the yaml beats the plugin that has no file
]


def starts(state: DiskState, version: SlurmVersion) -> bool:
    """What is known of slurmctld (facts tried on real ones; the kill test tries these very ways again)."""
    if version.has_topology_yaml and state.yaml is not None:
        return True
    if flat_like(state.plugin):
        return True
    kind = "SwitchName" if state.plugin == "topology/tree" else "BlockName"
    return state.conf is not None and state.conf.startswith(kind)


@pytest.mark.parametrize(("states", "version"), [(GOOD_OLD, OLD), (GOOD_NEW, NEW)], ids=["24.11", "25.11"])
def test_slurmctld_starts_in_every_state_on_the_way(states: list[DiskState], version: SlurmVersion) -> None:
    for now, wanted in itertools.product(states, repeat=2):
        reached = now
        for step in steps_between(now, wanted, version):
            reached = step.after(reached)
            assert starts(reached, version), f"{now} → {wanted}: {reached}"
        assert reached == wanted


@pytest.mark.parametrize(("states", "version"), [(GOOD_OLD, OLD), (GOOD_NEW, NEW)], ids=["24.11", "25.11"])
def test_a_way_that_was_broken_off_leads_back(states: list[DiskState], version: SlurmVersion) -> None:
    """Unless it was gone to the end, or somebody else has written since."""
    for before, after in itertools.permutations(states, 2):
        found = before
        for step in steps_between(before, after, version):
            back = found
            for undo in way_back(found, before, after, version):
                back = undo.after(back)
            assert back == before
            found = step.after(found)
        assert way_back(after, before, after, version) == ()
        assert way_back(DiskState("somebody", "else", "has/written"), before, after, version) == ()


def test_a_change_of_plugin_goes_over_flat() -> None:
    steps = steps_between(DiskState(TREE, None, "topology/tree"), DiskState(BLOCKS, None, "topology/block"), OLD)
    assert [(step.what, step.text) for step in steps] == [
        ("TopologyPlugin", "topology/default"),
        ("topology.conf", BLOCKS),
        ("TopologyPlugin", "topology/block"),
    ]


def test_nothing_to_do_is_no_step() -> None:
    assert [steps_between(state, state, OLD) for state in GOOD_OLD] == [()] * len(GOOD_OLD)
