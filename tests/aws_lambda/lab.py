"""The whole function with fake services around it: an event goes in, CloudFormation's mailbox gets the answer."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aws_lambda.cluster_fake import ClusterFake, FakeNode, nodes
from aws_lambda.events import LambdaContext, Mailbox, event, log_lines
from aws_lambda.s3_fake import S3Fake
from aws_lambda.service_fake import Refusal, ServiceFake
from slurm_topology.aws_lambda.handler import INITIAL_TOPOLOGY, S3_PREFIX_LIST, TOPOLOGY_PLAN, Doors, serve

__all__ = ["BUCKET", "PREFIX", "Lab", "group", "lab_with"]

BUCKET = "sagemaker-lifecycle"
PREFIX = "hyperpod-slurm/c8/0123"


def group(name: str, instance_type: str, count: int, **changes: Any) -> dict[str, Any]:
    """An instance group as it arrives in the properties: all text."""
    partitions = {} if changes.get("Role") in ("Controller", "Login") else {"Partitions": ["train"]}
    return {
        "Name": name,
        "InstanceType": instance_type,
        "Role": "Compute",
        "Count": str(count),
        **partitions,
        **changes,
    }


CONTROLLER = group("controller", "ml.m5.xlarge", 1, Role="Controller")


@dataclass
class Lab:
    """``groups`` are those of the properties; the services can be changed between requests."""

    groups: list[dict[str, Any]] = field(default_factory=lambda: [CONTROLLER, group("gpu", "ml.p5.48xlarge", 4)])
    s3: S3Fake = field(default_factory=S3Fake)
    cluster: ClusterFake = field(default_factory=ClusterFake)
    mailbox: Mailbox = field(default_factory=Mailbox)
    context: LambdaContext = field(default_factory=LambdaContext)
    ec2_types: dict[str, dict[str, Any]] = field(default_factory=dict)
    prefix_lists: list[dict[str, Any]] = field(default_factory=list)
    log: io.StringIO = field(default_factory=io.StringIO)

    def __post_init__(self) -> None:
        handlers: dict[str, Callable[..., dict[str, Any]]] = {
            "DescribeInstanceTypes": self._describe_types,
            "DescribeManagedPrefixLists": self._describe_lists,
        }
        self.ec2 = ServiceFake("ec2", handlers)
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr("on_init_complete.sh", "#!/bin/sh\n")
            archive.writestr("agent.zip", "PK")
        self.s3.objects["assets", "bundle.zip"] = (stream.getvalue(), {})

    def _describe_types(self, InstanceTypes: list[str]) -> dict[str, Any]:  # noqa: N803
        if not set(InstanceTypes) <= set(self.ec2_types):
            raise Refusal(
                "InvalidInstanceType", f"do not exist: [{', '.join(set(InstanceTypes) - set(self.ec2_types))}]"
            )
        return {"InstanceTypes": [self.ec2_types[name] for name in InstanceTypes]}

    def _describe_lists(self, Filters: list[dict[str, Any]], NextToken: str = "0") -> dict[str, Any]:  # noqa: N803
        """One list a page, as EC2 filters them: the values of one filter are alternatives, all filters must match."""
        members = {"owner-id": "OwnerId", "prefix-list-name": "PrefixListName"}
        wanted = [(members[one["Name"]], one["Values"]) for one in Filters]
        found = [one for one in self.prefix_lists if all(one[member] in values for member, values in wanted)]
        start = int(NextToken)
        more = {"NextToken": str(start + 1)} if start + 1 < len(found) else {}
        return {"PrefixLists": found[start : start + 1], **more}

    def client(self, service: str) -> Any:
        return {"s3": self.s3.client, "ec2": self.ec2.client, "sagemaker": self.cluster.client}[service]

    # -- requests
    def plan(self, kind: str = "Create", /, **changes: Any) -> dict[str, Any]:
        """Ask for the topology plan; gives CloudFormation's answer. ``changes`` replace properties."""
        properties = {
            "BundleBucket": "assets",
            "BundleKey": "bundle.zip",
            "LifecycleBucket": BUCKET,
            "LifecyclePrefix": PREFIX,
            "Groups": self.groups,
            "Topology": {"Kind": "auto", "BlockSizes": []},
            "Mode": "own",
            "Fingerprint": "f",
            **changes,
        }
        return self.send(event(kind, TOPOLOGY_PLAN, properties))

    def initial(self, kind: str = "Create", /, old: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
        """Ask for the initial topology. ``old``: OldResourceProperties, which an update has."""
        properties = {
            "ClusterName": "c1",
            "LifecycleBucket": BUCKET,
            "LifecyclePrefix": PREFIX,
            "PlanSha256": "s",
            "Groups": self.groups,
            "Fingerprint": "f",
            **changes,
        }
        more = {"OldResourceProperties": {**properties, **(old or {})}} if kind == "Update" else {}
        return self.send(event(kind, INITIAL_TOPOLOGY, properties, **more))

    def s3_prefix_list(self, kind: str = "Create", /, **changes: Any) -> dict[str, Any]:
        """Ask for the prefix list of S3."""
        properties = {"ServiceName": "com.amazonaws.us-west-2.s3", "Fingerprint": "f", **changes}
        return self.send(event(kind, S3_PREFIX_LIST, properties))

    def send(self, request: dict[str, Any]) -> dict[str, Any]:
        doors = Doors(
            self.client,
            self.mailbox.postman,
            self.log,
            {"sleep": lambda _: None, "uniform": lambda _, high: high},
        )
        serve(request, self.context, doors)
        return self.mailbox.answer

    # -- what is there afterwards
    def stored(self, name: str, prefix: str = PREFIX) -> dict[str, Any]:
        content, _ = self.s3.objects[BUCKET, f"{prefix}/{name}"]
        document: dict[str, Any] = json.loads(content)
        return document

    @property
    def lines(self) -> list[dict[str, Any]]:
        return log_lines(self.log)


def lab_with(found: list[FakeNode], groups: list[dict[str, Any]] | None = None, **changes: Any) -> Lab:
    """A lab whose plan is made and whose cluster has these nodes and a controller."""
    lab = Lab(
        cluster=ClusterFake(
            nodes=[*nodes(1, 5000, group="controller", instance_type="ml.m5.xlarge"), *found], **changes
        )
    )
    lab.groups = [CONTROLLER, *(groups or [group("gpu", "ml.p5.48xlarge", len(found))])]
    assert lab.plan()["Status"] == "SUCCESS"
    return lab
