"""The controller of the deployed cluster: what HyperPod itself does on it, in a lab with a real Slurm.

HyperPod writes resource_config.json, keeps slurm.conf, starts slurmd on every instance, copies the lifecycle prefix to
the controller and runs its script. All of that is done here and nothing more: the topology is the agent's work.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from local_cloud import LocalCloud
from slurm_lab.lab import Lab
from slurm_lab.slurm_conf import Node, Partition

__all__ = ["Instances", "boot", "cluster_instances", "stage_lifecycle_scripts", "write_resource_config"]

RESOURCE_CONFIG = "/opt/ml/config/resource_config.json"
STAGING = "/tmp/hyperpod-lifecycle"
SCRIPT = "on_init_complete.sh"

Json = dict[str, Any]


class Instances:
    """The deployed cluster as its controller sees it: resource_config.json, plus the roles from DescribeCluster."""

    def __init__(
        self, resource_config: Json, roles: Mapping[str, str], partitions: Mapping[str, tuple[str, ...]]
    ) -> None:
        self.resource_config = resource_config
        self._roles = roles
        self._partitions = partitions

    @property
    def nodes(self) -> tuple[Node, ...]:
        """What Slurm gets as nodes: compute and login instances, never the controller."""
        return tuple(
            Node(
                node_name(instance),
                instance["CustomerIpAddress"],
                instance_id=instance["InstanceId"],
                instance_type=group["InstanceType"],
            )
            for group, instance in self._instances()
            if self._roles[group["Name"]] != "Controller"
        )

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """`dev` with every node, and the partitions of the compute groups."""
        own = {
            name: tuple(node_name(i) for group, i in self._instances() if group["Name"] in groups)
            for name, groups in self._partitions.items()
        }
        return (Partition("dev", default=True), *(Partition(name, nodes) for name, nodes in own.items() if nodes))

    @property
    def leaf_labels(self) -> dict[str, str | None]:
        """Node → its lowest network-node label, None where HyperPod gives none: what the topology has to show."""
        return {
            node_name(instance): (instance["InstanceLabel"] or {}).get("network-node-layer-3")
            for group, instance in self._instances()
            if self._roles[group["Name"]] != "Controller"
        }

    @property
    def controller_address(self) -> str:
        return next(
            str(i["CustomerIpAddress"]) for group, i in self._instances() if self._roles[group["Name"]] == "Controller"
        )

    def _instances(self) -> list[tuple[Json, Json]]:
        groups = self.resource_config["InstanceGroups"]
        return [(group, instance) for group in groups for instance in group["Instances"] or ()]


def node_name(instance: Json) -> str:
    """HyperPod's default NodeName."""
    return "ip-" + str(instance["CustomerIpAddress"]).replace(".", "-")


def cluster_instances(cloud: LocalCloud, cluster: str) -> Instances:
    """Look at the cluster as it is now."""
    described = cloud.client("sagemaker").describe_cluster(ClusterName=cluster)
    slurm = {group["InstanceGroupName"]: group.get("SlurmConfig", {}) for group in described["InstanceGroups"]}
    partitions: dict[str, tuple[str, ...]] = {}
    for group, config in slurm.items():
        for partition in config.get("PartitionNames", ()):
            partitions[partition] = (*partitions.get(partition, ()), group)
    roles = {group: config["NodeType"] for group, config in slurm.items()}
    return Instances(cloud.resource_config(cluster), roles, partitions)


def boot(lab: Lab, instances: Instances) -> None:
    """First boot: addresses, resource_config.json, slurm.conf, slurmctld and every slurmd."""
    lab.partitions = instances.partitions
    lab.write_slurm_conf()
    lab.run("ip", "address", "add", f"{instances.controller_address}/32", "dev", "lo", check=True)
    write_resource_config(lab, instances)
    lab.controller.start()
    lab.start_slurmds(lab.nodes)


def write_resource_config(lab: Lab, instances: Instances) -> None:
    """As HyperPod does on every change of the cluster: the whole file anew."""
    lab.box.write_text(RESOURCE_CONFIG, json.dumps(instances.resource_config, indent=1) + "\n")


def stage_lifecycle_scripts(cloud: LocalCloud, lab: Lab, cluster: str) -> str:
    """Copy the controller group's SourceS3Uri to the node, as HyperPod does; gives the script's path there."""
    described = cloud.client("sagemaker").describe_cluster(ClusterName=cluster)
    uri = next(
        str(group["LifeCycleConfig"]["SourceS3Uri"])
        for group in described["InstanceGroups"]
        if group["SlurmConfig"]["NodeType"] == "Controller"
    )
    bucket, _, prefix = uri.removeprefix("s3://").partition("/")
    prefix = prefix.rstrip("/") + "/"
    s3 = cloud.client("s3")
    with tempfile.TemporaryDirectory() as folder:
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            for found in page.get("Contents", ()):
                target = Path(folder, found["Key"].removeprefix(prefix))
                target.parent.mkdir(parents=True, exist_ok=True)
                s3.download_file(bucket, found["Key"], str(target))
        lab.box.copy_in(Path(folder), STAGING)
    return f"{STAGING}/{SCRIPT}"
