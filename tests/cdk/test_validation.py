"""Each rule: the smallest app that breaks it, and its neighbour that does not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from aws_cdk import Annotations, CfnParameter, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_ssm as ssm

from cdk.apps import ROOT, annotations_of, controller, errors_of, new_cluster, new_stack, p5
from cdk.rule_apps import Build, Case, brought_vpc, subnet
from cdk.rule_cases import ERRORS, WARNINGS
from hyperpod_slurm import (
    Capacity,
    ClusterNetwork,
    ComputeGroup,
    ExistingDatabase,
    LustreMount,
    SlurmCluster,
)
from hyperpod_slurm._rules import as_text
from hyperpod_slurm._rules_types import wrong_types


def made(build: Build, folder: Path) -> tuple[list[str], list[str]]:
    """(errors, annotations) of the app."""
    folder.mkdir()
    stack = new_stack()
    stack.node.set_context("folder", str(folder))
    groups, properties = build(stack)
    if wrong := list(wrong_types(SlurmCluster.__init__, {"instance_groups": groups, **properties})):
        return [as_text(finding) for finding in wrong], []
    if not {"network", "vpc"} & set(properties):
        groups_of_aws = [ec2.SecurityGroup.from_security_group_id(stack, "Fabric", "sg-1")]
        properties["network"] = ClusterNetwork(stack, "Network", vpc=brought_vpc(stack), security_groups=groups_of_aws)
    cluster = new_cluster(stack, *groups, **properties)
    return [*cluster.network.node.validate(), *errors_of(cluster)], annotations_of(cluster)


def with_id(texts: list[str], finding_id: str) -> list[str]:
    return [text for text in texts if text.startswith(f"{finding_id} ")]


def name_of(case: Case) -> str:
    return case.id


@pytest.mark.parametrize("case", ERRORS, ids=name_of)
def test_an_error_and_its_neighbour(case: Case, tmp_path: Path) -> None:
    """The bad app has this error and no other; the good one has none."""
    errors, _ = made(case.bad, tmp_path / "bad")
    assert len(with_id(errors, case.id)) == len(errors) == 1
    assert case.says in errors[0]
    assert made(case.good, tmp_path / "good")[0] == []


@pytest.mark.parametrize("case", WARNINGS, ids=name_of)
def test_a_warning_and_its_neighbour(case: Case, tmp_path: Path) -> None:
    """The bad app synthesizes, and says so once; the good one does not say it."""
    errors, annotations = made(case.bad, tmp_path / "bad")
    assert errors == []
    (text,) = with_id(annotations, case.id)
    assert case.says in text
    assert text.endswith(f"[ack: hyperpod-slurm:{case.id}]")
    assert with_id(made(case.good, tmp_path / "good")[1], case.id) == []


def test_every_id_is_tested_and_documented() -> None:
    """Ids in the code, in the cases above and in docs/validations.md are the same."""
    sources = (ROOT / "constructs/hyperpod_slurm").glob("_rules_*.py")
    in_code = {found for path in sources for found in re.findall(r'"(HPS\d{3})"', path.read_text())}
    in_cases = {case.id for case in (*ERRORS, *WARNINGS) if case.id.startswith("HPS")}
    in_docs = set(re.findall(r"^### (HPS\d{3})\b", (ROOT / "docs/validations.md").read_text(), re.MULTILINE))
    assert in_code == in_cases
    assert in_code == in_docs


def test_all_errors_are_told_at_once() -> None:
    """One synth, every mistake, each with the group it is about."""
    stack = new_stack()
    new_cluster(stack, p5("a", 7000, threads_per_core=4), p5("a", 1, partition="x_y"), cluster_name="no good")
    with pytest.raises(RuntimeError) as raised:
        stack.node.root.synth()  # type: ignore[attr-defined]
    text = str(raised.value)
    for finding in ("HPS001", "HPS003 a:", "HPS004", "HPS021 a:", "HPS025 a:", "HPS028 a:"):
        assert finding in text
    assert "[Test/Cluster]" in text


def test_a_warning_can_be_acknowledged() -> None:
    cluster = new_cluster(None, controller(), p5(partition="dev"))
    assert with_id(annotations_of(cluster), "HPS027")
    Annotations.of(cluster).acknowledge_warning("hyperpod-slurm:HPS027", "the name is historical")
    assert not with_id(annotations_of(cluster), "HPS027")


def test_tokens_hide_only_what_depends_on_them() -> None:
    """A count that is a parameter is not judged; what is known of the same group still is."""
    stack = new_stack()
    count = CfnParameter(stack, "Count", type="Number").value_as_number
    name = CfnParameter(stack, "Type").value_as_string
    cluster = new_cluster(stack, controller(), p5(count=count), ComputeGroup("b", name, 7000, threads_per_core=4))
    assert [text[:9] for text in errors_of(cluster)] == ["HPS021 b:", "HPS028 b:"]


def test_made_up_values_of_look_ups_are_not_judged() -> None:
    """CDK's first pass gives them; an error about one would stop the synth before the CLI has asked AWS."""
    stack = new_stack(region="us-west-2")
    told = ssm.StringParameter.value_from_lookup
    vpc = ec2.Vpc.from_lookup(stack, "Vpc", vpc_id="vpc-0123456789abcdef0")
    names = {name: told(stack, f"/train/{name}") for name in ("image", "partition", "cluster", "type", "dns", "mount")}
    groups = [
        controller(image_id=names["image"]),
        ComputeGroup(
            told(stack, "/train/group"),
            names["type"],
            8,
            partition=names["partition"],
            image_id=ec2.MachineImage.lookup(name="mine").get_image(stack).image_id,
            capacity=Capacity.training_plan(told(stack, "/train/plan")),
            update_schedule=told(stack, "/train/schedule"),
            image_release_version=told(stack, "/train/release"),
        ),
    ]
    cluster = new_cluster(
        stack,
        *groups,
        network=ClusterNetwork(stack, "Network", vpc=vpc, subnets=vpc.private_subnets),
        cluster_name=names["cluster"],
        slurm_version=told(stack, "/train/slurm"),
        shared_storage=[LustreMount(dns_name=names["dns"], mount_name=names["mount"], mount_path=names["mount"])],
        accounting=ExistingDatabase(
            endpoint=told(stack, "/train/database"),
            database_name=told(stack, "/train/name"),
            secret=secretsmanager.Secret.from_secret_name_v2(stack, "Secret", "accounting"),
        ),
    )
    assert errors_of(cluster) == []
    assert not [text for text in annotations_of(cluster) if text.startswith(("HPS02", "HPS06"))]
    assert cluster.topology_plan is None
    assert len(json.loads(_manifest(stack))["missing"]) > 10


def test_a_cidr_block_that_is_no_block_is_unknown() -> None:
    """Imported subnets have whatever text they were given."""
    for cidr in ("10.0.0.1/17", "foo"):
        stack = new_stack()
        vpc = ec2.Vpc.from_vpc_attributes(stack, "Vpc", vpc_id="vpc-1", availability_zones=["us-west-2a"])
        subnets = [subnet(stack, "one", "us-west-2a", cidr)]
        cluster = new_cluster(stack, network=ClusterNetwork(stack, "Network", vpc=vpc, subnets=subnets))
        assert errors_of(cluster) == []


def _manifest(stack: Stack) -> str:
    assembly = stack.node.root.synth()  # type: ignore[attr-defined]
    return Path(assembly.directory, "manifest.json").read_text()
