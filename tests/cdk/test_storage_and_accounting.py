"""File systems and databases, made or brought."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_kms as kms
from aws_cdk import aws_secretsmanager as secretsmanager

from cdk.apps import CLUSTER, new_cluster, new_stack, properties_of, resources_of, template_of
from hyperpod_slurm import (
    ClusterNetwork,
    ExistingDatabase,
    LustreMount,
    LustreThroughput,
    NewDatabase,
    NewLustre,
    NewOpenZfs,
)

FILE_SYSTEM = "AWS::FSx::FileSystem"
DATABASE = "AWS::RDS::DBInstance"


def storage_configs(stack: Stack) -> list[list[dict[str, Any]]]:
    """InstanceStorageConfigs of each group."""
    return [group["InstanceStorageConfigs"] for group in properties_of(stack, CLUSTER)["InstanceGroups"]]


def test_a_new_lustre_file_system_is_mounted_by_every_group() -> None:
    """In the nodes' subnet and security group, kept when the stack goes."""
    stack = new_stack()
    new_cluster(stack, shared_storage=[NewLustre(capacity_gib=4800, throughput=LustreThroughput.MBPS_500)])
    ((name, resource),) = resources_of(stack, FILE_SYSTEM).items()
    properties = resource["Properties"]
    assert (properties["FileSystemType"], properties["StorageCapacity"]) == ("LUSTRE", 4800)
    assert properties["LustreConfiguration"]["PerUnitStorageThroughput"] == 500
    network = properties_of(stack, CLUSTER)["VpcConfig"]
    assert properties["SubnetIds"] == network["Subnets"]
    assert properties["SecurityGroupIds"] == network["SecurityGroupIds"]
    assert resource["DeletionPolicy"] == "Retain"
    expected = {
        "FsxLustreConfig": {
            "DnsName": {"Fn::GetAtt": [name, "DNSName"]},
            "MountName": {"Fn::GetAtt": [name, "LustreMountName"]},
            "MountPath": "/fsx",
        }
    }
    assert storage_configs(stack) == [[expected], [expected]]


def test_a_new_openzfs_file_system() -> None:
    stack = new_stack()
    key = kms.Key(stack, "Key")
    new_cluster(stack, shared_storage=[NewOpenZfs(encryption_key=key, removal_policy=RemovalPolicy.DESTROY)])
    ((name, resource),) = resources_of(stack, FILE_SYSTEM).items()
    assert resource["Properties"]["FileSystemType"] == "OPENZFS"
    assert resource["Properties"]["KmsKeyId"] == stack.resolve(key.key_arn)
    assert resource["DeletionPolicy"] == "Delete"
    expected = {"FsxOpenZfsConfig": {"DnsName": {"Fn::GetAtt": [name, "DNSName"]}, "MountPath": "/home"}}
    assert storage_configs(stack) == [[expected], [expected]]


def test_a_file_system_of_the_same_app() -> None:
    """An L2 of aws-cdk-lib by its own attributes."""
    stack = new_stack()
    network = ClusterNetwork(stack, "Network")
    file_system = fsx.LustreFileSystem(
        stack,
        "Files",
        vpc=network.vpc,
        vpc_subnet=network.subnets[0],
        storage_capacity_gib=1200,
        lustre_configuration=fsx.LustreConfiguration(deployment_type=fsx.LustreDeploymentType.SCRATCH_2),
    )
    new_cluster(stack, network=network, shared_storage=[LustreMount.from_file_system(file_system, mount_path="/data")])
    config = storage_configs(stack)[0][0]["FsxLustreConfig"]
    assert config["MountPath"] == "/data"
    assert config["MountName"] == stack.resolve(file_system.mount_name)


def controller_policy(stack: Stack) -> str:
    return str(
        [
            policy
            for policy in resources_of(stack, "AWS::IAM::Policy").values()
            if "ControllerRole" in str(policy["Properties"]["Roles"])
        ]
    )


