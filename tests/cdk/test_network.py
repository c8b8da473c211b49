"""The VPC made for EFA, and VPCs that are brought."""

from __future__ import annotations

import ipaddress
import json
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2

from cdk.apps import (
    CLUSTER,
    annotations_of,
    controller,
    errors_of,
    new_cluster,
    new_stack,
    p5,
    properties_of,
    resources_of,
    template_of,
)
from hyperpod_slurm import ClusterNetwork, SlurmCluster


def rules(stack: Stack, direction: str) -> list[dict[str, Any]]:
    """Inline and separate rules of all security groups."""
    inline = f"SecurityGroup{direction}"
    found = [
        rule
        for group in resources_of(stack, "AWS::EC2::SecurityGroup").values()
        for rule in group["Properties"].get(inline, [])
    ]
    return found + [rule["Properties"] for rule in resources_of(stack, f"AWS::EC2::SecurityGroup{direction}").values()]


def test_one_subnet_in_one_zone_with_room_for_a_thousand_p5_instances() -> None:
    stack = new_stack()
    ClusterNetwork(stack, "Network")
    subnet = properties_of(stack, "AWS::EC2::Subnet")
    assert ipaddress.ip_network(subnet["CidrBlock"]).num_addresses - 5 >= 1000 * 32
    assert subnet["AvailabilityZone"] == {"Fn::Select": [0, {"Fn::GetAZs": ""}]}
    assert not subnet.get("MapPublicIpOnLaunch")


def test_all_traffic_to_itself_and_nothing_else_but_https() -> None:
    """EFA needs a rule to the group itself, both ways; nothing comes in from elsewhere, only HTTPS goes out."""
    stack = new_stack()
    ClusterNetwork(stack, "Network")
    (into,) = rules(stack, "Ingress")
    assert into["IpProtocol"] == "-1"
    assert into["SourceSecurityGroupId"] == into["GroupId"]
    to_itself, to_s3 = sorted(rules(stack, "Egress"), key=lambda rule: rule["IpProtocol"])
    assert to_itself["IpProtocol"] == "-1"
    assert to_itself["DestinationSecurityGroupId"] == to_itself["GroupId"]
    assert (to_s3["IpProtocol"], to_s3["FromPort"], to_s3["ToPort"]) == ("tcp", 443, 443)


def test_with_s3s_prefix_list_no_rule_names_everybody() -> None:
    stack = new_stack()
    ClusterNetwork(stack, "Network", s3_prefix_list_id="pl-12345678")
    assert "0.0.0.0/0" not in str(rules(stack, "Egress"))
    assert "pl-12345678" in str(rules(stack, "Egress"))


def test_no_way_to_the_internet_by_default() -> None:
    stack = new_stack()
    ClusterNetwork(stack, "Network")
    kinds = {resource["Type"] for resource in template_of(stack)["Resources"].values()}
    assert not kinds & {"AWS::EC2::InternetGateway", "AWS::EC2::NatGateway", "AWS::EC2::Route"}
    endpoints = [endpoint["Properties"] for endpoint in resources_of(stack, "AWS::EC2::VPCEndpoint").values()]
    (gateway,) = [endpoint for endpoint in endpoints if endpoint["VpcEndpointType"] == "Gateway"]
    assert str(gateway["ServiceName"]).count(".s3") == 1
    services = sorted(str(one["ServiceName"]).rpartition("}, '.")[2][:-4] for one in endpoints if one is not gateway)
    assert services == ["ec2messages", "logs", "monitoring", "sagemaker.api", "ssm", "ssmmessages", "sts"]
    assert all(one["PrivateDnsEnabled"] for one in endpoints if one is not gateway)


def test_internet_access_is_one_word() -> None:
    """A NAT gateway and rules for HTTP and HTTPS; the gateway stands in the nodes' zone, which costs least."""
    stack = new_stack()
    ClusterNetwork(stack, "Network", internet_access=True)
    assert len(resources_of(stack, "AWS::EC2::NatGateway")) == 1
    assert len(resources_of(stack, "AWS::EC2::VPCEndpoint")) == 1
    ports = sorted({rule["ToPort"] for rule in rules(stack, "Egress") if rule["IpProtocol"] == "tcp"})
    assert ports == [80, 443]
    zones = {
        str(subnet["Properties"]["AvailabilityZone"]) for subnet in resources_of(stack, "AWS::EC2::Subnet").values()
    }
    assert len(zones) == 1


def test_a_zone_by_name_or_by_id() -> None:
    stack = new_stack()
    ClusterNetwork(stack, "ByName", availability_zone="us-west-2d")
    ClusterNetwork(stack, "ById", availability_zone_id="usw2-az4")
    by_id, by_name = (subnet["Properties"] for _, subnet in sorted(resources_of(stack, "AWS::EC2::Subnet").items()))
    assert by_name["AvailabilityZone"] == "us-west-2d"
    assert by_id["AvailabilityZoneId"] == "usw2-az4"
    assert "AvailabilityZone" not in by_id


