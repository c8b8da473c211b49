#!/usr/bin/env python3
"""Writes the sources of clusters/*: what HyperPod, SageMaker and Slurm would say about clusters of many kinds.

All ids are invented. The drawings and the reasons are in clusters/README.md, the expected files beside the sources.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "clusters"
P5, B200, GB200, CPU = "ml.p5.48xlarge", "ml.p6-b200.48xlarge", "ml.p6e-gb200.36xlarge", "ml.c5.9xlarge"
ZONES = {"us-west-2a": "usw2-az1", "us-west-2b": "usw2-az2"}


def instance(group: str, number: int, address: int, path: str = "", ultraserver: str = "") -> dict[str, Any]:
    """``path``: "core/spine/leaf", as far as HyperPod's three labels go."""
    label = {f"network-node-layer-{n}": f"nn-{node}" for n, node in enumerate(filter(None, path.split("/")), 1)}
    if ultraserver:
        label["ultraserver-id"] = ultraserver
    return {
        "InstanceName": f"{group}-{number}",
        "AgentIpAddress": f"172.16.0.{address}",
        "CustomerIpAddress": f"10.1.0.{address}",
        "InstanceId": f"i-{address:017x}",
        "InstanceLabel": label or None,
    }


def instances(group: str, first: int, *places: str) -> list[dict[str, Any]]:
    """Instances at consecutive addresses; a place is "4 x core/spine/leaf" or "4 x core/spine/leaf @ ultraserver"."""
    made: list[dict[str, Any]] = []
    for place in places:
        count, _, rest = place.partition(" x")
        path, _, ultraserver = rest.partition("@")
        for _ in range(int(count)):
            made.append(instance(group, len(made) + 1, first + len(made), path.strip(), ultraserver.strip()))
    return made


def config(*groups: tuple[str, str, list[dict[str, Any]] | None]) -> dict[str, Any]:
    controller = ("controller", "ml.m5.xlarge", [instance("controller", 1, 4)])
    return {
        "ClusterType": "Slurm",
        "ClusterConfig": {
            "ClusterArn": "arn:aws:sagemaker:us-west-2:111122223333:cluster/abcde01234yz",
            "ClusterName": "c",
        },
        "SlurmConfig": {"PrimaryControllerIp": "", "SecondaryControllerIps": []},
        "InstanceGroups": [{"Name": n, "InstanceType": t, "Instances": i} for n, t, i in (controller, *groups)],
    }


def describe(
    group: str, instance_type: str, members: list[dict[str, Any]], zone: str, ultraserver_type: str = ""
) -> list[Any]:
    """DescribeClusterNode answers of these instances."""
    answers = []
    for member in members:
        details: dict[str, Any] = {
            "InstanceGroupName": group,
            "InstanceId": member["InstanceId"],
            "InstanceType": instance_type,
            "InstanceStatus": {"Status": "Running"},
            "PrivatePrimaryIp": member["CustomerIpAddress"],
            "Placement": {"AvailabilityZone": zone, "AvailabilityZoneId": ZONES[zone]},
        }
        label = member["InstanceLabel"] or {}
        if "ultraserver-id" in label:
            details["UltraServerInfo"] = {"Id": label["ultraserver-id"], "Type": ultraserver_type}
        answers.append({"NodeDetails": details})
    return answers


def ultraserver(name: str, total: int, spare: int, kind: str = "ml.u-p6e-gb200x72") -> dict[str, Any]:
    return {
        "UltraServerId": name,
        "UltraServerType": kind,
        "AvailabilityZone": "us-west-2a",
        "InstanceType": GB200,
        "TotalInstanceCount": total,
        "ConfiguredSpareInstanceCount": spare,
        "HealthStatus": "OK",
    }


def slurm_nodes(*nodes: tuple[str, str]) -> str:
    """``scontrol show nodes`` for (name, address)."""
    rest = "State=IDLE ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A\n   Partitions=dev"
    return "".join(
        f"NodeName={name} Arch=x86_64 CoresPerSocket=1 \n   NodeAddr={address} "
        f"NodeHostName=ip-{address.replace('.', '-')} \n   {rest} \n\n"
        for name, address in nodes
    )


