"""What `scontrol show topology` prints of odd files that slurmctld takes is read as what the file means.

Lists come back as they were written (on 24.11 those of nodes, too), so a file of somebody else's in its own style must
not look as if Slurm ran with another topology: the agent would publish again, or tell so, for ever.
"""

from __future__ import annotations

import pytest

from slurm_lab import Judge
from slurm_topology.agent.readback import agrees, read_topology
from slurm_topology.core import parse_conf
from slurm_topology.core.model import Block, Blocks, Switch, Tree

pytestmark = pytest.mark.slurm

NODES = tuple(f"n{number}" for number in range(1, 7))
TREE = Tree((Switch("s1", (), NODES[:3]), Switch("s2", (), NODES[3:]), Switch("top", ("s1", "s2"))))
LEAVES = "SwitchName=s1 Nodes=n[1-3]\nSwitchName=s2 Nodes=n[4-6]\n"
TREES = {
    "plain": f"{LEAVES}SwitchName=top Switches=s1,s2\n",
    "children with a blank": f'{LEAVES}SwitchName=top Switches="s1, s2"\n',
    "children with a tab": f'{LEAVES}SwitchName=top Switches="s1,\ts2"\n',
    "blanks around": f'{LEAVES}SwitchName=top Switches=" s1,s2 "\n',
    "nodes with blanks": 'SwitchName=s1 Nodes="n1, n2,n3"\nSwitchName=s2 Nodes="n[4-5] ,n6"\n'
    "SwitchName=top Switches=s[1-2]\n",
    "blanks for commas": 'SwitchName=s1 Nodes="n1 n2 n3"\nSwitchName=s2 Nodes="n[4-5] n6"\n'
    'SwitchName=top Switches="s1 s2"\n',
    "a speed": f'{LEAVES}SwitchName=top LinkSpeed=7 Switches="s1, s2"\n',
}
BLOCKS = {
    "blocks with blanks": 'BlockName=b1 Nodes="n1, n2,n3"\nBlockName=b2 Nodes="n4,n5 ,n6"\nBlockSizes=3\n',
}


@pytest.mark.parametrize("text", (TREES | BLOCKS).values(), ids=(TREES | BLOCKS).keys())
def test_an_odd_list_is_read_as_it_is_meant(judge: Judge, text: str) -> None:
    verdict = judge.judge(text, "topology.conf", NODES, show=True)
    assert verdict.accepted, verdict.reasons
    seen = read_topology(verdict.topology_shown)
    assert agrees(parse_conf.parse(text).topology, seen), verdict.topology_shown
    (body,) = (each.body for each in seen.topologies)
    if isinstance(body, Tree):
        assert sorted(body.switches) == sorted(TREE.switches)
    else:
        assert body == Blocks((3,), (Block("b1", NODES[:3]), Block("b2", NODES[3:])))


def test_a_name_with_a_blank_is_read_whole(judge: Judge) -> None:
    verdict = judge.judge('SwitchName="s 1" Nodes=n[1-6]\n', "topology.conf", NODES, show=True)
    assert verdict.accepted, verdict.reasons
    (body,) = (each.body for each in read_topology(verdict.topology_shown).topologies)
    assert body == Tree((Switch("s 1", (), NODES),))
