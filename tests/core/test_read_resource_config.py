"""resource_config.json in all shapes that were documented or seen."""

from __future__ import annotations

from typing import Any

import pytest

from slurm_topology.core.errors import InputError
from slurm_topology.core.model import Placement
from slurm_topology.core.read_resource_config import path_to_leaf, read


def config(label: object = None, **instance: object) -> dict[str, Any]:
    """A file with one instance, whose label and other members the test sets."""
    default = {"InstanceName": "train-1", "CustomerIpAddress": "10.1.0.4", "InstanceId": "i-1", "InstanceLabel": label}
    group = {"Name": "train", "InstanceType": "ml.p5.48xlarge", "Instances": [{**default, **instance}]}
    return {"ClusterConfig": {"ClusterName": "c"}, "InstanceGroups": [group]}


PATH = ("nn-1", "nn-2", "nn-3")


@pytest.mark.parametrize(
    "label",
    [
        {"network-node-layer-1": "nn-1", "network-node-layer-2": "nn-2", "network-node-layer-3": "nn-3"},
        {f"topology.k8s.aws/network-node-layer-{n}": f"nn-{n}" for n in (3, 1, 2)},
        [{"Key": f"network-node-layer-{n}", "Value": f"nn-{n}"} for n in (1, 2, 3)],
        [{"Key": f"topology.k8s.aws/network-node-layer-{n}", "Value": f" nn-{n} "} for n in (2, 3, 1)],
        [{"key": f"network-node-layer-{n}", "value": f"nn-{n}"} for n in (1, 2, 3)],
        {**{f"Network-Node-Layer-{n}": f"nn-{n}" for n in (1, 2, 3)}, "other": "x"},
    ],
)
def test_every_label_shape_gives_the_same_path(label: object) -> None:
    assert read(config(label)).instances[0].placement.network_nodes == PATH


@pytest.mark.parametrize(
    "label",
    [
        None,
        {},
        [],
        "null",
        "",
        3,
        {"network-node-layer-1": None},
        {"network-node-layer-1": ""},
        {"network-node-layer-1": "null", "ultraserver-id": "null"},
        {"network-node-layer-1": 7},
        {"network-node-layer-1": ["nn-1"]},
        {"network-node-layer-0": "nn-0"},
        [{"Key": "network-node-layer-1"}],
        ["network-node-layer-1"],
        {"network-node-layer-x": "nn-1"},
    ],
)
def test_unknown_labels_are_unknown_and_never_an_error(label: object) -> None:
    assert read(config(label)).instances[0].placement == Placement()


def test_no_label_member_at_all() -> None:
    document = config()
    del document["InstanceGroups"][0]["Instances"][0]["InstanceLabel"]
    assert read(document).instances[0].placement.network_nodes == ()


@pytest.mark.parametrize("key", ["ultraserver-id", "topology.k8s.aws/ultraserver-id"])
def test_the_ultraserver(key: str) -> None:
    assert read(config({key: "us-1"})).instances[0].placement.ultraserver_id == "us-1"


@pytest.mark.parametrize(
    ("layers", "path"),
    [
        ([], ()),
        (["a", "b", "c"], ("a", "b", "c")),
        (["a", "b", None], ("a", "b")),
        (["a", None, None], ("a",)),
        ([None, "b", "c"], ("b", "c")),
        (["a", None, "c"], ("c",)),
        (["a", None, "c", "d", None], ("c", "d")),
        ([None, None], ()),
    ],
)
def test_a_gap_in_the_path_is_not_bridged(layers: list[str | None], path: tuple[str, ...]) -> None:
    assert path_to_leaf(layers) == path


def test_ten_layers_are_in_numerical_order() -> None:
    label = {f"network-node-layer-{n}": f"nn-{n}" for n in range(10, 0, -1)}
    assert read(config(label)).instances[0].placement.network_nodes == tuple(f"nn-{n}" for n in range(1, 11))


def test_empty_groups_are_groups() -> None:
    document = config()
    document["InstanceGroups"][0]["Instances"] = None
    document["InstanceGroups"].append({"Name": "spare", "InstanceType": "ml.c5.large"})
    read_config = read(document)
    assert [group.name for group in read_config.groups] == ["train", "spare"]
    assert read_config.instances == ()


def test_addresses_of_controllers() -> None:
    document = {
        **config(),
        "SlurmConfig": {"PrimaryControllerIp": "10.1.0.9", "SecondaryControllerIps": ["10.1.0.8", ""]},
    }
    assert read(document).controller_addresses == ("10.1.0.9", "10.1.0.8")
    assert (
        read(
            {**config(), "SlurmConfig": {"PrimaryControllerIp": "", "SecondaryControllerIps": []}}
        ).controller_addresses
        == ()
    )


def test_an_instance_without_address_is_kept_and_reported() -> None:
    result = read(config(CustomerIpAddress="null"))
    assert result.instances[0].address is None
    assert [(finding.id, finding.subject) for finding in result.findings] == [("TOPO101", "train-1")]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], "expected an object, got a list of 0"),
        (None, "got null"),
        ({}, "expected a member InstanceGroups"),
        ({"InstanceGroups": []}, "InstanceGroups is empty"),
        ({"InstanceGroups": None}, "InstanceGroups is empty"),
        ({"InstanceGroups": {"a": 1}}, "InstanceGroups: expected a list"),
        ({"InstanceGroups": [{"Name": "a"}]}, "expected Name and InstanceType"),
        ({"InstanceGroups": [{"Name": "a", "InstanceType": 5}]}, "expected Name and InstanceType"),
        ({"InstanceGroups": [{"Name": "a", "InstanceType": "b", "Instances": 3}]}, "Instances: expected a list"),
        ({"InstanceGroups": [{"Name": "a", "InstanceType": "b"}] * 2}, "group names must be unique, got a"),
    ],
)
def test_unusable_files_say_where_and_what(document: object, said: str) -> None:
    with pytest.raises(InputError) as error:
        read(document)
    assert said in str(error.value)
