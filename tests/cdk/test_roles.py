"""Roles and keys that others keep: of another stack, of a single group, of another account, known by an alias."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from aws_cdk import App, Environment, NestedStack, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3

from cdk.apps import (
    CLUSTER,
    annotations_of,
    controller,
    new_cluster,
    new_stack,
    p5,
    properties_of,
    resources_of,
    template_of,
)
from hyperpod_slurm import ClusterBase, EbsVolume, LoginGroup, NewDatabase, NewLustre, NewOpenZfs, SlurmCluster

ACCOUNT, REGION = "123456789012", "us-west-2"
SAGEMAKER = iam.ServicePrincipal("sagemaker.amazonaws.com")


def beside(stack: Stack, name: str) -> Stack:
    """Another stack of the app, in the same place."""
    root = stack.node.root
    assert isinstance(root, App)
    env = Environment(account=ACCOUNT, region=REGION) if "Token" not in stack.region else None
    return Stack(root, name, env=env)


def new_role(scope: Stack, name: str = "Role") -> iam.Role:
    return iam.Role(scope, name, assumed_by=SAGEMAKER)


def statements(stack: Stack, role: object) -> Iterator[dict[str, Any]]:
    """What policies of ``stack`` allow a role: a reference to it, or its name."""
    for policy in resources_of(stack, "AWS::IAM::Policy").values():
        if role in policy["Properties"]["Roles"]:
            yield from policy["Properties"]["PolicyDocument"]["Statement"]


def actions(found: Iterator[dict[str, Any]]) -> set[str]:
    listed = [one["Action"] for one in found]
    return {name for one in listed for name in ([one] if isinstance(one, str) else one)}


def circles(stack: Stack) -> list[str]:
    """Resources that wait for themselves."""
    resources: dict[str, Any] = template_of(stack)["Resources"]
    waits = {name: set(references(resource)) & set(resources) for name, resource in resources.items()}
    while free := [name for name, others in waits.items() if not others & set(waits)]:
        for name in free:
            del waits[name]
    return sorted(waits)


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "Ref":
                yield inner
            elif key == "Fn::GetAtt":
                yield inner[0] if isinstance(inner, list) else inner.partition(".")[0]
            elif key == "DependsOn":
                yield from [inner] if isinstance(inner, str) else inner
            else:
                yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


NEEDED = {
    "ec2:DescribeSubnets",
    "ec2:CreateNetworkInterface",
    "ec2:CreateTags",
    "s3:GetObject",
    "s3:ListBucket",
    "kms:CreateGrant",
    "kms:Decrypt",
    "sagemaker:DescribeClusterNode",
    "cloudwatch:PutMetricData",
    "secretsmanager:GetSecretValue",
}


@pytest.mark.parametrize("flags", [False, True], ids=["without-flags", "with-flags"])
@pytest.mark.parametrize("region", [None, REGION], ids=["anywhere", "somewhere"])
def test_a_role_of_another_stack(region: str | None, flags: bool) -> None:
    """Two stacks that name each other can't be deployed: what the role may do is said in the cluster's, in time."""
    stack = new_stack(region=region, flags=flags)
    other = beside(stack, "Security")
    role = new_role(other)
    cluster = new_cluster(
        stack,
        execution_role=role,
        encryption_key=kms.Key(stack, "Key"),
        accounting=NewDatabase(encryption_key=kms.Key(stack, "DatabaseKey")),
    )
    cluster.grant_describe(role)
    cluster.grant_manage_nodes(cluster)
    assembly = stack.node.root.synth()  # type: ignore[attr-defined]
    needs = {
        one.stack_name: [each.id for each in one.dependencies if "assets" not in each.id] for one in assembly.stacks
    }
    assert needs == {"Test": ["Security"], "Security": []}
    assert circles(stack) == []
    assert not resources_of(other, "AWS::IAM::Policy")
    name = stack.resolve(role.role_name)
    policies = {
        key: one for key, one in resources_of(stack, "AWS::IAM::Policy").items() if one["Properties"]["Roles"] == [name]
    }
    grants = [key for key in policies if "OnSelf" in key]
    (rest,) = set(policies) - set(grants)
    assert rest in properties_of_cluster(stack)["DependsOn"], "nodes start with it"
    assert actions(iter(policies[rest]["Properties"]["PolicyDocument"]["Statement"])) >= NEEDED
    assert "sagemaker:BatchAddClusterNodes" in actions(statements(stack, name))
    key = next(one for logical, one in resources_of(stack, "AWS::KMS::Key").items() if "DatabaseKey" in logical)
    assert str(stack.resolve(role.role_arn)) in str(key["Properties"]["KeyPolicy"]), "as a role of the same stack"
    assert not [text for text in annotations_of(cluster) if text.startswith("HPS070")]


def properties_of_cluster(stack: Stack) -> dict[str, Any]:
    (cluster,) = resources_of(stack, CLUSTER).values()
    return cluster


def test_a_cluster_in_a_nested_stack() -> None:
    """Its role in the stack around it: a nested stack is another stack."""
    stack = new_stack()
    nested = NestedStack(stack, "Nested")
    new_cluster(nested, execution_role=new_role(stack))
    assert circles(stack) == []
    assert circles(nested) == []
    assert not resources_of(stack, "AWS::IAM::Policy")


@pytest.mark.parametrize("mutable", [True, False])
def test_an_imported_role_of_another_stack(mutable: bool) -> None:
    """Its policy is in the cluster's stack: in the other, it would come too late. One that takes none gets none."""
    stack = new_stack(region=REGION)
    arn = f"arn:aws:iam::{ACCOUNT}:role/mine"
    role = iam.Role.from_role_arn(beside(stack, "Security"), "Role", arn, mutable=mutable)
    cluster = new_cluster(stack, execution_role=role)
    found = actions(statements(stack, "mine"))
    assert ("ec2:CreateNetworkInterface" in found) is mutable
    assert bool([text for text in annotations_of(cluster) if text.startswith("HPS070")]) is not mutable


