"""Custom::HyperPodSlurmTopologyPlan: what it writes, what it asks, what it leaves alone."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from aws_lambda.cluster_fake import ClusterFake
from aws_lambda.lab import BUCKET, CONTROLLER, PREFIX, Lab, group
from aws_lambda.service_fake import Refusal
from slurm_topology.core import plan_document
from slurm_topology.core.model import Capability, TopologyKind

PLAN_KEY = (BUCKET, f"{PREFIX}/topology_plan.json")


def document(lab: Lab) -> plan_document.PlanDocument:
    return plan_document.load(lab.s3.objects[PLAN_KEY][0].decode())


def ultraserver_lab(**changes: Any) -> Lab:
    lab = Lab(cluster=ClusterFake(**changes))
    lab.groups = [CONTROLLER, group("nvl", "ml.p6e-gb200.36xlarge", 34, TrainingPlanArn=lab.cluster.plan_arn)]
    return lab


def test_the_bundle_and_the_plan_are_there_afterwards() -> None:
    lab = Lab()
    answer = lab.plan()
    assert answer["Status"] == "SUCCESS"
    assert answer["Data"] == {
        "LifecycleS3Uri": f"s3://{BUCKET}/{PREFIX}/",
        "PlanS3Uri": f"s3://{BUCKET}/{PREFIX}/topology_plan.json",
        "PlanSha256": hashlib.sha256(lab.s3.objects[PLAN_KEY][0]).hexdigest(),
        "DefaultTopology": "tree",
        "PartitionTopologies": '{"train":"tree"}',
        "FindingCount": str(len(document(lab).plan.findings)),
    }
    assert {key for bucket, key in lab.s3.objects if bucket == BUCKET} == {
        *(f"{PREFIX}/{name}" for name in ("agent.zip", "on_init_complete.sh", "topology_plan.json")),
        "hyperpod-slurm/c8/announced.json",
    }


def test_the_plan_document_says_what_was_asked_for() -> None:
    lab = Lab()
    lab.plan(Mode="observe", Topology={"Kind": "flat"}, SlurmVersion="24.11")
    plan = document(lab)
    assert (plan.mode, plan.wanted, plan.slurm_version) == ("observe", TopologyKind.FLAT, "24.11.0")
    assert [(one.name, one.role.value, one.count) for one in plan.groups] == [
        ("controller", "Controller", 1),
        ("gpu", "Compute", 4),
    ]
    assert [(one.name, one.groups) for one in plan.partitions] == [("train", ("gpu",))]


def test_the_plan_is_written_last() -> None:
    """HyperPod may read the prefix at any moment: with a plan there, everything is there."""
    lab = Lab()
    lab.plan()
    assert lab.s3.written[-1] == f"{PREFIX}/topology_plan.json"


@pytest.mark.parametrize("kind", ["Create", "Update"])
def test_a_repeated_request_writes_nothing(kind: str) -> None:
    lab = Lab()
    first = lab.plan()
    lab.s3.fake.calls.clear()
    assert lab.plan(kind)["Data"] == first["Data"]
    assert lab.s3.written == []


def test_the_physical_id_never_changes() -> None:
    """CloudFormation would delete "the old resource" after an update with another id."""
    lab = Lab()
    ids = [lab.plan(kind, Mode=mode)["PhysicalResourceId"] for kind, mode in (("Create", "own"), ("Update", "observe"))]
    ids.append(lab.plan("Update", Mode="nonsense")["PhysicalResourceId"])
    ids.append(lab.plan("Delete")["PhysicalResourceId"])
    assert set(ids) == {"Training-ClusterTopologyPlan1A2B3C"}


def test_a_failed_update_leaves_the_previous_plan() -> None:
    lab = Lab()
    lab.plan()
    before = dict(lab.s3.objects)
    lab.groups.append(group("new", "ml.x99.huge", 1))
    lab.ec2_types = {}
    assert lab.plan("Update", Topology={"Kind": "block", "BlockSizes": ["18", "27"]})["Status"] == "FAILED"
    assert lab.s3.objects == before


def test_known_types_cost_no_question() -> None:
    lab = Lab()
    lab.plan()
    assert (lab.ec2.calls, lab.cluster.fake.calls) == ([], [])


def test_ec2_is_asked_once_about_types_the_catalogue_lacks() -> None:
    lab = Lab()
    lab.groups += [group("a", "ml.p9.48xlarge", 1), group("b", "ml.p9.48xlarge", 1), group("c", "ml.z9.large", 1)]
    lab.ec2_types["p9.48xlarge"] = {
        "InstanceType": "p9.48xlarge",
        "NetworkInfo": {"EfaSupported": True, "EfaInfo": {"MaximumEfaInterfaces": 16}},
        "GpuInfo": {"Gpus": [{"Count": 8}]},
    }
    lab.ec2_types["z9.large"] = {"InstanceType": "z9.large", "NetworkInfo": {"EfaSupported": False}}
    lab.plan()
    assert [parameters for _, parameters in lab.ec2.calls] == [{"InstanceTypes": ["p9.48xlarge", "z9.large"]}]
    capabilities = {one.name: one.capability for one in document(lab).groups}
    assert capabilities == {
        "controller": Capability.NONE,
        "gpu": Capability.TREE,
        "a": Capability.TREE,
        "b": Capability.TREE,
        "c": Capability.NONE,
    }


def test_a_type_nobody_knows_is_a_finding() -> None:
    lab = Lab()
    lab.groups.append(group("odd", "ml.x99.huge", 1))
    assert lab.plan()["Data"]["DefaultTopology"] == "flat"
    found = [finding for finding in document(lab).plan.findings if finding.id == "TOPO104"]
    assert [finding.subject for finding in found] == ["odd"]
    assert "'ml.x99.huge'" in found[0].message


def test_spares_come_from_the_training_plan() -> None:
    """18 instances of which 2 are spares: blocks of 16. Two UltraServers with other spares: what both can fill."""
    lab = ultraserver_lab(ultraservers=[("us-1", 18, 1), ("us-2", 18, 2)])
    assert lab.plan()["Data"]["DefaultTopology"] == "block"
    plan = document(lab)
    assert [(one.ultraserver_instances, one.spare_instances) for one in plan.groups if one.name == "nvl"] == [(18, 2)]
    assert plan.plan.block_sizes[0] == 16


def test_a_plan_that_has_not_begun_has_its_type_and_the_default_spare() -> None:
    lab = ultraserver_lab(capacity={"ReservedCapacityType": "UltraServer", "UltraServerType": "ml.u-p6e-gb200x36"})
    lab.plan()
    assert document(lab).plan.block_sizes[0] == 8


def test_an_old_sdk_leaves_members_out() -> None:
    """botocore of early 2026 or before: no ReservedCapacityType, no UltraServerType."""
    lab = ultraserver_lab(capacity={}, ultraservers=[("us-1", 18, 1)])
    lab.plan()
    assert document(lab).plan.block_sizes[0] == 17


def test_an_sdk_without_ultraservers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Known types and the default spare have to do; the log says so."""
    lab = ultraserver_lab()
    without = type("Client", (), {"describe_training_plan": lab.cluster.client.describe_training_plan})()
    monkeypatch.setattr(lab.cluster, "client", without)
    assert lab.plan()["Status"] == "SUCCESS"
    assert document(lab).plan.block_sizes[0] == 17
    warnings = [line for line in lab.lines if line["level"] == "WARNING"]
    assert [line["message"] for line in warnings] == ["SDK without UltraServers"]


