"""Small apps in this process: what the tests of the constructs start from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast
from weakref import WeakKeyDictionary

from aws_cdk import App, Environment, Stack
from aws_cdk.assertions import Template

from hyperpod_slurm import ComputeGroup, ControllerGroup, InstanceGroup, SlurmCluster

ROOT = Path(__file__).parents[2]
CLUSTER = "AWS::SageMaker::Cluster"
PLAN = "Custom::HyperPodSlurmTopologyPlan"
INITIAL = "Custom::HyperPodSlurmInitialTopology"
S3_PREFIX_LIST = "Custom::HyperPodSlurmS3PrefixList"


def feature_flags() -> dict[str, Any]:
    """What cdk.json sets: the recommended flags of aws-cdk-lib 2.275."""
    context: dict[str, Any] = json.loads((ROOT / "cdk.json").read_text())["context"]
    return context


def new_stack(name: str = "Test", *, flags: bool = False, region: str | None = None) -> Stack:
    app = App(context=feature_flags() if flags else None)
    env = Environment(account="123456789012", region=region) if region else None
    return Stack(app, name, env=env)


def controller(**properties: Any) -> ControllerGroup:
    return ControllerGroup("controller", **properties)


def p5(name: str = "train", count: float = 8, **properties: Any) -> ComputeGroup:
    return ComputeGroup(name, "ml.p5.48xlarge", count, **properties)


def new_cluster(stack: Stack | None = None, *groups: InstanceGroup, **properties: Any) -> SlurmCluster:
    """A controller and eight P5 instances, unless other groups are given."""
    return SlurmCluster(stack or new_stack(), "Cluster", instance_groups=groups or (controller(), p5()), **properties)


_templates: WeakKeyDictionary[Stack, dict[str, Any]] = WeakKeyDictionary()


def template_of(stack: Stack) -> dict[str, Any]:
    """Synthesized once: a construct tree may not change afterwards."""
    if stack not in _templates:
        _templates[stack] = dict(Template.from_stack(stack).to_json())
    return _templates[stack]


def resources_of(stack: Stack, resource_type: str) -> dict[str, dict[str, Any]]:
    """Logical id → resource."""
    found: Mapping[str, dict[str, Any]] = template_of(stack)["Resources"]
    return {name: resource for name, resource in found.items() if resource["Type"] == resource_type}


def properties_of(stack: Stack, resource_type: str) -> dict[str, Any]:
    """Properties of the one resource of that type."""
    (resource,) = resources_of(stack, resource_type).values()
    return cast(dict[str, Any], resource["Properties"])


def errors_of(cluster: SlurmCluster) -> list[str]:
    """What would stop `cdk synth`."""
    return list(cluster.node.validate())


def annotations_of(cluster: SlurmCluster) -> list[str]:
    """Warnings and facts that `cdk synth` shows, acknowledged ones left out."""
    kinds = ("aws:cdk:warning", "aws:cdk:info")
    return [str(entry.data) for entry in cluster.node.metadata if entry.type in kinds]