def write(case: str, **sources: Any) -> None:
    folder = HERE / case
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in sources.items():
        if isinstance(source, str):
            (folder / f"{name}.txt").write_text(source)
        else:
            (folder / f"{name}.json").write_text(json.dumps(source, indent=1) + "\n")


def main() -> None:
    a = instances("train", 10, "2 x c1/s1/l1", "2 x c1/s1/l2", "2 x c1/s2/l3", "1 x")
    b = instances("other", 30, "2 x c2/s3/l4", "2 x c2/s4/l5")
    zones = describe("train", P5, a, "us-west-2a") + describe("other", P5, b, "us-west-2b")
    write("two-zones", resource_config=config(("train", P5, a), ("other", P5, b)), cluster_nodes=zones)

    b200 = instances("b200", 30, "2 x c2/t1/u1", "2 x c2/t1/u2", "1 x c2/t1")
    p5 = instances("p5", 10, "2 x c1/s1/l1", "2 x c1/s2/l2")
    write("three-and-four-layers", resource_config=config(("p5", P5, p5), ("b200", B200, b200)))

    login = [instance("login", 1, 8)]
    train = instances("train", 10, "2 x c1/s1/l1", "2 x c1/s1/l2")
    cpu = instances("cpu", 20, "2 x")
    known = [("login-1", "10.1.0.8"), *((f"ip-10-1-0-{n}", f"10.1.0.{n}") for n in (10, 11, 12, 13, 20, 21))]
    write(
        "partitions-of-each-kind",
        resource_config=config(("login", "ml.m5.large", login), ("train", P5, train), ("cpu", CPU, cpu)),
        scontrol_show_nodes=slurm_nodes(*known),
        partitions={"cpu": ["cpu"], "dev": ["train", "cpu"], "train": ["train"]},
    )

    named = instances("train", 10, "2 x c1/s1/l1", "2 x c1/s1/l2")
    write(
        "nodes-with-names-of-their-own",
        resource_config=config(("train", P5, named)),
        scontrol_show_nodes=slurm_nodes(
            ("gpu-a", "10.1.0.10"), ("gpu-b", "10.1.0.12"), ("gpu-c", "10.1.0.11"), ("new-1", "10.1.0.99")
        ),
    )

    small = instances("ultra", 10, "9 x c1/s1/l1 @ us-1", "9 x c1/s1/l2 @ us-2")
    types = describe("ultra", GB200, small, "us-west-2a", "ml.u-p6e-gb200x36")
    write("ultraservers-of-nine", resource_config=config(("ultra", GB200, small)), cluster_nodes=types)

    spare = instances("spare", 10, "17 x c1/s1/l1 @ us-1", "17 x c1/s1/l2 @ us-2")
    full = instances("full", 50, "18 x c1/s2/l3 @ us-3", "18 x c1/s2/l4 @ us-4")
    facts = [
        ultraserver("us-1", 18, 1),
        ultraserver("us-2", 18, 1),
        ultraserver("us-3", 18, 0),
        ultraserver("us-4", 18, 0),
    ]
    write(
        "two-training-plans",
        resource_config=config(("spare", GB200, spare), ("full", GB200, full)),
        ultraservers={"UltraServers": facts},
        partitions={"full": ["full"], "spare": ["spare"]},
    )

    filling = instances("ultra", 10, "17 x c1/s1/l1 @ us-1", "5 x c1/s1/l2 @ us-2", "5 x c1/s1/l3 @ us-3", "1 x")
    write("ultraservers-filling", resource_config=config(("ultra", GB200, filling)))

    some = instances("train", 10, "2 x c1/s1/l1", "2 x c1/s1/l2")
    write("a-group-without-nodes", resource_config=config(("train", P5, some), ("later", P5, None)))


if __name__ == "__main__":
    main()
