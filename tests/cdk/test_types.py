"""HPS017: arguments of a wrong type are found before anything looks at them, each with its place, all at once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest
from aws_cdk import CfnParameter, Duration, Token
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager

from cdk.apps import controller, errors_of, new_cluster, new_stack, p5
from hyperpod_slurm import (
    Capacity,
    ClusterNetwork,
    ComputeGroup,
    ControllerGroup,
    EbsVolume,
    ExistingDatabase,
    HandlerOptions,
    InstanceGroup,
    Lifecycle,
    LoginGroup,
    LustreMount,
    NewDatabase,
    NewLustre,
    NewOpenZfs,
    OpenZfsMount,
    SlurmCluster,
    Topology,
    TopologyAlarms,
    TopologyDashboard,
)
from hyperpod_slurm._rules_types import expect_types, wrong_types


class Odd:
    """A value of no type that anything takes."""


def keywords(function: Callable[..., Any]) -> list[str]:
    kinds = inspect.signature(function).parameters.values()
    return [one.name for one in kinds if one.kind is one.KEYWORD_ONLY and not one.name.startswith("_")]


@pytest.mark.parametrize(
    ("construct", "argument"),
    [
        (construct, argument)
        for construct in (SlurmCluster, ClusterNetwork, TopologyAlarms, TopologyDashboard)
        for argument in keywords(construct.__init__)
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_every_argument_of_every_construct_is_looked_at(construct: Any, argument: str) -> None:
    stack = new_stack()
    cluster = SlurmCluster.from_cluster_attributes(
        stack, "Mine", cluster_arn="arn:aws:sagemaker:us-west-2:123456789012:cluster/a1b2c3d4e5f6"
    )
    given: dict[str, Any] = {"instance_groups": [controller(), p5()], "cluster": cluster}
    arguments = {name: value for name, value in given.items() if name in keywords(construct.__init__)}
    with pytest.raises(TypeError, match=rf"^HPS017 {argument} must be .*; got a value of type Odd\. [^\n]*$"):
        construct(stack, "It", **{**arguments, argument: Odd()})


PLAIN: list[Any] = [
    Capacity(),
    ComputeGroup("train", "ml.p5.48xlarge"),
    ControllerGroup(),
    EbsVolume(size_gib=1),
    ExistingDatabase(endpoint="db.example.com", secret=Any),  # type: ignore[arg-type]
    HandlerOptions(),
    Lifecycle(),
    LoginGroup(),
    LustreMount(dns_name="fs-1", mount_name="a"),
    NewDatabase(),
    NewLustre(),
    NewOpenZfs(),
    OpenZfsMount(dns_name="fs-1"),
    Topology(),
]


@pytest.mark.parametrize(
    ("plain", "field"),
    [(plain, field.name) for plain in PLAIN for field in fields(plain)],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_every_field_of_every_plain_value_is_looked_at(plain: Any, field: str) -> None:
    """The path to it is told."""

    def function(value: Any) -> None: ...

    function.__annotations__["value"] = type(plain)
    values = {one.name: getattr(plain, one.name) for one in fields(plain)}
    changed = type(plain)(**{**values, field: Odd()})
    found = [one.message for one in wrong_types(function, {"value": changed})]
    (message,) = [text for text in found if text.startswith(f"value.{field} must be ")]
    assert message.endswith("; got a value of type Odd")


def number(value: float) -> None: ...


def whole(value: int) -> None: ...


def role(value: iam.IRole | None) -> None: ...


@pytest.mark.parametrize(
    ("function", "value", "right"),
    [
        (number, 4, True),
        (number, 4.5, True),
        (number, True, False),
        (number, None, False),
        (number, "4", False),
        (whole, 4, True),
        (whole, 4.0, True),
        (whole, 4.5, False),
        (role, None, True),
        (role, "arn:aws:iam::123456789012:role/mine", False),
        (role, iam.Role, False),
    ],
)
def test_plain_values(function: Callable[..., None], value: Any, right: bool) -> None:
    assert bool(list(wrong_types(function, {"value": value}))) is not right


def test_a_parameter_is_a_number_or_a_text() -> None:
    """What CDK encodes into either is taken; its plain reference is not, and the remedy says how."""
    parameter = CfnParameter(new_stack(), "Count", type="Number")
    for function in (number, whole):
        expect_types(function, {"value": parameter.value_as_number})
        expect_types(function, {"value": Token.as_number(parameter.value)})
        with pytest.raises(TypeError, match=r"Token\.as_number"):
            expect_types(function, {"value": parameter.value})


def test_whatever_cdk_gives_for_an_interface_is_taken() -> None:
    """Constructs, imported ones, and objects that jsii has no class for; but no other resource."""
    stack = new_stack()
    principal = iam.ServicePrincipal("sagemaker.amazonaws.com")
    roles = [
        iam.Role(stack, "Made", assumed_by=principal),
        iam.LazyRole(stack, "Lazy", assumed_by=principal),
        iam.Role.from_role_arn(stack, "Imported", "arn:aws:iam::123456789012:role/mine"),
        iam.Role.from_role_arn(stack, "Fixed", "arn:aws:iam::123456789012:role/mine", mutable=False),
        iam.Role(stack, "Whole", assumed_by=principal).without_policy_updates(),
    ]
    for one in roles:
        expect_types(role, {"value": one})
    keys = [kms.Key(stack, "Key"), kms.Alias.from_alias_name(stack, "Alias", "alias/mine"), s3.Bucket(stack, "Bucket")]
    for other in [*keys, secretsmanager.Secret(stack, "Secret"), Duration.minutes(1)]:
        with pytest.raises(TypeError, match="HPS017 value must be IRole or None; got a value of type"):
            expect_types(role, {"value": other})


def test_all_at_once_and_by_the_groups_name() -> None:
    with pytest.raises(TypeError) as raised:
        new_cluster(None, controller(), p5(count="8", partition=5), ComputeGroup(None, "ml.c5.large"), lifecycle="here")  # type: ignore[arg-type]
    assert [line.partition(" must be ")[0] for line in str(raised.value).splitlines()] == [
        "HPS017 train: count",
        "HPS017 train: partition",
        "HPS017 instance_groups[2]: name",
        "HPS017 lifecycle",
    ]


def test_a_group_of_no_kind_is_refused_where_it_is_made() -> None:
    with pytest.raises(TypeError, match="make a ControllerGroup, a LoginGroup or a ComputeGroup"):
        InstanceGroup("train", "ml.p5.48xlarge")


def test_a_cluster_of_right_types_says_nothing() -> None:
    assert errors_of(new_cluster(None, controller(), LoginGroup(), p5(), topology=Topology.auto())) == []
