"""CloudFormation types that ministack lacks and a HyperPod stack needs.

A provisioner is `create(logical_id, properties, stack_name) -> (physical id, attributes)`, `update(physical_id, old,
new, stack_name[, logical_id])` with the same answer, and `delete(physical_id, properties)`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any

from botocore.model import StructureShape
from ministack.core.responses import get_account_id, get_region
from ministack.services import ec2, s3
from ministack.services.cloudformation import provisioners

from local_cloud.cluster import Cluster
from local_cloud.errors import HyperPodError
from local_cloud.plugin.state import here
from local_cloud.shapes import coerce, service_model

__all__ = ["install"]

Json = dict[str, Any]
Provisioned = tuple[str, Json]
_S3 = provisioners._RESOURCE_HANDLERS["AWS::S3::Bucket"]


# -- AWS::SageMaker::Cluster ----------------------------------------------------------------------------------------
def create_cluster(logical_id: str, properties: Json, stack_name: str) -> Provisioned:
    name = properties.get("ClusterName") or _generated_name(stack_name, logical_id)
    return _apply("CreateCluster", {**properties, "ClusterName": name})


def update_cluster(physical_id: str, old: Json, new: Json, _stack_name: str) -> Provisioned:
    """In place; ministack has already seen to it that a change of a create-only property is a replacement."""
    wanted = {group["InstanceGroupName"] for group in new.get("InstanceGroups", ())}
    gone = [group["InstanceGroupName"] for group in old.get("InstanceGroups", ())]
    request = {
        **new,
        "ClusterName": physical_id,
        "InstanceGroupsToDelete": [name for name in gone if name not in wanted],
    }
    return _apply("UpdateCluster", request)


def delete_cluster(physical_id: str, _properties: Json) -> None:
    if physical_id in here().clusters:
        here().call("DeleteCluster", {"ClusterName": physical_id})


def _apply(operation: str, properties: Json) -> Provisioned:
    """Call the API with a template's properties and wait as CloudFormation's handler does, failing as it fails."""
    shape = service_model().operation_model(operation).input_shape
    assert isinstance(shape, StructureShape)
    request = coerce(properties, shape)
    try:
        cluster = here().cluster(here().call(operation, request)["ClusterArn"])
    except HyperPodError as error:
        raise ValueError(_handler_message(error.message, error.code)) from error
    if cluster.failure:
        message = cluster.failure
        if operation == "CreateCluster":
            delete_cluster(cluster.arn, {})
        raise ValueError(_handler_message(message, "NotStabilized"))
    return cluster.arn, _attributes(cluster)


def _attributes(cluster: Cluster) -> Json:
    attributes = {"ClusterArn": cluster.arn, "ClusterStatus": cluster.status, "CreationTime": str(cluster.created)}
    return attributes | ({"FailureMessage": cluster.failure} if cluster.failure else {})


def _handler_message(message: str, code: str) -> str:
    return f'Resource handler returned message: "{message}" (HandlerErrorCode: {code})'


def _generated_name(stack_name: str, logical_id: str) -> str:
    """A name that no cluster has, as CloudFormation makes one when the template gives none."""
    taken = {cluster.name for cluster in here().clusters.values()}
    number = 0
    while True:
        suffix = hashlib.sha256(f"{stack_name}/{logical_id}/{number}".encode()).hexdigest()[:12]
        base = re.sub(r"[^a-zA-Z0-9]+", "-", f"{stack_name}-{logical_id}")[:50].strip("-")
        if (name := f"{base}-{suffix}") not in taken:
            return name
        number += 1


# -- EC2 ------------------------------------------------------------------------------------------------------------
def create_eip(_logical_id: str, _properties: Json, _stack_name: str) -> Provisioned:
    answer = ec2._allocate_address({"Domain": ["vpc"]})
    address = _xml_text(answer, "publicIp")
    return address, {"AllocationId": _xml_text(answer, "allocationId"), "PublicIp": address}


def delete_eip(physical_id: str, _properties: Json) -> None:
    for allocation_id, address in list(ec2._addresses.items()):
        if address["PublicIp"] == physical_id:
            ec2._release_address({"AllocationId": [allocation_id]})


def create_nat_gateway(_logical_id: str, properties: Json, _stack_name: str) -> Provisioned:
    wanted = {
        name: [properties[name]] for name in ("SubnetId", "AllocationId", "ConnectivityType") if name in properties
    }
    nat_gateway_id = _xml_text(ec2._create_nat_gateway(wanted), "natGatewayId")
    return nat_gateway_id, {"NatGatewayId": nat_gateway_id}


def delete_nat_gateway(physical_id: str, _properties: Json) -> None:
    ec2._delete_nat_gateway({"NatGatewayId": [physical_id]})


def _rule_provisioner(permissions_member: str) -> dict[str, Callable[..., Any]]:
    """SecurityGroupIngress and SecurityGroupEgress: one rule in its group's list."""

    def create(logical_id: str, properties: Json, stack_name: str) -> Provisioned:
        group = ec2._security_groups.get(properties["GroupId"])
        if group is None:
            raise ValueError(f"The security group '{properties['GroupId']}' does not exist")
        group[permissions_member] += provisioners._ec2_sg_permissions([properties])
        digest = hashlib.sha256(f"{stack_name}/{logical_id}/{properties['GroupId']}".encode()).hexdigest()[:17]
        return f"sgr-{digest}", {"Id": f"sgr-{digest}"}

    def delete(_physical_id: str, properties: Json) -> None:
        group = ec2._security_groups.get(properties.get("GroupId", ""))
        for permission in provisioners._ec2_sg_permissions([properties]) if group else ():
            if permission in group[permissions_member]:
                group[permissions_member].remove(permission)

    def update(physical_id: str, old: Json, new: Json, stack_name: str, logical_id: str) -> Provisioned:
        delete(physical_id, old)
        return create(logical_id, new, stack_name)

    return {"create": create, "update": update, "delete": delete}