@pytest.mark.parametrize(
    ("changes", "arn", "said"),
    [
        (
            {},
            "arn:aws:sagemaker:us-west-2:123456789012:training-plan/other",
            "training-plan/other is not found in this account",
        ),
        ({"plan_status": "Expired"}, None, "training-plan/plan is Expired, expected an active or scheduled one"),
        ({"denied": {"DescribeTrainingPlan"}}, None, "Allow sagemaker:DescribeTrainingPlan to the role"),
        (
            {"denied": {"ListUltraServersByReservedCapacity"}},
            None,
            "Allow sagemaker:ListUltraServersByReservedCapacity",
        ),
    ],
)
def test_training_plans_that_cannot_be_used(changes: dict[str, Any], arn: str | None, said: str) -> None:
    lab = ultraserver_lab(**changes)
    lab.groups[1]["TrainingPlanArn"] = arn or lab.cluster.plan_arn
    answer = lab.plan()
    assert answer["Status"] == "FAILED"
    assert said in answer["Reason"]
    assert (
        f"While asking SageMaker about training plan {lab.groups[1]['TrainingPlanArn'].rpartition('/')[2]}: "
        in answer["Reason"]
    )
    assert PLAN_KEY not in lab.s3.objects


NEWER = {
    "InstanceType": "p9.48xlarge",
    "NetworkInfo": {"EfaSupported": True, "EfaInfo": {"MaximumEfaInterfaces": 16}},
    "GpuInfo": {"Gpus": [{"Count": 8}]},
}


def lab_that_asks() -> Lab:
    """Its plan needs what SageMaker says of UltraServers, and what EC2 says of types; nobody knows one of those."""
    lab = ultraserver_lab(ultraservers=[("us-1", 18, 2)])
    lab.groups += [group("newer", "ml.p9.48xlarge", 2), group("odd", "ml.x99.huge", 1)]
    lab.ec2_types["p9.48xlarge"] = NEWER
    assert lab.plan()["Status"] == "SUCCESS"
    return lab


def expired(lab: Lab) -> None:
    lab.cluster.plan_status = "Expired"