def test_no_look_ups_in_a_stack_with_an_environment() -> None:
    """`ec2.Vpc` would ask the account for its zones, so that synth needed credentials."""
    stack = new_stack(region="us-west-2")
    new_cluster(stack)
    assembly = stack.node.root.synth()  # type: ignore[attr-defined]
    manifest = json.loads((Path(assembly.directory) / "manifest.json").read_text())
    assert "missing" not in manifest


def test_rejected_traffic_is_logged() -> None:
    stack = new_stack()
    ClusterNetwork(stack, "Network")
    assert properties_of(stack, "AWS::EC2::FlowLog")["TrafficType"] == "REJECT"


def test_a_vpc_that_exists() -> None:
    """Its first private subnet, so that all nodes share a zone, and a security group of our own."""
    stack = new_stack()
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    new_cluster(stack, vpc=vpc)
    config = properties_of(stack, CLUSTER)["VpcConfig"]
    assert config["Subnets"] == [stack.resolve(vpc.private_subnets[0].subnet_id)]
    assert len(config["SecurityGroupIds"]) == 1
    assert len(resources_of(stack, "AWS::EC2::VPC")) == 1


def test_subnets_and_security_groups_that_exist() -> None:
    stack = new_stack()
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    group = ec2.SecurityGroup.from_security_group_id(stack, "Fabric", "sg-12345678")
    network = ClusterNetwork(stack, "Network", vpc=vpc, subnets=vpc.private_subnets, security_groups=[group])
    new_cluster(stack, network=network)
    config = properties_of(stack, CLUSTER)["VpcConfig"]
    assert config["Subnets"] == [stack.resolve(subnet.subnet_id) for subnet in vpc.private_subnets]
    assert config["SecurityGroupIds"] == ["sg-12345678"]
    assert not resources_of(stack, "AWS::EC2::SecurityGroup")


def test_a_subnet_that_is_known_by_its_id_only() -> None:
    """Rules that need its zone or its size keep quiet."""
    stack = new_stack()
    vpc = ec2.Vpc.from_vpc_attributes(stack, "Vpc", vpc_id="vpc-1", availability_zones=["us-west-2a"])
    subnets = [ec2.Subnet.from_subnet_id(stack, name, f"subnet-{name}") for name in ("one", "two")]
    cluster = new_cluster(stack, network=ClusterNetwork(stack, "Network", vpc=vpc, subnets=subnets))
    assert errors_of(cluster) == []
    assert not [text for text in annotations_of(cluster) if text.startswith("HPS06")]


def test_what_would_be_ignored_is_refused() -> None:
    """Arguments of a new VPC with one that exists, and the other way round."""
    stack = new_stack()
    vpc = ec2.Vpc(stack, "Vpc", max_azs=1)
    with pytest.raises(ValueError, match="internet_access can be given with a new VPC"):
        ClusterNetwork(stack, "One", vpc=vpc, internet_access=True)
    with pytest.raises(ValueError, match="subnets can be given with a vpc of your own"):
        ClusterNetwork(stack, "Two", subnets=vpc.private_subnets)
    with pytest.raises(ValueError, match="got both"):
        new_cluster(stack, network=ClusterNetwork(stack, "Three"), vpc=vpc)


def test_two_clusters_share_a_network() -> None:
    stack = new_stack()
    network = ClusterNetwork(stack, "Network")
    for name in ("One", "Two"):
        SlurmCluster(stack, name, network=network, instance_groups=[controller(), p5()])
    clusters = resources_of(stack, CLUSTER).values()
    first, second = (str(cluster["Properties"]["VpcConfig"]) for cluster in clusters)
    assert first == second
    assert len(resources_of(stack, "AWS::EC2::VPC")) == 1


def test_others_can_be_let_in() -> None:
    """`connections` are the nodes' security groups."""
    stack = new_stack()
    cluster = new_cluster(stack)
    bastion = ec2.SecurityGroup(stack, "Bastion", vpc=cluster.network.vpc)
    cluster.connections.allow_from(bastion, ec2.Port.tcp(22), "logins")
    assert [rule["ToPort"] for rule in rules(stack, "Ingress") if rule.get("ToPort") == 22] == [22]


def test_instances_may_use_their_own_subnets_only() -> None:
    """The role names the cluster's subnet and those of groups, in the account that shares the VPC."""
    stack = new_stack()
    vpc = ec2.Vpc.from_vpc_attributes(
        stack, "Vpc", vpc_id="vpc-1", availability_zones=["us-west-2a"], private_subnet_ids=["subnet-1"]
    )
    other = ec2.Subnet.from_subnet_attributes(stack, "Other", subnet_id="subnet-2", availability_zone="us-west-2a")
    network = ClusterNetwork(stack, "Network", vpc=vpc, owner_account="999999999999")
    new_cluster(stack, controller(), p5(subnets=[other]), network=network)
    policies = str(resources_of(stack, "AWS::IAM::Policy"))
    for name in ("subnet-1", "subnet-2"):
        assert f":999999999999:subnet/{name}" in policies
    assert ":subnet/*" not in policies
