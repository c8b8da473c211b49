"""Custom::HyperPodSlurmInitialTopology: which plan is in force when all went well, and when SageMaker says no."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from aws_lambda.cluster_fake import nodes
from aws_lambda.lab import BUCKET, PREFIX, lab_with
from slurm_topology.core import plan_document, plan_pointer

OTHER = "hyperpod-slurm/c8/4567"
POINTER = "hyperpod-slurm/c8/current.json"


# ---- the pointer: which plan is in force


def test_the_pointer_is_written_last_and_names_the_plan() -> None:
    """Running agents take the plan that it names: it must not name one before the cluster is in service with it."""
    lab = lab_with(nodes(2))
    assert (BUCKET, POINTER) not in lab.s3.objects
    assert lab.initial()["Status"] == "SUCCESS"
    plan, _ = lab.s3.objects[BUCKET, f"{PREFIX}/topology_plan.json"]
    pointer = plan_pointer.read(lab.s3.objects[BUCKET, POINTER][0].decode())
    assert pointer == (f"{PREFIX}/topology_plan.json", hashlib.sha256(plan).hexdigest(), "c1")
    assert lab.s3.written[-1] == POINTER
    assert plan_document.load(plan.decode()).pointer == f"s3://{BUCKET}/{POINTER}"


def test_a_deployment_that_fails_leaves_the_pointer() -> None:
    lab = lab_with(nodes(2))
    lab.initial()
    before = lab.s3.objects[BUCKET, POINTER]
    lab.plan("Update", LifecyclePrefix=OTHER, Mode="observe")
    assert lab.initial("Update", LifecyclePrefix=OTHER, ClusterName="gone")["Status"] == "FAILED"
    assert lab.s3.objects[BUCKET, POINTER] == before
    assert lab.initial("Update", LifecyclePrefix=OTHER)["Status"] == "SUCCESS"
    assert lab.s3.objects[BUCKET, POINTER] != before


# ---- SageMaker doesn't answer


@pytest.mark.parametrize("kind", ["Create", "Update"])
def test_a_listing_that_stays_throttled_does_not_fail_the_deployment(kind: str) -> None:
    """The cluster works and its agent asks Slurm: twenty minutes of deployment are not rolled back for a document."""
    lab = lab_with(nodes(2))
    lab.cluster.throttled.add("ListClusterNodes")
    answer = lab.initial(kind)
    assert answer["Status"] == "SUCCESS"
    assert answer["Data"]["NodeCount"] == "0"
    found = {one["id"]: one for one in lab.stored("initial_topology.json")["Findings"]}
    assert "ThrottlingException" in found["TOPO122"]["message"]
    assert (BUCKET, POINTER) in lab.s3.objects


def test_what_was_known_is_not_forgotten_when_the_listing_is_throttled() -> None:
    lab = lab_with(nodes(2))
    lab.initial()
    known = lab.stored("initial_topology.json")["NodeDetails"]
    lab.cluster.throttled.add("ListClusterNodes")
    lab.initial("Update")
    assert lab.stored("initial_topology.json")["NodeDetails"] == known


DESCRIBING = ("ListClusterNodes", "DescribeClusterNode")


@pytest.mark.parametrize("denied", DESCRIBING)
def test_a_denial_fails_an_update_but_never_the_first_deployment(denied: str) -> None:
    """A failed first deployment deletes the cluster; a failed update goes back to what works and names the grant."""
    lab = lab_with(nodes(2))
    lab.cluster.denied.add(denied)
    assert lab.initial("Update")["Status"] == "FAILED"
    assert lab.initial("Create")["Status"] == "SUCCESS"
    found = {one["id"]: one for one in lab.stored("initial_topology.json")["Findings"]}
    assert f"sagemaker:{denied}" in found["TOPO122"]["message"]


@pytest.mark.parametrize("denied", DESCRIBING)
def test_a_denial_never_fails_an_update_to_another_cluster(denied: str) -> None:
    """It was made in this update: a failure would delete it, twenty minutes after it was asked for."""
    lab = lab_with(nodes(2))
    lab.initial(ClusterName="c1")
    lab.cluster.denied.add(denied)
    lab.cluster.cluster_name, lab.cluster.nodes = "c2", nodes(2, 900)
    lab.plan("Update", Mode="observe")
    assert lab.initial("Update", old={"ClusterName": "c1"}, ClusterName="c2")["Status"] == "SUCCESS"
    assert "TOPO122" in [finding["id"] for finding in lab.stored("initial_topology.json")["Findings"]]


# What another deployment may have changed, as (properties of the plan, properties of both resources).
CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "another prefix": ({"Mode": "observe"}, {"LifecyclePrefix": OTHER}),
    "in place": ({"Mode": "observe"}, {}),
    "code alone": ({}, {"Fingerprint": "g"}),
}


@pytest.mark.parametrize("refused", [*DESCRIBING, "ClusterName"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_rollback_never_fails_for_what_sagemaker_says(change: str, refused: str) -> None:
    """What refuses an update (a denial from outside the stack, a cluster deleted by hand) refuses the rollback, too."""
    wishes, both = CHANGES[change]
    lab = lab_with(nodes(2))
    lab.initial()
    pointer, plan = lab.s3.objects[BUCKET, POINTER], lab.s3.objects[BUCKET, f"{PREFIX}/topology_plan.json"]
    lab.cluster.cluster_name = "gone" if refused == "ClusterName" else "c1"
    lab.cluster.denied = {refused}
    lab.cluster.nodes += nodes(1, 900)  # or nobody would be asked about

    assert lab.plan("Update", **wishes, **both)["Status"] == "SUCCESS"
    changed = lab.initial("Update", old={"LifecyclePrefix": PREFIX}, **both)
    assert changed["Status"] == ("SUCCESS" if change == "code alone" else "FAILED")

    assert lab.plan("Update")["Status"] == "SUCCESS"
    assert lab.initial("Update", old=both)["Status"] == "SUCCESS"
    assert lab.s3.objects[BUCKET, POINTER] == pointer
    assert lab.s3.objects[BUCKET, f"{PREFIX}/topology_plan.json"] == plan
    assert "TOPO122" in [finding["id"] for finding in lab.stored("initial_topology.json")["Findings"]]
