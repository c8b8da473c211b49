"""Property values arrive as strings; everything that is wrong with them is said at once."""

from __future__ import annotations

from typing import Any

import pytest

from slurm_topology.aws_lambda.properties import GroupProperties, InitialTopologyProperties, TopologyPlanProperties
from slurm_topology.core.errors import InputError
from slurm_topology.core.model import NodeRole, TopologyKind

GROUPS: list[dict[str, Any]] = [
    {"Name": "controller", "InstanceType": "ml.m5.xlarge", "Role": "Controller", "Count": "1"},
    {"Name": "w", "InstanceType": "ml.p5.48xlarge", "Role": "Compute", "Partitions": ["dev"], "Count": "4"},
]
PLAN: dict[str, Any] = {
    "BundleBucket": "assets",
    "BundleKey": "abc.zip",
    "LifecycleBucket": "sagemaker-b",
    "LifecyclePrefix": "lifecycle/0123",
    "Groups": GROUPS,
    "Topology": {"Kind": "auto", "BlockSizes": []},
    "Mode": "own",
    "Fingerprint": "f",
}


def test_a_plan_request() -> None:
    read = TopologyPlanProperties.read(PLAN)
    assert read.groups == (
        GroupProperties("controller", "ml.m5.xlarge", NodeRole.CONTROLLER, (), 1, None),
        GroupProperties("w", "ml.p5.48xlarge", NodeRole.COMPUTE, ("dev",), 4, None),
    )
    assert (read.wanted, read.block_sizes, read.mode, read.slurm_version) == (None, (), "own", None)


def test_a_plan_request_with_everything() -> None:
    groups = [*GROUPS, {**GROUPS[1], "Name": "u", "TrainingPlanArn": "arn:aws:sagemaker:r:1:training-plan/p"}]
    topology = {"Kind": "block", "BlockSizes": ["17", "34"]}
    read = TopologyPlanProperties.read(
        {
            **PLAN,
            "Groups": groups,
            "Topology": topology,
            "Mode": "observe",
            "SlurmVersion": "25.11",
            "LifecyclePrefix": "/a/",
        }
    )
    assert (read.wanted, read.block_sizes, read.mode) == (TopologyKind.BLOCK, (17, 34), "observe")
    assert str(read.slurm_version) == "25.11.0"
    assert read.lifecycle_prefix == "a"
    assert read.groups[2].training_plan_arn == "arn:aws:sagemaker:r:1:training-plan/p"


def test_an_initial_topology_request() -> None:
    read = InitialTopologyProperties.read({**PLAN, "ClusterName": "c", "PlanSha256": "s"})
    assert (read.cluster_name, read.lifecycle_bucket, read.lifecycle_prefix) == ("c", "sagemaker-b", "lifecycle/0123")
    assert [group.name for group in read.groups] == ["controller", "w"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"BundleKey": ""}, "BundleKey: got '', expected a text"),
        ({"LifecyclePrefix": None}, "LifecyclePrefix: got nothing, expected a text"),
        ({"Groups": []}, "Groups: got [], expected a list with at least one map"),
        ({"Groups": "all"}, "Groups: got 'all', expected a list"),
        ({"Groups": ["w"]}, "Groups[0]: got 'w', expected a map"),
        (
            {"Groups": [{**GROUPS[1], "Count": "many"}]},
            "Groups[0].Count: got 'many', expected a whole number, 0 or more",
        ),
        ({"Groups": [{**GROUPS[1], "Count": "-1"}]}, "Groups[0].Count: got '-1'"),
        ({"Groups": [{**GROUPS[1], "Role": "Boss"}]}, "Groups[0].Role: got 'Boss', expected one of Controller, Login"),
        ({"Groups": [{**GROUPS[1], "Partitions": [1]}]}, "Groups[0].Partitions: got [1], expected a list of texts"),
        ({"Groups": GROUPS * 2}, "Groups: got two groups named w, expected a name of its own for each group"),
        ({"Topology": "tree"}, "Topology: got 'tree', expected a map"),
        ({"Topology": {"Kind": "ring"}}, "Topology.Kind: got 'ring', expected one of auto, tree, block, flat"),
        ({"Topology": {"BlockSizes": ["x"]}}, "Topology.BlockSizes: got 'x'"),
        ({"Mode": "rule"}, "Mode: got 'rule', expected one of own, repair, observe"),
        ({"SlurmVersion": "new"}, "SlurmVersion: no Slurm version in 'new'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_wrong_property_is_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        TopologyPlanProperties.read({**PLAN, **changes})
    assert said in str(caught.value)


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(InputError) as caught:
        TopologyPlanProperties.read({})
    for name in ("BundleBucket", "BundleKey", "LifecycleBucket", "LifecyclePrefix", "Groups"):
        assert f"{name}: got nothing" in str(caught.value)
