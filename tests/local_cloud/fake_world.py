"""A world for tests of the model: two subnets, every role and script in place unless told otherwise; short requests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from local_cloud.cluster import Subnet
from local_cloud.hyperpod import HyperPod
from local_cloud.racks import Racks

__all__ = ["ROLE", "FakeWorld", "create_request", "group", "slurm_cluster"]

Json = dict[str, Any]
ROLE = "arn:aws:iam::123456789012:role/node"


@dataclass
class FakeWorld:
    known: dict[str, Subnet] = field(
        default_factory=lambda: {
            "subnet-a": Subnet("subnet-a", "10.1.0.0/16", "us-west-2a", "usw2-az1"),
            "subnet-b": Subnet("subnet-b", "10.2.0.0/16", "us-west-2b", "usw2-az2"),
        }
    )
    complaints: list[str] = field(default_factory=list)

    def subnets(self, ids: list[str]) -> list[Subnet]:
        return [self.known[i] for i in ids or ["subnet-a"]]

    def problems(self, _request: Json) -> list[str]:
        return self.complaints


def group(name: str, instance_type: str, count: int, node_type: str | None = None, **more: Any) -> Json:
    """An instance group; a compute group's partition has the name of the group."""
    slurm: Json = {}
    if node_type:
        partitions = {"PartitionNames": [name]} if node_type == "Compute" else {}
        slurm = {"SlurmConfig": {"NodeType": node_type, **partitions}}
    base = {"InstanceGroupName": name, "InstanceType": instance_type, "InstanceCount": count, "ExecutionRole": ROLE}
    return {**base, **slurm, **more}


def create_request(*groups: Json, name: str = "demo", **more: Any) -> Json:
    """CreateCluster with a controller and these groups."""
    controller = group("controller", "ml.m5.xlarge", 1, "Controller")
    vpc = {"VpcConfig": {"Subnets": ["subnet-a"], "SecurityGroupIds": ["sg-1"]}}
    return {"ClusterName": name, "InstanceGroups": [controller, *groups], **vpc, **more}


def slurm_cluster(count: int = 6, racks: Racks | None = None, **more: Any) -> HyperPod:
    """A model with the cluster `demo`: a controller and `count` P5 nodes."""
    model = HyperPod(FakeWorld(), "123456789012", "us-west-2", racks)
    model.call("CreateCluster", create_request(group("train", "ml.p5.48xlarge", count, "Compute"), **more))
    return model
