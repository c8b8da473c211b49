"""The enum-like class of instance types."""

from __future__ import annotations

import botocore.session
import pytest
from aws_cdk import CfnParameter

from cdk.apps import new_stack
from hyperpod_slurm import ClusterInstanceType
from slurm_topology.core.instance_types import known_types


def constants() -> dict[str, str]:
    found = {name: getattr(ClusterInstanceType, name) for name in ClusterInstanceType.__annotations__ if name.isupper()}
    return {name: str(value) for name, value in found.items()}


def test_constants_are_what_sagemaker_accepts() -> None:
    """Every type of the API's enum has a constant, and no constant names anything else."""
    model = botocore.session.get_session().get_service_model("sagemaker")
    in_api = set(model.shape_for("ClusterInstanceType").enum)
    assert set(constants().values()) >= in_api
    assert set(constants().values()) <= in_api | set(known_types())


def test_names_of_constants_follow_from_the_types() -> None:
    for name, value in constants().items():
        assert name == value[3:].upper().replace(".", "_").replace("-", "_")


def test_a_type_that_is_newer() -> None:
    assert str(ClusterInstanceType.of("ml.p9.48xlarge")) == "ml.p9.48xlarge"
    assert ClusterInstanceType.of("ml.p5.48xlarge") == ClusterInstanceType.P5_48XLARGE


def test_ec2s_name_is_refused_with_the_right_one() -> None:
    with pytest.raises(ValueError, match=r"try 'ml\.p5\.48xlarge'"):
        ClusterInstanceType.of("p5.48xlarge")


def test_a_token_is_taken_as_it_is() -> None:
    name = CfnParameter(new_stack(), "Type").value_as_string
    assert ClusterInstanceType.of(name).name == name