def test_a_new_database() -> None:
    """Private, encrypted, backed up, kept as a snapshot; its password known to the controller alone."""
    stack = new_stack()
    new_cluster(stack, accounting=NewDatabase())
    ((name, resource),) = resources_of(stack, DATABASE).items()
    properties = resource["Properties"]
    assert properties["Engine"] == "mariadb"
    assert properties["StorageEncrypted"] is True
    assert properties["PubliclyAccessible"] is False
    assert properties["DeletionProtection"] is True
    assert properties["BackupRetentionPeriod"] == 7
    assert resource["DeletionPolicy"] == "Snapshot"
    database = properties_of(stack, CLUSTER)["Orchestrator"]["Slurm"]["AccountingDatabase"]
    assert database["Endpoint"] == {"Fn::GetAtt": [name, "Endpoint.Address"]}
    assert database["Port"] == 3306
    assert "secretsmanager:GetSecretValue" in controller_policy(stack)
    others = str(resources_of(stack, "AWS::IAM::Policy")).replace(controller_policy(stack)[1:-1], "")
    assert "secretsmanager" not in others


def test_the_nodes_reach_the_database_and_nobody_else() -> None:
    stack = new_stack()
    new_cluster(stack, accounting=NewDatabase())
    into = [rule["Properties"] for rule in resources_of(stack, "AWS::EC2::SecurityGroupIngress").values()]
    (to_database,) = [rule for rule in into if "AccountingDatabase" in str(rule["GroupId"])]
    assert "NetworkSecurityGroup" in str(to_database["SourceSecurityGroupId"])
    out = [rule["Properties"] for rule in resources_of(stack, "AWS::EC2::SecurityGroupEgress").values()]
    assert any("AccountingDatabase" in str(rule.get("DestinationSecurityGroupId")) for rule in out)


def test_a_database_has_subnets_in_two_zones() -> None:
    """RDS wants that even for one instance; they lie beside the nodes' half of the VPC."""
    stack = new_stack()
    new_cluster(stack, accounting=NewDatabase())
    subnets = [found["Properties"] for found in resources_of(stack, "AWS::EC2::Subnet").values()]
    zones = [str(subnet["AvailabilityZone"]) for subnet in subnets if subnet["CidrBlock"] != "10.0.0.0/17"]
    assert len(zones) == len(set(zones)) == 2
    assert sorted(subnet["CidrBlock"] for subnet in subnets) == ["10.0.0.0/17", "10.0.254.224/28", "10.0.254.240/28"]


def test_a_brought_vpc_gives_its_own_subnets() -> None:
    stack = new_stack()
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    new_cluster(stack, vpc=vpc, accounting=NewDatabase())
    group = properties_of(stack, "AWS::RDS::DBSubnetGroup")
    assert group["SubnetIds"] == [stack.resolve(subnet.subnet_id) for subnet in vpc.private_subnets]


def test_a_database_in_one_zone_is_refused() -> None:
    stack = new_stack()
    vpc = ec2.Vpc(stack, "Vpc", max_azs=1)
    with pytest.raises(ValueError, match="at least two Availability Zones; got 1"):
        new_cluster(stack, vpc=vpc, accounting=NewDatabase())


@pytest.mark.parametrize(("name", "expected"), [("accounts", {"Name": "accounts"}), (None, {})])
def test_an_existing_database(name: str | None, expected: dict[str, str]) -> None:
    stack = new_stack()
    secret = secretsmanager.Secret(stack, "Secret")
    database = ExistingDatabase(endpoint="db.example.com", secret=secret, port=3307, database_name=name)
    new_cluster(stack, accounting=database)
    rendered = properties_of(stack, CLUSTER)["Orchestrator"]["Slurm"]["AccountingDatabase"]
    arn = stack.resolve(secret.secret_arn)
    assert rendered == {"Endpoint": "db.example.com", "Port": 3307, "SecretArn": arn, **expected}
    assert not resources_of(stack, DATABASE)


def test_no_secret_is_in_the_template() -> None:
    stack = new_stack()
    new_cluster(stack, accounting=NewDatabase())
    properties = properties_of(stack, DATABASE)
    assert "{{resolve:secretsmanager:" in str(properties["MasterUserPassword"])
    assert "'SecretString'" not in str(template_of(stack)["Resources"])


def test_nodes_without_internet_reach_secrets_manager() -> None:
    stack = new_stack()
    new_cluster(stack, accounting=NewDatabase())
    services = str([one["Properties"]["ServiceName"] for one in resources_of(stack, "AWS::EC2::VPCEndpoint").values()])
    assert ".secretsmanager" in services
