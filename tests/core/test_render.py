"""Both renderings: exact bytes, and that reading them back gives the same topology."""

from __future__ import annotations

import dataclasses
import random
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurm_topology.core import parse_conf, parse_yaml, render_conf, render_yaml
from slurm_topology.core.compare import same_meaning
from slurm_topology.core.errors import HostListError, InputError
from slurm_topology.core.model import Block, Blocks, ClusterTopology, Flat, NamedTopology, Switch, Tree
from slurm_topology.core.render_header import HEADER
from topology_strategies import PROPERTY, cluster_topologies, conf_topologies

Nodes = tuple[str, ...]

TREE = Tree(
    (
        Switch("nn-1", (), ("ip-10-0-0-2", "ip-10-0-0-1")),
        Switch("nn-2", (), ("ip-10-0-1-1", "n07", "n08")),
        Switch("root", ("nn-1", "nn-2")),
    )
)
BLOCKS = Blocks((18, 36), (Block("us-2", ("n1", "n2")), Block("us-1", ()), Block("us-3", ("n3",))))
ALL_KINDS = ClusterTopology(
    (NamedTopology("default", TREE, True), NamedTopology("gb200", BLOCKS), NamedTopology("cpu", Flat()))
)


def one(body: Tree | Blocks | Flat) -> ClusterTopology:
    return ClusterTopology((NamedTopology("", body, cluster_default=True),))


def test_tree_as_conf() -> None:
    assert render_conf.render(one(TREE)) == HEADER + (
        "SwitchName=nn-1 Nodes=ip-10-0-0-[1-2]\n"
        "SwitchName=nn-2 Nodes=ip-10-0-1-1,n[07-08]\n"
        "SwitchName=root Switches=nn-1,nn-2\n"
    )


def test_blocks_as_conf() -> None:
    """In their order; a block without nodes has no Nodes=, whose empty value would be a syntax error."""
    assert render_conf.render(one(BLOCKS)) == HEADER + (
        "BlockName=us-2 Nodes=n[1-2]\nBlockName=us-1\nBlockName=us-3 Nodes=n3\nBlockSizes=18,36\n"
    )


def test_yaml_quotes_every_scalar() -> None:
    assert render_yaml.render(ALL_KINDS) == HEADER + (
        '- topology: "default"\n'
        '  cluster_default: "true"\n'
        "  tree:\n"
        "    switches:\n"
        '      - switch: "nn-1"\n'
        '        nodes: "ip-10-0-0-[1-2]"\n'
        '      - switch: "nn-2"\n'
        '        nodes: "ip-10-0-1-1,n[07-08]"\n'
        '      - switch: "root"\n'
        '        children: "nn-1,nn-2"\n'
        '- topology: "gb200"\n'
        '  cluster_default: "false"\n'
        "  block:\n"
        '    block_sizes: ["18", "36"]\n'
        "    blocks:\n"
        '      - block: "us-2"\n'
        '        nodes: "n[1-2]"\n'
        '      - block: "us-1"\n'
        '      - block: "us-3"\n'
        '        nodes: "n3"\n'
        '- topology: "cpu"\n'
        '  cluster_default: "false"\n'
        '  flat: "true"\n'
    )


def test_the_header_says_who_writes_and_how_to_opt_out() -> None:
    assert all(line.startswith("# ") for line in HEADER.splitlines())
    assert "Managed by slurm-topology" in HEADER
    assert '{"mode": "observe"}' in HEADER


@pytest.mark.parametrize(
    "topology", [ClusterTopology(), one(Flat()), ALL_KINDS], ids=["nothing", "flat", "three topologies"]
)
def test_what_topology_conf_cannot_say_is_refused(topology: ClusterTopology) -> None:
    with pytest.raises(InputError, match="one tree or one set of blocks"):
        render_conf.render(topology)


@pytest.mark.parametrize("render", [render_conf.render, render_yaml.render])
def test_a_node_name_that_breaks_the_host_list_is_refused(render: Callable[[ClusterTopology], str]) -> None:
    with pytest.raises(HostListError):
        render(one(Tree((Switch("a", (), ("n1,n2",)),))))


@pytest.mark.parametrize("pages", [1, 2, 3])
def test_a_yaml_is_never_of_whole_pages(pages: int) -> None:
    """Slurm 25.05.8 and 25.11.4 die of a file of k·4096 bytes; the rendering is a line longer then."""

    def with_name(length: int) -> ClusterTopology:
        return ClusterTopology((NamedTopology("x" * length, Flat(), True),))

    shortest = len(render_yaml.render(with_name(1)).encode())
    fatal = with_name(pages * render_yaml.PAGE - shortest + 1)
    text = render_yaml.render(fatal)
    assert len(text.encode()) > pages * render_yaml.PAGE
    assert len(text.encode()) % render_yaml.PAGE != 0
    assert parse_yaml.parse(text).topology == fatal


@PROPERTY
@given(conf_topologies())
def test_conf_is_read_back_as_it_was(topology: ClusterTopology) -> None:
    parsed = parse_conf.parse(render_conf.render(topology))
    assert parsed.findings == ()
    assert sorted_nodes(parsed.topology) == sorted_nodes(topology)
    assert same_meaning(parsed.topology, topology)


@PROPERTY
@given(cluster_topologies())
def test_yaml_is_read_back_as_it_was(topology: ClusterTopology) -> None:
    parsed = parse_yaml.parse(render_yaml.render(topology))
    assert parsed.findings == ()
    assert sorted_nodes(parsed.topology) == sorted_nodes(topology)
    assert same_meaning(parsed.topology, topology)


@PROPERTY
@given(cluster_topologies(), st.randoms(use_true_random=False))
def test_the_order_of_nodes_changes_no_byte(topology: ClusterTopology, rng: random.Random) -> None:
    assert render_yaml.render(shuffled(topology, rng)) == render_yaml.render(topology)


def test_our_own_yaml_needs_no_pyyaml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)  # import yaml: ImportError
    parsed = parse_yaml.parse(render_yaml.render(ALL_KINDS))
    assert sorted_nodes(parsed.topology) == sorted_nodes(ALL_KINDS)
    assert parsed.findings == ()


def test_names_that_yaml_would_read_otherwise_survive() -> None:
    """Quotes and backslashes are escaped: such a text is not in the plain form, but still right."""
    odd = ClusterTopology((NamedTopology('a"b\\c\x01\u2028', Flat(), True),))
    assert parse_yaml.parse(render_yaml.render(odd)).topology == odd


def sorted_nodes(topology: ClusterTopology) -> ClusterTopology:
    """The topology with the nodes of each unit in one order."""
    return _with_units(topology, lambda nodes: tuple(sorted(nodes)))


def shuffled(topology: ClusterTopology, rng: random.Random) -> ClusterTopology:
    return _with_units(topology, lambda nodes: tuple(rng.sample(nodes, len(nodes))))


def _with_units(topology: ClusterTopology, order: Callable[[Nodes], Nodes]) -> ClusterTopology:
    def changed(body: Tree | Blocks | Flat) -> Tree | Blocks | Flat:
        if isinstance(body, Tree):
            return Tree(tuple(switch._replace(nodes=order(switch.nodes)) for switch in body.switches))
        if isinstance(body, Blocks):
            new = tuple(block._replace(nodes=order(block.nodes)) for block in body.blocks)
            return dataclasses.replace(body, blocks=new)
        return body

    return ClusterTopology(tuple(dataclasses.replace(entry, body=changed(entry.body)) for entry in topology.topologies))
