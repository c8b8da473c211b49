"""topology_plan.json: canonical, and the same again when read."""

from __future__ import annotations

import json

import pytest

from slurm_topology.core import plan_document
from slurm_topology.core.choose import make_plan
from slurm_topology.core.errors import InputError
from slurm_topology.core.model import Capability, NodeRole, Partition, TopologyKind

from .clusters import cpu, gb200, p5

GROUPS = (
    cpu(partitions=("dev",), count=0),
    p5(partitions=("dev", "train"), count=16),
    gb200(ultraserver_instances=18, spare_instances=1),
)
PARTITIONS = (Partition("dev", ("cpu", "train")), Partition("train", ("train",), topology="of-hyperpod"))


def test_what_is_dumped_is_loaded() -> None:
    plan = make_plan(GROUPS, PARTITIONS, None)
    text = plan_document.dump(
        plan, GROUPS, PARTITIONS, wanted=TopologyKind.BLOCK, block_sizes=(18, 36), mode="repair", slurm_version="25.11"
    )
    assert plan_document.load(text) == plan_document.PlanDocument(
        plan,
        tuple(sorted(GROUPS, key=lambda group: group.name)),
        PARTITIONS,
        TopologyKind.BLOCK,
        (18, 36),
        "repair",
        "25.11",
    )


def test_equal_plans_are_equal_bytes() -> None:
    def dumped(order: int) -> str:
        groups, partitions = GROUPS[::order], PARTITIONS[::order]
        return plan_document.dump(make_plan(groups, partitions, None), groups, partitions)

    assert dumped(1) == dumped(-1)
    assert dumped(1).endswith("}\n")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"Format": 2}, "expected Format 1, got 2"),
        ({"Format": None}, "expected Format 1, got null"),
        ({"Groups": []}, "expected Groups"),
        ({"Groups": [{"Name": "a"}]}, "expected Name and InstanceType"),
        (
            {"Groups": [{"Name": "a", "InstanceType": "b", "Role": "Boss"}]},
            "expected one of Controller, Login, Compute",
        ),
        ({"Default": {"Kind": "ring"}}, "expected one of tree, block, flat"),
        ({"Default": None}, "choice of the cluster"),
        ({"BlockSizes": ["x"]}, "expected whole numbers"),
    ],
)
def test_other_documents_are_refused(change: dict[str, object], said: str) -> None:
    document = json.loads(plan_document.dump(make_plan(GROUPS, PARTITIONS, None), GROUPS, PARTITIONS))
    with pytest.raises(InputError) as error:
        plan_document.load(json.dumps({**document, **change}))
    assert said in str(error.value)


def test_text_that_is_no_json_is_refused() -> None:
    with pytest.raises(InputError, match="not JSON"):
        plan_document.load("{")


def test_a_plain_list_of_groups_will_do() -> None:
    """Capability comes from the type, partitions from the groups, numbers may be text (as CloudFormation makes
    them)."""
    inputs = plan_document.read_inputs(
        [
            {"Name": "b", "InstanceType": "ml.p5.48xlarge", "Partitions": ["x"], "Count": "4"},
            {"Name": "a", "InstanceType": "ml.new.large", "Role": "Login"},
        ]
    )
    assert [(group.name, group.role, group.capability, group.count) for group in inputs.groups] == [
        ("a", NodeRole.LOGIN, Capability.NONE, None),
        ("b", NodeRole.COMPUTE, Capability.TREE, 4),
    ]
    assert inputs.partitions == (Partition("x", ("b",)),)
    assert (inputs.wanted, inputs.block_sizes) == (None, ())