@pytest.mark.parametrize("place", ["execution_role", "controller_role", "compute", "login", "controller", "function"])
def test_whoever_of_its_nodes_is_granted_the_cluster(place: str) -> None:
    """The cluster waits for the policies of its nodes' roles, so a grant on itself is none of them."""
    stack = new_stack()
    role = new_role(stack)
    given = {"execution_role": role} if place in ("execution_role", "function") else {}
    given |= {"controller_role": role} if place == "controller_role" else {}
    own: dict[str, dict[str, Any]] = {name: {} for name in ("compute", "login", "controller")}
    if place in own:
        own[place] = {"execution_role": role}
    groups = (controller(**own["controller"]), LoginGroup("login", **own["login"]), p5(**own["compute"]))
    cluster = new_cluster(stack, *groups, **given)
    grantee: iam.IGrantable = role
    if place == "function":  # somebody else with the nodes' role
        code = lambda_.Code.from_inline("pass")
        grantee = lambda_.Function(
            stack, "Function", runtime=lambda_.Runtime.PYTHON_3_12, handler="index.run", code=code, role=role
        )
    cluster.grant_describe(grantee)
    cluster.grant_update_software(grantee)
    assert circles(stack) == []
    found = actions(statements(stack, stack.resolve(role.role_name)))
    assert {"sagemaker:ListClusterNodes", "sagemaker:UpdateClusterSoftware"} <= found


def test_others_are_granted_in_their_own_policies() -> None:
    stack = new_stack()
    role = new_role(stack)
    cluster: ClusterBase = new_cluster(stack)
    cluster.grant_describe(role)
    (name,) = (key for key, one in resources_of(stack, "AWS::IAM::Policy").items() if key[:4] == "Role")
    assert name.startswith("RoleDefaultPolicy")


# ---- keys


FOREIGN = "arn:aws:kms:us-west-2:222222222222:key/11111111-2222-3333-4444-555555555555"


