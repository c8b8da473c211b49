"""slurm.conf: read as Slurm reads it, edited in one word at most."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurm_topology.agent.client_conf import client_conf_lines
from slurm_topology.agent.slurm_conf import read_slurm_conf, with_topology_plugin, without_topology_plugin
from slurm_topology.core.errors import InputError

CONF = """\
# a comment with TopologyPlugin=topology/none
ClusterName=c1 SlurmctldHost=controller
topologyplugin = "topology/tree"   # ours
include nodes.conf
NodeName=DEFAULT CPUs=8
NodeName=n[1-3] NodeAddr=10.0.0.[1-3] \\
    CPUs=4
PartitionName=DEFAULT Topology=flat
PartitionName=a Nodes=ALL
PartitionName=b Nodes=n[1-2],m1 Topology=tree
PartitionName=c Nodes=everything
"""
FILES = {
    "/etc/slurm/slurm.conf": CONF,
    "/etc/slurm/nodes.conf": "NodeName=m1 NodeHostname=host1\nInclude /srv/more.conf\n",
    "/srv/more.conf": "NodeName=m2\nInclude /srv/more.conf\n",
}


def test_reads_pairs_includes_continuations_and_defaults() -> None:
    conf = read_slurm_conf("/etc/slurm/slurm.conf", FILES.get)
    assert conf.topology_plugin == "topology/tree"
    assert conf.plugin_file == "/etc/slurm/slurm.conf"
    assert conf.value("CLUSTERNAME") == "c1"
    assert {node.name: node.address for node in conf.nodes if node.name != "m2"} == {
        "n1": "10.0.0.1",
        "n2": "10.0.0.2",
        "n3": "10.0.0.3",
        "m1": "host1",
    }
    assert {each.name: each.topology for each in conf.partitions} == {"a": "flat", "b": "tree", "c": "flat"}
    assert conf.partition_topologies == ("flat", "tree")
    partitions = {each.name: each.nodes for each in conf.partitions}
    assert partitions["b"] == ("n1", "n2", "m1")
    assert partitions["c"] is None, "a node set: only Slurm can tell"


def test_a_loop_of_includes_ends() -> None:
    assert len(read_slurm_conf("/srv/more.conf", FILES.get).nodes) < 20


def test_what_cannot_be_read_is_named_and_the_rest_counts() -> None:
    text = "NodeName=a[1-2]\nNodeName=b[1- NodeAddr=10.0.0.9\nInclude gone.conf\nInclude /srv/more.conf\n"
    files = {"/e/slurm.conf": text, "/srv/more.conf": "Include /srv/more.conf\n"}
    conf = read_slurm_conf("/e/slurm.conf", files.get)
    assert [node.name for node in conf.nodes] == ["a1", "a2"]
    gone, deep, names = conf.unread
    assert gone == "/e/gone.conf, which /e/slurm.conf includes, isn't there"
    assert "levels deep" in deep
    assert names.startswith("NodeName=b[1- in /e/slurm.conf: ")
    assert not conf.tells_all_nodes


@pytest.mark.parametrize("text", ["", "ClusterName=x\n"])
def test_without_any_node_line_the_nodes_are_not_told(text: str) -> None:
    """All of them are dynamic, or configless clients; or the file is being written."""
    conf = read_slurm_conf("/e/slurm.conf", lambda _: text)
    assert conf.unread == ()
    assert not conf.tells_all_nodes


def test_no_file_is_an_error_that_names_it() -> None:
    with pytest.raises(InputError, match=r"/nowhere/slurm\.conf isn't there"):
        read_slurm_conf("/nowhere/slurm.conf", FILES.get)


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        ("TopologyPlugin=topology/tree\n", "TopologyPlugin=topology/block\n"),
        ("  topologyPLUGIN = topology/tree # why\nA=b\n", "  topologyPLUGIN = topology/block # why\nA=b\n"),
        ('A=b TopologyPlugin="topology/tree" C=d\r\n', "A=b TopologyPlugin=topology/block C=d\r\n"),
        ("TopologyPlugin=x\n#\nTopologyPlugin=y\n", "TopologyPlugin=x\n#\nTopologyPlugin=topology/block\n"),
        ("A=b", "A=b\nTopologyPlugin=topology/block\n"),
        ("#TopologyPlugin=x\n", "#TopologyPlugin=x\nTopologyPlugin=topology/block\n"),
        ("", "TopologyPlugin=topology/block\n"),
    ],
)
def test_the_plugin_is_set_in_place_and_every_other_byte_stays(text: str, edited: str) -> None:
    assert with_topology_plugin(text, "topology/block") == edited


LINES = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), max_size=30
)


@given(st.lists(LINES, max_size=8), st.sampled_from(["topology/tree", "topology/flat"]))
def test_setting_twice_is_setting_once_and_removing_undoes_appending(lines: list[str], plugin: str) -> None:
    text = "".join(f"{line}\n" for line in lines)
    once = with_topology_plugin(text, plugin)
    assert with_topology_plugin(once, plugin) == once
    if len(once) > len(text) and once.startswith(text):
        assert without_topology_plugin(once) == text


def test_clients_get_everything_but_nodes_and_partitions() -> None:
    """SlurmctldHost, authentication, the plugin: a command needs them to reach slurmctld and to read its answers."""
    lines = list(client_conf_lines(read_slurm_conf("/etc/slurm/slurm.conf", FILES.get)))
    assert lines == ["clustername=c1 slurmctldhost=controller", "topologyplugin=topology/tree"]
