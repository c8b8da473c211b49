"""`slurm-topology rehearse FILE` vouches only for a file that slurmctld has read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent.agent_lab import AgentLab
from slurm_lab import Level

pytestmark = pytest.mark.slurm
Make = Callable[..., AgentLab]

BAD_TREE = "SwitchName=x Switches=nowhere\n"
GARBAGE = "utter garbage\n"


def test_a_file_is_judged_by_who_reads_it_or_not_at_all(make_agent_lab: Make, slurm_version: str) -> None:
    """slurm.conf names the flat plugin, with which slurmctld reads no topology.conf, and starts whatever is in it."""
    lab = make_agent_lab(slurm_version, level=Level.CONTROLLER, nodes=4)
    names = ",".join(node.name for node in lab.lab.nodes)
    good_tree, good_blocks = f"SwitchName=s Nodes={names}\n", f"BlockName=b Nodes={names}\nBlockSizes=4\n"

    def rehearse(text: str, *options: str, name: str = "topology.conf") -> tuple[int, str]:
        lab.lab.box.write_text(f"/tmp/{name}", text)
        done = lab.run("rehearse", f"/tmp/{name}", *options)
        return done.returncode, done.stdout + done.stderr

    before = lab.conf_files()
    for text, status, words in (
        (good_tree, 0, "note: tried with TopologyPlugin=topology/tree; slurm.conf has"),
        (good_blocks, 0, "note: tried with TopologyPlugin=topology/block"),
        (BAD_TREE, 1, "would not start"),
        (good_blocks + GARBAGE, 1, "would not start"),
        (GARBAGE, 2, "neither SwitchName nor BlockName lines"),
        (good_tree + good_blocks, 2, "both SwitchName and BlockName lines"),
    ):
        got, said = rehearse(text)
        assert (got, words in said) == (status, True), said
    assert rehearse(GARBAGE, "--plugin", "topology/tree")[0] == 1
    status, said = rehearse(BAD_TREE, "--plugin", "topology/flat")
    assert (status, "doesn't read a topology.conf" in said) == (2, True), said
    status, said = rehearse("[]\n", name="topology.yaml")
    assert status == (2 if slurm_version == "24.11" else 1), said
    assert lab.conf_files() == before