def volume_keys(stack: Stack) -> list[Any]:
    groups = properties_of(stack, CLUSTER)["InstanceGroups"]
    return [
        one["EbsVolumeConfig"]["VolumeKmsKeyId"]
        for group in groups
        for one in group["InstanceStorageConfigs"]
        if "EbsVolumeConfig" in one
    ]


def test_a_key_of_another_account_is_named_with_its_account() -> None:
    """By its id alone, EC2 and FSx would look for it in this account."""
    stack = new_stack(region=REGION)
    key = kms.Key.from_key_arn(stack, "Key", FOREIGN)
    new_cluster(
        stack,
        controller(),
        p5(ebs_volume=EbsVolume(size_gib=100)),
        encryption_key=key,
        shared_storage=[NewLustre(encryption_key=key), NewOpenZfs(encryption_key=key)],
    )
    assert volume_keys(stack) == [FOREIGN] * 3
    systems = resources_of(stack, "AWS::FSx::FileSystem").values()
    assert [one["Properties"]["KmsKeyId"] for one in systems] == [FOREIGN] * 2
    granted = [one for one in all_statements(stack) if "kms:" in str(one["Action"])]
    assert granted
    assert {one["Resource"] for one in granted} == {FOREIGN}


def all_statements(stack: Stack) -> list[dict[str, Any]]:
    return [
        one
        for policy in resources_of(stack, "AWS::IAM::Policy").values()
        for one in policy["Properties"]["PolicyDocument"]["Statement"]
    ]


@pytest.mark.parametrize("flags", [False, True], ids=["without-flags", "with-flags"])
def test_an_alias_that_is_known_by_its_name(flags: bool) -> None:
    """IAM compares requests with keys, never with aliases: what it allows is all keys with that alias."""
    stack = new_stack(region=REGION, flags=flags)
    new_cluster(stack, encryption_key=kms.Alias.from_alias_name(stack, "Alias", "alias/mine"))
    granted = [one for one in all_statements(stack) if "kms:" in str(one["Action"])]
    assert {"LifecycleFilesKey", "VolumeKey", "VolumeGrants"} == {one["Sid"] for one in granted}
    for one in granted:
        assert f":kms:{REGION}:{ACCOUNT}:key/*" in str(one["Resource"])
        assert one["Condition"]["ForAnyValue:StringEquals"] == {"kms:ResourceAliases": "alias/mine"}
        assert ("Bool" in one["Condition"]) is (one["Sid"] == "VolumeGrants")
    assert all(":alias/mine" in str(one) for one in volume_keys(stack))


def test_an_alias_of_a_key_of_the_app() -> None:
    """The key is known: what is allowed is that key."""
    stack = new_stack(region=REGION)
    key = kms.Key(stack, "Key")
    new_cluster(stack, encryption_key=kms.Alias(stack, "Alias", alias_name="alias/mine", target_key=key))
    granted = [one for one in all_statements(stack) if "kms:" in str(one["Action"])]
    assert granted
    assert all(one["Resource"] == stack.resolve(key.key_arn) for one in granted)


def test_an_alias_in_an_app_with_everything_of_its_own() -> None:
    """A bucket of another key, and roles of another stack: each key in its own statements."""
    stack = new_stack(region=REGION, flags=True)
    bucket = s3.Bucket(stack, "Bucket", encryption_key=kms.Key(stack, "BucketKey"), encryption=s3.BucketEncryption.KMS)
    role = new_role(beside(stack, "Security"))
    alias = kms.Alias.from_alias_name(stack, "Alias", "alias/mine")
    SlurmCluster(
        stack,
        "Cluster",
        instance_groups=[controller(), p5(root_volume_key=alias)],
        execution_role=role,
        lifecycle_bucket=bucket,
    )
    template_of(stack)  # references to another stack are known from here on
    granted = [one for one in statements(stack, stack.resolve(role.role_name)) if "kms:" in str(one["Action"])]
    assert sorted("Condition" in one and "ForAnyValue:StringEquals" in one["Condition"] for one in granted) == [
        False,
        True,
        True,
    ]
