"""The judge says what slurmctld says: yes, no and why, and what it warns of."""

from __future__ import annotations

import pytest

import slurm_lab
from slurm_lab import Judge, Partition, Root

pytestmark = pytest.mark.slurm
NODES = [f"n{number}" for number in range(8)]
LEAF = "SwitchName=leaf Nodes=n[0-7]\n"


def test_a_good_tree_is_accepted_and_shown(judge: Judge) -> None:
    verdict = judge.judge(LEAF, "topology.conf", NODES, show=True)
    assert verdict.accepted
    assert verdict.reasons == ()
    assert "SwitchName=leaf Level=0" in verdict.topology_shown
    assert "Nodes=n[0-7]" in verdict.topology_shown


def test_a_refusal_gives_the_reason_in_slurms_words(judge: Judge) -> None:
    verdict = judge.judge(LEAF + "SwitchName=root Switches=leaf,none\n", "topology.conf", NODES)
    assert not verdict.accepted
    assert verdict.reasons == ("fatal: Switch configuration root has invalid child (none)",)


def test_a_warning_is_a_note(judge: Judge) -> None:
    verdict = judge.judge("BlockName=b Nodes=n[0-6]\nBlockSizes=4\n", "topology.conf", NODES)
    assert verdict.accepted
    assert [note for note in verdict.notes if "lack access to 1 nodes: n7" in note]


def test_the_plugin_and_more_lines_can_be_given(judge: Judge) -> None:
    verdict = judge.judge(LEAF, "topology.conf", NODES, conf="SelectType=select/linear\nSelectTypeParameters=\n")
    assert not verdict.accepted
    block = "BlockName=b Nodes=n[0-7]\n"
    assert judge.judge(block, "topology.conf", NODES).accepted
    assert not judge.judge(block, "topology.conf", NODES, plugin="topology/tree").accepted


def test_one_case_leaves_nothing_to_the_next(judge: Judge) -> None:
    assert not judge.judge("SwitchName=root Switches=none\n", "topology.conf", NODES).accepted
    assert judge.judge(LEAF, "topology.conf", NODES).accepted
    assert not judge.judge("SwitchName=root Switches=leaf\n", "topology.conf", NODES).accepted


def test_a_crash_is_a_reason(judge_26_05: Judge) -> None:
    """An empty list as topology.yaml kills slurmctld with a signal, on a HyperPod controller in a loop."""
    verdict = judge_26_05.judge("[]\n", "topology.yaml", NODES)
    assert not verdict.accepted
    assert verdict.reasons == ("slurmctld crashed with SIGSEGV",)


def test_a_partition_needs_its_topology(judge_26_05: Judge) -> None:
    text = '- topology: t\n  cluster_default: true\n  tree: {switches: [{switch: s, nodes: "n[0-7]"}]}\n'
    good, bad = (Partition("p", topology=name, default=True) for name in ("t", "nowhere"))
    assert judge_26_05.judge(text, "topology.yaml", NODES, [good]).accepted
    refused = judge_26_05.judge(text, "topology.yaml", NODES, [bad])
    assert not refused.accepted
    assert refused.reasons[0] == "error: Invalid partition topology"


def test_a_judge_can_be_had_without_fixtures(slurm_root: Root) -> None:
    """`make local` and benchmarks have no pytest."""
    assert slurm_lab.judge(slurm_root.version, LEAF, "topology.conf", NODES).accepted
