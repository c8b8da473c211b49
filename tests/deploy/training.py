"""The app of this folder on a loopback cloud with IAM and TLS, and ways to look at what its deployment did."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from local_cloud import CdkError, LocalCloud

__all__ = ["INITIAL", "PLAN", "S3_PREFIX_LIST", "STACK", "Training", "Update"]

STACK = "Training"
PLAN = "Custom::HyperPodSlurmTopologyPlan"
INITIAL = "Custom::HyperPodSlurmInitialTopology"
S3_PREFIX_LIST = "Custom::HyperPodSlurmS3PrefixList"
_APP = f"{sys.executable} tests/deploy/app.py"
_LONGEST_SECONDS = 120.0

Json = dict[str, Any]


@dataclass(frozen=True)
class Update:
    """How a stack update ended: its status, and (logical id, reason) of each resource that failed, first one first."""

    status: str
    failures: tuple[tuple[str, str], ...]


class Training:
    """The stack. ``deploy`` goes through the CDK CLI; ``update`` changes the template by hand, which takes a second."""

    def __init__(self, cloud: LocalCloud) -> None:
        self.cloud = cloud
        self.training_plan = cloud.add_training_plan("gb200", ultraservers=4, spares=1)  # room for a replacement
        self.outputs: dict[str, str] = {}

    # -- deployments
    def deploy(self, **context: object) -> None:
        settings = {"plan": self.training_plan, **context}
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        self.outputs = self.cloud.cdk("deploy", "--all", *words, app=_APP).outputs[STACK]

    def refused(self, **context: object) -> str:
        """The message of a deployment that fails, its line breaks taken out."""
        with pytest.raises(CdkError) as caught:
            self.deploy(**context)
        return re.sub(r"\s+", " ", str(caught.value))

    def template(self) -> Json:
        found = self.cloudformation.get_template(StackName=STACK)["TemplateBody"]
        template: Json = json.loads(found) if isinstance(found, str) else json.loads(json.dumps(found))
        return template

    def update(self, change: Callable[[Json], None]) -> Update:
        """Update the stack with a template that ``change`` has changed in place."""
        known = {event["EventId"] for event in self.events()}
        self.cloudformation.update_stack(StackName=STACK, **self._changed(change))
        return self._ended(STACK, known)

    def create(self, name: str, change: Callable[[Json], None]) -> Update:
        """Create a second stack from the same template, changed."""
        self.cloudformation.create_stack(StackName=name, **self._changed(change))
        return self._ended(name, set())

    def status(self, stack: str = STACK) -> str:
        return str(self.cloudformation.describe_stacks(StackName=stack)["Stacks"][0]["StackStatus"])

    def events(self, stack: str = STACK) -> list[Json]:
        return list(self.cloudformation.describe_stack_events(StackName=stack)["StackEvents"])

    def _changed(self, change: Callable[[Json], None]) -> Json:
        template = self.template()
        change(template)
        return {"TemplateBody": json.dumps(template), "Capabilities": ["CAPABILITY_NAMED_IAM"]}

    def _ended(self, stack: str, known: set[str]) -> Update:
        deadline = time.monotonic() + _LONGEST_SECONDS
        while (status := self.status(stack)).endswith("_IN_PROGRESS"):
            assert time.monotonic() < deadline, f"stack {stack} is still {status}"
            time.sleep(0.05)
        new = [event for event in reversed(self.events(stack)) if event["EventId"] not in known]
        failed = [event for event in new if event["ResourceStatus"].endswith("_FAILED")]
        return Update(status, tuple((one["LogicalResourceId"], one.get("ResourceStatusReason", "")) for one in failed))

    # -- what is there
    @property
    def cloudformation(self) -> Any:
        return self.cloud.client("cloudformation")

    def output(self, start: str) -> str:
        """The output of the cluster whose name begins so; CDK adds a hash."""
        return next(value for name, value in self.outputs.items() if name.startswith(f"Cluster{start}"))

    def objects(self) -> dict[str, bytes]:
        """All objects in the lifecycle bucket."""
        s3, bucket = self.cloud.client("s3"), self.bucket
        pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket)
        keys = [one["Key"] for page in pages for one in page.get("Contents", ())]
        return {key: s3.get_object(Bucket=bucket, Key=key)["Body"].read() for key in keys}

    @property
    def bucket(self) -> str:
        return self.output("LifecycleS3Uri").split("/")[2]

    def document(self, output: str) -> Json:
        """The JSON document whose S3 URI is an output of the stack."""
        uri = self.output(output)
        document: Json = json.loads(self.objects()[uri.split("/", 3)[3]])
        return document

    def cluster(self) -> Json:
        found: Json = self.cloud.client("sagemaker").describe_cluster(ClusterName=self.output("Arn"))
        return found

    def addresses(self) -> set[str]:
        """Node names of the compute groups as HyperPod makes them."""
        groups = self.cloud.resource_config(self.output("Arn"))["InstanceGroups"]
        found = [
            one["CustomerIpAddress"] for group in groups if group["Name"] != "controller" for one in group["Instances"]
        ]
        return {"ip-" + address.replace(".", "-") for address in found}

    def physical_ids(self) -> dict[str, str]:
        """Resource type → physical id, of our custom resources."""
        found = self.cloudformation.describe_stack_resources(StackName=STACK)["StackResources"]
        ours = (PLAN, INITIAL, S3_PREFIX_LIST)
        return {one["ResourceType"]: one["PhysicalResourceId"] for one in found if one["ResourceType"] in ours}

    def log(self) -> Iterator[Json]:
        """The function's log, one object a line."""
        logs = self.cloud.client("logs")
        groups = [one["logGroupName"] for one in logs.describe_log_groups()["logGroups"]]
        for group in groups:
            if "HandlerLog" in group:
                for page in logs.get_paginator("filter_log_events").paginate(logGroupName=group):
                    yield from (json.loads(one["message"]) for one in page["events"] if one["message"].startswith("{"))

    def last_logged(self, message: str) -> Json:
        return [line for line in self.log() if line["message"] == message][-1]
