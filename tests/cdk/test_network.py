"""The VPC made for EFA, and VPCs that are brought."""

from __future__ import annotations

import ipaddress
import json
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import Size, Stack
from aws_cdk import aws_ec2 as ec2

from cdk.apps import (
    CLUSTER,
    S3_PREFIX_LIST,
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
from hyperpod_slurm import ClusterNetwork, HandlerOptions, NewDatabase, SlurmCluster
from slurm_topology.aws_lambda.properties import S3PrefixListProperties


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


def separate_rules(stack: Stack, direction: str) -> dict[str, dict[str, Any]]:
    """Logical id, without CDK's hash → a rule that is a resource of its own."""
    found = resources_of(stack, f"AWS::EC2::SecurityGroup{direction}")
    return {name[:-8]: rule["Properties"] for name, rule in found.items()}


def test_all_traffic_to_itself_and_nothing_else_but_s3() -> None:
    """EFA needs a rule to the group itself, both ways; nothing comes in from elsewhere, only HTTPS to S3 goes out."""
    stack = new_stack()
    ClusterNetwork(stack, "Network")
    (into,) = rules(stack, "Ingress")
    assert into["IpProtocol"] == "-1"
    assert into["SourceSecurityGroupId"] == into["GroupId"]
    to_s3, to_itself = sorted(separate_rules(stack, "Egress").values(), key=lambda rule: rule["IpProtocol"] == "-1")
    assert to_itself["IpProtocol"] == "-1"
    assert to_itself["DestinationSecurityGroupId"] == to_itself["GroupId"]
    assert (to_s3["IpProtocol"], to_s3["FromPort"], to_s3["ToPort"]) == ("tcp", 443, 443)
    (found,) = resources_of(stack, S3_PREFIX_LIST)
    assert to_s3["DestinationPrefixListId"] == {"Fn::GetAtt": [found, "PrefixListId"]}
    assert "0.0.0.0/0" not in str(rules(stack, "Egress"))


def test_the_prefix_list_that_is_asked_for_is_that_of_the_endpoint() -> None:
    """Whatever the partition calls the service: endpoint and list have one name."""
    stack = new_stack()
    ClusterNetwork(stack, "Network")
    gateways = [
        endpoint["Properties"]["ServiceName"]
        for endpoint in resources_of(stack, "AWS::EC2::VPCEndpoint").values()
        if endpoint["Properties"]["VpcEndpointType"] == "Gateway"
    ]
    properties = properties_of(stack, S3_PREFIX_LIST)
    assert [properties["ServiceName"]] == gateways
    assert S3PrefixListProperties.read({**properties, "ServiceName": "com.amazonaws.us-west-2.s3"}).service_name


@pytest.mark.parametrize(
    ("arguments", "known"),
    [({}, True), ({"s3_prefix_list_id": "pl-12345678"}, False), ({"internet_access": True}, False)],
    ids=["default", "id", "internet"],
)
def test_a_lambda_function_only_where_the_prefix_list_has_to_be_found(arguments: dict[str, Any], known: bool) -> None:
    stack = new_stack()
    ClusterNetwork(stack, "Network", **arguments)
    assert bool(resources_of(stack, S3_PREFIX_LIST)) is known
    assert bool(resources_of(stack, "AWS::Lambda::Function")) is known
    actions = [
        statement["Action"]
        for policy in resources_of(stack, "AWS::IAM::Policy").values()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if statement.get("Sid") == "PrefixLists"
    ]
    assert actions == (["ec2:DescribeManagedPrefixLists"] if known else [])


def test_in_a_vpc_of_others_https_is_open_until_the_prefix_list_is_given() -> None:
    """How nodes reach AWS's APIs there is not known: a NAT gateway, endpoints with groups of their own."""
    for prefix_list_id, anywhere in ((None, True), ("pl-12345678", False)):
        stack = new_stack()
        vpc = ec2.Vpc(stack, "Vpc", max_azs=1)
        ClusterNetwork(stack, "Network", vpc=vpc, s3_prefix_list_id=prefix_list_id)
        assert ("0.0.0.0/0" in str(separate_rules(stack, "Egress"))) is anywhere
        assert not resources_of(stack, S3_PREFIX_LIST)


def test_a_change_of_egress_never_cuts_nodes_off() -> None:
    """CloudFormation updates a group before it makes rules that name it, makes rules before it deletes others, and EC2
    refuses a rule twice. So the group is the same in all variants, and a rule's logical id says what it allows."""
    groups, egress = [], {}
    for name, arguments in {
        "closed": {},
        "given": {"s3_prefix_list_id": "pl-12345678"},
        "internet": {"internet_access": True},
        "both": {"internet_access": True, "s3_prefix_list_id": "pl-12345678"},
    }.items():
        stack = new_stack()
        ClusterNetwork(stack, "Network", **arguments)  # type: ignore[arg-type]
        groups.append(resources_of(stack, "AWS::EC2::SecurityGroup"))
        names = {rule.removeprefix("NetworkSecurityGroup") for rule in separate_rules(stack, "Egress")}
        egress[name] = {rule for rule in names if not rule.startswith("to")}
    assert all(group == groups[0] for group in groups)
    (inside,) = (group["Properties"]["SecurityGroupEgress"] for group in groups[0].values())
    assert [rule["CidrIp"] for rule in inside] == ["127.0.0.1/32"], "without any, EC2's own rule lets everything out"
    internet = {"HttpsToAnywhere", "HttpToAnywhere"}
    assert egress == {"closed": {"ToS3"}, "given": {"ToS3"}, "internet": internet, "both": internet | {"ToS3"}}


def test_nodes_can_be_let_out_to_more() -> None:
    stack = new_stack()
    network = ClusterNetwork(stack, "Network")
    network.connections.allow_to(ec2.Peer.ipv4("10.1.0.0/16"), ec2.Port.tcp(8080), "package mirror")
    assert "10.1.0.0/16" in [rule.get("CidrIp") for rule in rules(stack, "Egress")]


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


def test_a_zone_that_was_named_by_its_id_is_known_to_cloudformation() -> None:
    """What asks the subnet for its zone, such as a volume beside it, gets that of the subnet, not the first one."""
    stack = new_stack()
    (subnet,) = ClusterNetwork(stack, "Network", availability_zone_id="usw2-az4", internet_access=True).subnets
    ec2.Volume(stack, "Volume", availability_zone=subnet.availability_zone, size=Size.gibibytes(1))
    zone = properties_of(stack, "AWS::EC2::Volume")["AvailabilityZone"]
    name = next(name for name in resources_of(stack, "AWS::EC2::Subnet") if "Compute" in name)
    assert zone == {"Fn::GetAtt": [name, "AvailabilityZone"]}


@pytest.mark.parametrize("prefix", range(16, 26))
def test_every_size_of_vpc_makes_subnets_that_aws_takes(prefix: int) -> None:
    """/16 to /28, inside the VPC, none over another; nodes get half of it (VPC user guide, "Subnet CIDR blocks")."""
    stack = new_stack()
    network = ClusterNetwork(stack, "Network", cidr=f"10.64.0.0/{prefix}", internet_access=True)
    new_cluster(stack, controller(), network=network, accounting=NewDatabase())
    block = ipaddress.IPv4Network(properties_of(stack, "AWS::EC2::VPC")["CidrBlock"])
    found = [
        ipaddress.IPv4Network(one["Properties"]["CidrBlock"])
        for one in resources_of(stack, "AWS::EC2::Subnet").values()
    ]
    assert len(found) == 4
    assert all(16 <= one.prefixlen <= 28 and one.subnet_of(block) for one in found)
    assert not any(one.overlaps(other) for one in found for other in found if one is not other)
    assert max(one.num_addresses for one in found) * 2 == block.num_addresses


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
    with pytest.raises(ValueError, match="handler can be given with a new VPC that has to find"):
        ClusterNetwork(stack, "Four", internet_access=True, handler=HandlerOptions())
    with pytest.raises(ValueError, match="subnets can be given with a vpc of your own"):
        ClusterNetwork(stack, "Two", subnets=vpc.private_subnets)
    with pytest.raises(ValueError, match="cidr can be given with a new VPC"):
        ClusterNetwork(stack, "Five", vpc=vpc, cidr="10.1.0.0/16")
    with pytest.raises(ValueError, match="got both: us-west-2a and usw2-az1"):
        ClusterNetwork(stack, "Six", availability_zone="us-west-2a", availability_zone_id="usw2-az1")
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


def test_others_are_let_in_to_groups_with_security_groups_of_their_own() -> None:
    stack = new_stack()
    network = ClusterNetwork(stack, "Network")
    own = ec2.SecurityGroup(stack, "Own", vpc=network.vpc, allow_all_outbound=False)
    groups = [*network.security_groups, own]
    cluster = new_cluster(stack, controller(), p5(security_groups=groups), network=network)
    assert [one.node.path for one in cluster.connections.security_groups] == [one.node.path for one in groups]


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
