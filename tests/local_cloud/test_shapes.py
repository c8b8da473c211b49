from __future__ import annotations

from typing import Any

import pytest
from botocore.model import StructureShape

from local_cloud.fake_world import create_request, group
from local_cloud.shapes import coerce, problems, service_model


def shape(operation: str) -> StructureShape:
    found = service_model().operation_model(operation).input_shape
    assert isinstance(found, StructureShape)
    return found


def test_a_good_request_has_no_problems() -> None:
    assert problems(create_request(group("train", "ml.p5.48xlarge", 2, "Compute")), shape("CreateCluster")) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ClusterName": "no_underscores"}, "'clusterName' failed to satisfy constraint: Member must satisfy regular"),
        ({"ClusterName": "x" * 64}, "length less than or equal to 63"),
        ({"InstanceGroups": []}, "valid min length: 1"),
        ({"NodeRecovery": "Sometimes"}, "satisfy enum value set: [Automatic, None]"),
        ({"ClusterNam": "typo"}, 'Unknown parameter in input: "ClusterNam"'),
        ({"ClusterName": 5}, "Invalid type for parameter ClusterName"),
    ],
)
def test_what_is_wrong_is_said(change: dict[str, Any], message: str) -> None:
    found = problems({**create_request(), **change}, shape("CreateCluster"))
    assert len(found) == 1
    assert message in found[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"InstanceCount": 6759}, "'instanceGroups.2.member.instanceCount' failed to satisfy constraint: Member must"),
        ({"InstanceType": "ml.p99.large"}, "satisfy enum value set"),
        ({"ExecutionRole": "not-the-arn-of-a-role-at-all"}, "satisfy regular expression pattern"),
        ({"InstanceStorageConfigs": [{"EbsVolumeConfig": {}}] * 5}, "length less than or equal to 4"),
    ],
)
def test_the_place_of_a_fault_in_a_group_is_said(change: dict[str, Any], message: str) -> None:
    found = problems(create_request({**group("train", "ml.p5.48xlarge", 2), **change}), shape("CreateCluster"))
    assert len(found) == 1
    assert message in found[0]
    assert "instanceGroups.2.member." in found[0]


def test_health_checks_newer_than_the_pinned_model_are_accepted() -> None:
    """In AWS's documentation, not in this botocore."""
    checked = group("train", "ml.p5.48xlarge", 2, OnStartDeepHealthChecks=["MultiNodeTrainingValidation"])
    assert problems(create_request(checked), shape("CreateCluster")) == []


def test_a_template_s_values_get_the_api_s_types() -> None:
    """CloudFormation gives numbers and booleans as text, and has members that the API doesn't know."""
    template = {"InstanceGroups": [{"InstanceCount": "3", "CurrentCount": 3, "InstanceGroupName": "7"}], "Tags": []}
    expected = {"InstanceGroups": [{"InstanceCount": 3, "InstanceGroupName": "7"}], "Tags": []}
    assert coerce(template, shape("CreateCluster")) == expected
    volume = {"InstanceGroups": [{"InstanceStorageConfigs": [{"EbsVolumeConfig": {"RootVolume": "true"}}]}]}
    assert coerce(volume, shape("CreateCluster")) == {
        "InstanceGroups": [{"InstanceStorageConfigs": [{"EbsVolumeConfig": {"RootVolume": True}}]}]
    }