def _xml_text(answer: tuple[int, Json, bytes], tag: str) -> str:
    status, _headers, body = answer
    text = body.decode()
    if status != 200:
        raise ValueError(text)
    return text.split(f"<{tag}>", 1)[1].split("<", 1)[0]


# -- Types that only have to exist: an id, and attributes with the right form -----------------------------------------
def _placeholder(attributes: Callable[[str], Json], prefix: str) -> dict[str, Callable[..., Any]]:
    def create(logical_id: str, _properties: Json, stack_name: str) -> Provisioned:
        physical_id = prefix + hashlib.sha256(f"{stack_name}/{logical_id}".encode()).hexdigest()[:17]
        return physical_id, attributes(physical_id)

    def update(physical_id: str, _old: Json, _new: Json, _stack_name: str) -> Provisioned:
        return physical_id, attributes(physical_id)

    return {"create": create, "update": update, "delete": lambda _physical_id, _properties: None}


def _fsx_attributes(file_system_id: str) -> Json:
    region, account = get_region(), get_account_id()
    return {
        "DNSName": f"{file_system_id}.fsx.{region}.amazonaws.com",
        "LustreMountName": "abcdefgh",
        "ResourceARN": f"arn:aws:fsx:{region}:{account}:file-system/{file_system_id}",
        "RootVolumeId": f"fsvol-{file_system_id.removeprefix('fs-')}",
    }


def _with_bucket_tags(provision: Callable[..., Provisioned]) -> Callable[..., Provisioned]:
    """Buckets with the tags of the template, which ministack drops: CDK empties only buckets that have its tag."""

    def provision_and_tag(*arguments: Any) -> Provisioned:
        bucket, attributes = provision(*arguments)
        properties = arguments[2] if provision is _S3["update"] else arguments[1]
        if tags := {tag["Key"]: tag["Value"] for tag in properties.get("Tags", ())}:
            s3._bucket_tags[bucket] = tags
        return bucket, attributes

    return provision_and_tag


def install() -> None:
    """Register the types."""
    provisioners._RESOURCE_HANDLERS.update(
        {
            "AWS::SageMaker::Cluster": {"create": create_cluster, "update": update_cluster, "delete": delete_cluster},
            "AWS::EC2::EIP": {"create": create_eip, "delete": delete_eip},
            "AWS::EC2::NatGateway": {"create": create_nat_gateway, "delete": delete_nat_gateway},
            "AWS::EC2::SecurityGroupIngress": {**_rule_provisioner("IpPermissions"), "update_with_logical_id": True},
            "AWS::EC2::SecurityGroupEgress": {
                **_rule_provisioner("IpPermissionsEgress"),
                "update_with_logical_id": True,
            },
            "AWS::EC2::FlowLog": _placeholder(lambda i: {"Id": i}, "fl-"),
            "AWS::FSx::FileSystem": _placeholder(_fsx_attributes, "fs-"),
            "AWS::FSx::Volume": _placeholder(lambda i: {"VolumeId": i}, "fsvol-"),
            "AWS::FSx::DataRepositoryAssociation": _placeholder(lambda i: {"AssociationId": i}, "dra-"),
        }
    )
    _S3.update({action: _with_bucket_tags(_S3[action]) for action in ("create", "update")})
    # CloudFormation registry schema of the type, createOnlyProperties.
    provisioners._REPLACING_PROPERTIES["AWS::SageMaker::Cluster"] = ("ClusterName", "VpcConfig")
