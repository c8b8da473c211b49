"""What is around a HyperPod cluster, read from ministack's own state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from ministack import app
from ministack.core import iam_evaluator
from ministack.services import ec2, iam, s3

from local_cloud.cluster import Subnet

__all__ = ["MinistackWorld"]

Json = dict[str, Any]


class MinistackWorld:
    """Subnets, security groups, roles and S3 objects of one account and region."""

    def __init__(self, account: str, region: str) -> None:
        self._account, self._region = account, region

    def subnets(self, ids: list[str]) -> list[Subnet]:
        if not ids:
            zone = f"{self._region}a"
            return [Subnet("service-network", "10.192.0.0/16", zone, ec2._az_id_for_zone_name(zone))]
        return [
            Subnet(i, record["CidrBlock"], record["AvailabilityZone"], record["AvailabilityZoneId"])
            for i in ids
            if (record := ec2._subnets.get(i))
        ]

    def problems(self, request: Json) -> list[str]:
        """All that the definition names and that isn't there, or that the execution role may not read."""
        found = list(_missing_network(request.get("VpcConfig") or {}))
        for group in request.get("InstanceGroups", ()):
            name = group["InstanceGroupName"]
            messages = (
                *_missing_network(group.get("OverrideVpcConfig") or {}),
                *self._role(group["ExecutionRole"]),
                *self._life_cycle(group),
            )
            found += [f"Instance group '{name}': {message}" for message in messages]
        return found

    def _role(self, arn: str) -> Iterator[str]:
        if iam._roles.get(_role_name(arn)) is None:
            yield f"The execution role {arn} doesn't exist."

    def _life_cycle(self, group: Json) -> Iterator[str]:
        config = group.get("LifeCycleConfig") or {}
        script = config.get("OnCreate") or config.get("OnInitComplete")
        if not (script and config.get("SourceS3Uri")):
            return
        place = urlsplit(config["SourceS3Uri"])
        prefix = place.path.strip("/")
        key = f"{prefix}/{script}" if prefix else script
        if s3._buckets.get(place.netloc) is None:
            yield f"Lifecycle scripts: bucket {place.netloc} doesn't exist."
            return
        if s3._get_object_data(place.netloc, key) is None:
            yield f"Lifecycle scripts: s3://{place.netloc}/{key} doesn't exist."
        parameters = f"{prefix}/provisioning_parameters.json".lstrip("/")
        if group.get("SlurmConfig") and s3._get_object_data(place.netloc, parameters) is not None:
            yield "provisioning_parameters.json cannot be used together with SlurmConfig."
        yield from self._denied(group["ExecutionRole"], place.netloc, place.path.lstrip("/"), key)

    def _denied(self, role_arn: str, bucket: str, listed: str, key: str) -> Iterator[str]:
        """With IAM enforced, the instance's role has to be allowed to list and read its scripts."""
        if not app.AUTH:
            return
        policies = iam_evaluator._gather_role_policies(_role_name(role_arn), self._account)
        bucket_arn = f"arn:aws:s3:::{bucket}"
        for action, resource in (("s3:ListBucket", bucket_arn), ("s3:GetObject", f"{bucket_arn}/{key}")):
            context = iam_evaluator.EvalContext(
                principal_arn=role_arn,
                principal_type="AssumedRole",
                principal_account=self._account,
                action=action,
                resource_arn=resource,
                region=self._region,
                secure_transport=True,
                service_context={"s3:prefix": listed} if action == "s3:ListBucket" else {},
            )
            if iam_evaluator.evaluate(context, policies).decision != "Allow":
                yield f"Lifecycle scripts: the execution role {role_arn} is not allowed to {action} on {resource}."


def _missing_network(vpc_config: Json) -> Iterator[str]:
    for subnet in vpc_config.get("Subnets", ()):
        if ec2._subnets.get(subnet) is None:
            yield f"The subnet ID '{subnet}' does not exist."
    for security_group in vpc_config.get("SecurityGroupIds", ()):
        if ec2._security_groups.get(security_group) is None:
            yield f"The security group '{security_group}' does not exist."


def _role_name(arn: str) -> str:
    return arn.rpartition("/")[2]