def failed(lab: Lab) -> None:
    lab.cluster.plan_status = "Failed"


def forgotten(lab: Lab) -> None:
    """SageMaker doesn't know the plan any more."""
    lab.cluster.plan_name = "another"


def nothing_said(operation: str, how: str) -> Any:
    def fault(lab: Lab) -> None:
        getattr(lab.cluster, how).add(operation)

    return fault


def ec2_says(code: str) -> Any:
    def fault(lab: Lab) -> None:
        def refuse(**_: Any) -> Any:
            raise Refusal(code)

        lab.ec2.handlers["DescribeInstanceTypes"] = refuse

    return fault


NOTHING_SAID = {
    "expired": expired,
    "failed": failed,
    "forgotten": forgotten,
    **{
        f"{operation} {how}": nothing_said(operation, how)
        for operation in ("DescribeTrainingPlan", "ListUltraServersByReservedCapacity")
        for how in ("throttled", "denied")
    },
    "types throttled": ec2_says("RequestLimitExceeded"),
    "types denied": ec2_says("UnauthorizedOperation"),
}


@pytest.mark.parametrize("fault", NOTHING_SAID)
def test_a_rollback_needs_nothing_that_aws_said_before(fault: str) -> None:
    """Months later an update elsewhere fails, and what it goes back to was made from what nobody says any more."""
    lab = lab_that_asks()
    plan = lab.s3.objects[PLAN_KEY]
    NOTHING_SAID[fault](lab)
    assert lab.plan("Update", LifecyclePrefix="hyperpod-slurm/c8/4567", Mode="observe")["Status"] == "FAILED"
    assert lab.plan("Update")["Status"] == "SUCCESS"
    assert lab.s3.objects[PLAN_KEY] == plan
    assert [line["message"] for line in lab.lines if "as in the plan before" in line["message"]] != []


@pytest.mark.parametrize("fault", NOTHING_SAID)
def test_a_scale_and_its_rollback_need_nothing_that_aws_said_before(fault: str) -> None:
    """In place: the plan that is there is the scale's own."""
    lab = lab_that_asks()
    plan = lab.s3.objects[PLAN_KEY]
    NOTHING_SAID[fault](lab)
    lab.groups[2]["Count"] = "3"
    assert lab.plan("Update")["Status"] == "SUCCESS"
    scaled = document(lab)
    assert [one.count for one in scaled.groups if one.name == "newer"] == [3]
    assert scaled.plan == plan_document.load(plan[0].decode()).plan
    lab.groups[2]["Count"] = "2"
    assert lab.plan("Update")["Status"] == "SUCCESS"
    assert lab.s3.objects[PLAN_KEY] == plan


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff"])
def test_a_broken_plan_of_the_last_deployment_is_no_help(content: bytes) -> None:
    lab = lab_that_asks()
    lab.s3.objects[PLAN_KEY] = (content, {})
    expired(lab)
    assert "is Expired, expected an active" in lab.plan("Update")["Reason"]


def test_a_plan_of_other_groups_is_no_help() -> None:
    """Nobody ever said anything about these."""
    lab = lab_that_asks()
    lab.groups.append(group("newest", "ml.p10.48xlarge", 1))
    ec2_says("UnauthorizedOperation")(lab)
    assert "Allow ec2:DescribeInstanceTypes" in lab.plan("Update")["Reason"]
    expired(lab)
    lab.groups[3:] = []
    lab.groups[1]["Name"] = "other"
    assert lab.plan("Update")["Status"] == "FAILED"


def test_a_training_plan_of_other_types_is_not_asked_about() -> None:
    """A plan of P5 instances says nothing that a topology needs: no grant for it is needed."""
    lab = Lab(cluster=ClusterFake(denied={"DescribeTrainingPlan"}))
    lab.groups[1]["TrainingPlanArn"] = lab.cluster.plan_arn
    assert lab.plan()["Status"] == "SUCCESS"


def test_errors_of_the_plan_are_all_in_the_answer() -> None:
    answer = Lab().plan(Topology={"Kind": "block", "BlockSizes": ["18", "27"]})
    assert answer["Status"] == "FAILED"
    assert (
        "While choosing the topology: no topology can be planned: TOPO203 block sizes: block sizes 18, 27"
        in answer["Reason"]
    )


def test_an_answer_too_long_for_cloudformation_points_to_s3() -> None:
    lab = Lab()
    lab.groups += [
        group(f"g{n}", "ml.p5.48xlarge", 1, Partitions=[f"a-rather-long-partition-name-{n:03}"]) for n in range(90)
    ]
    answer = lab.plan()
    assert json.loads(answer["Data"]["PartitionTopologies"]) == {"see": answer["Data"]["PlanS3Uri"]}
    assert len(document(lab).plan.partitions) == 91
