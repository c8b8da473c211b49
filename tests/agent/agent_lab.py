"""The agent in a lab: its code in the box, HyperPod's file, and passes as systemd would start them."""

from __future__ import annotations

import functools
import io
import json
import subprocess
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from slurm_lab import Lab, Node
from slurm_lab.box import Completed

__all__ = ["CODE", "AgentLab", "Member", "resource_config"]

SOURCE = Path(__file__).parents[2] / "lifecycle_scripts" / "slurm_topology"
CODE = "/opt/agent-under-test"
RESOURCE_CONFIG = "/opt/ml/config/resource_config.json"
SETTINGS = "/etc/slurm-topology/agent.json"
P5 = "ml.p5.48xlarge"
GB200 = "ml.p6e-gb200.36xlarge"


@dataclass(frozen=True)
class Member:
    """An instance as HyperPod's file shows it. ``path``: network nodes, top → leaf; empty: no labels yet."""

    address: str
    instance_id: str
    path: tuple[str, ...] = ()
    ultraserver: str | None = None
    group: str = "train"

    @property
    def labels(self) -> dict[str, str] | None:
        labels = {f"network-node-layer-{number}": node for number, node in enumerate(self.path, 1)}
        if self.ultraserver:
            labels["ultraserver-id"] = self.ultraserver
        return labels or None


def resource_config(members: Iterable[Member], types: Mapping[str, str] | None = None) -> dict[str, Any]:
    """HyperPod's file. ``types``: instance type of each group (default: train is p5)."""
    types = types or {"train": P5}
    groups: list[dict[str, Any]] = [
        {
            "Name": "controller",
            "InstanceType": "ml.m5.xlarge",
            "Instances": [_instance(0, Member("10.0.0.1", "i-c", group="controller"))],
        }
    ]
    listed = list(members)
    for name, instance_type in types.items():
        own = [_instance(number, member) for number, member in enumerate(listed, 1) if member.group == name]
        groups.append({"Name": name, "InstanceType": instance_type, "Instances": own or None})
    return {
        "ClusterType": "Slurm",
        "ClusterConfig": {"ClusterArn": "arn:aws:sagemaker:us-west-2:111122223333:cluster/abc", "ClusterName": "lab"},
        "SlurmConfig": {"PrimaryControllerIp": "", "SecondaryControllerIps": []},
        "InstanceGroups": groups,
    }


def _instance(number: int, member: Member) -> dict[str, Any]:
    return {
        "InstanceName": f"{member.group}-{number}",
        "AgentIpAddress": f"172.16.{number // 256}.{number % 256}",
        "CustomerIpAddress": member.address,
        "InstanceId": member.instance_id,
        "InstanceLabel": member.labels,
    }


class AgentLab:
    """A lab with the agent's code in it."""

    def __init__(self, lab: Lab, **settings: object) -> None:
        self.lab = lab
        lab.run("mkdir", "-p", CODE, check=True)
        lab.box.outside(f"{CODE}/code.tar").write_bytes(_code())
        lab.run("tar", "-x", "-f", f"{CODE}/code.tar", "-C", CODE, check=True)
        self.configure(**settings)

    def configure(self, **settings: object) -> None:
        """agent.json; tests neither wait for quiet files nor write metrics unless they want to."""
        chosen = {"coalesce_seconds": 0, "reconfigures_per_minute": 1000, "metrics_textfile": None, "cloudwatch": False}
        self.lab.box.write_text(SETTINGS, json.dumps({**chosen, **settings}))

    def write_members(self, members: Sequence[Member], types: Mapping[str, str] | None = None) -> None:
        self.lab.box.write_text(RESOURCE_CONFIG, json.dumps(resource_config(members, types)))

    def run(self, *arguments: str, timeout: float = 120) -> Completed:
        """A command of the agent, as a process of its own in the box."""
        return self.lab.run(
            "env", f"PYTHONPATH={CODE}", "python3", "-B", "-m", "slurm_topology", *arguments, timeout=timeout
        )

    def popen(self, *arguments: str) -> subprocess.Popen[str]:
        return self.lab.box.popen("env", f"PYTHONPATH={CODE}", "python3", "-B", "-m", "slurm_topology", *arguments)

    def reconcile(self, *, expect: int = 0) -> dict[str, Any]:
        """One pass; its record as `status` remembers it. Fails the test when the exit code isn't the expected one."""
        done = self.run("reconcile", "--now")
        assert done.returncode == expect, f"exit {done.returncode}: {done.stdout}{done.stderr}"
        last: dict[str, Any] = self.state()["last_passes"][-1]
        return {**last, "log": done.stderr}

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads(self.lab.box.read_text("/var/lib/slurm-topology/state.json"))
        return state

    def topology(self) -> list[dict[str, Any]]:
        """What `slurm-topology show --json` says is in force."""
        done = self.run("show", "--json")
        assert done.returncode == 0, done.stderr
        shown: list[dict[str, Any]] = json.loads(done.stdout)["topologies"]
        return shown

    def leaf_of(self) -> dict[str, str]:
        """Node → leaf switch or block, of the topology in force (all topologies together)."""
        places: dict[str, str] = {}
        for topology in self.topology():
            for unit in topology.get("switches", []) + topology.get("blocks", []):
                places.update({node: unit.get("switch") or unit["block"] for node in unit["nodes"]})
        return places


@functools.cache
def _code() -> bytes:
    """The library and a pure PyYAML, as a tar file."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, folder in (("slurm_topology", SOURCE), ("yaml", Path(yaml.__file__).parent)):
            for path in sorted(folder.rglob("*")):
                if path.suffix in (".py", ".json", ".typed"):
                    archive.add(path, f"{name}/{path.relative_to(folder)}")
    return buffer.getvalue()


def members_of(nodes: Sequence[Node], leaf: int) -> list[Member]:
    """Members at these nodes' addresses, ``leaf`` under one leaf, two leaves under one spine, one core."""
    return [
        Member(node.address, node.instance_id, ("nn-core0", f"nn-spine{index // leaf // 2}", f"nn-leaf{index // leaf}"))
        for index, node in enumerate(nodes)
    ]
