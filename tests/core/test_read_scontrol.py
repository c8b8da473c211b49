"""Reading what real slurmctld's printed (tests/cases/scontrol)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slurm_topology.core.errors import InputError
from slurm_topology.core.read_scontrol import SlurmNode, read_nodes, read_partitions

RECORDED = Path(__file__).parents[1] / "cases" / "scontrol"
FORMS = ["nodes.json", "nodes.txt", "nodes.oneliner.txt"]


def recorded(version: str, name: str) -> object:
    content = (RECORDED / version / name).read_text()
    return json.loads(content) if name.endswith(".json") else content


@pytest.mark.parametrize("version", ["24.11", "26.05"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_names_the_nodes_with_their_addresses(version: str, form: str) -> None:
    """Comments and reasons that look like fields are not taken for fields."""
    nodes = read_nodes(recorded(version, form))
    assert [(node.name, node.address, node.host_name) for node in nodes] == [
        ("here", "127.0.0.1", "localhost"),
        ("ip-10-1-0-104", "10.1.0.104", "ip-10-1-0-104"),
        ("ip-10-1-0-105", "10.1.0.105", "ip-10-1-0-105"),
        ("train-3", "10.1.0.106", "ip-10-1-0-106"),
    ]


@pytest.mark.parametrize("version", ["24.11", "26.05"])
def test_text_and_json_say_the_same(version: str) -> None:
    """Only the list of state flags differs: JSON has more of them, in another order."""
    by_form = [
        [
            node._replace(states=tuple(sorted({*node.states} & {"IDLE", "CLOUD", "DRAIN", "POWERED_DOWN"})))
            for node in read_nodes(recorded(version, form))
        ]
        for form in FORMS
    ]
    assert by_form[0] == by_form[1] == by_form[2]


@pytest.mark.parametrize("form", FORMS)
def test_instance_and_override_are_read_behind_hostile_free_text(form: str) -> None:
    drained = read_nodes(recorded("26.05", form))[-1]
    assert (drained.instance_id, drained.instance_type) == ("i-00000000000000064", "ml.p5.48xlarge")
    assert drained.topology == "leafy:s1"
    assert drained.partitions == ("train", "dev")
    assert "DRAIN" in drained.states


@pytest.mark.parametrize("version", ["24.11", "26.05"])
@pytest.mark.parametrize("form", ["partitions.json", "partitions.txt", "partitions.oneliner.txt"])
def test_partitions(version: str, form: str) -> None:
    partitions = {each.name: each for each in read_partitions(recorded(version, form))}
    train = ("ip-10-1-0-104", "ip-10-1-0-105", "train-3")
    assert list(partitions) == ["train", "dev", "none"]
    assert partitions["train"].nodes == train
    assert partitions["dev"].nodes == ("here", *train)
    assert partitions["none"].nodes == ()
    assert partitions["train"].topology == ("leafy" if version == "26.05" else None)
    assert partitions["dev"].topology is None


def test_a_cluster_without_nodes() -> None:
    assert read_nodes("No nodes in the system\n") == ()
    assert read_nodes("") == ()
    assert read_nodes({"nodes": []}) == ()


def test_an_override_without_an_instance() -> None:
    assert read_nodes("NodeName=n1 NodeAddr=a NodeHostName=b \n   State=IDLE \n   Topology=tree:s1\n") == (
        SlurmNode("n1", "a", "b", ("IDLE",), topology="tree:s1"),
    )


@pytest.mark.parametrize(
    "document", ["slurm_load_node error: Unable to contact slurm controller", {"jobs": []}, [1], {"nodes": [{}]}]
)
def test_what_is_no_list_of_nodes_is_refused(document: object) -> None:
    with pytest.raises(InputError, match="scontrol show nodes"):
        read_nodes(document)


@pytest.mark.parametrize("document", ["slurm_load_partitions error: timed out", {"nodes": []}, {"partitions": [{}]}])
def test_what_is_no_list_of_partitions_is_refused(document: object) -> None:
    with pytest.raises(InputError, match="scontrol show partitions"):
        read_partitions(document)
