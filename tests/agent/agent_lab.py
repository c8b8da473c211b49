"""The agent in a lab: its code in the box, HyperPod's file, and passes as systemd would start them."""

from __future__ import annotations

import functools
import io
import json
import subprocess
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from slurm_lab import Lab, Node
from slurm_lab.box import Completed, Inner
from slurm_topology.agent import readback
from slurm_topology.agent.slurm_conf import with_topology_plugin
from slurm_topology.core.model import Blocks, ClusterTopology, Tree

__all__ = ["CODE", "GB200", "P5", "AgentLab", "Member", "blocks_of", "resource_config", "tree_of"]

SOURCE = Path(__file__).parents[2] / "lifecycle_scripts" / "slurm_topology"
IN_BOX = Path(__file__).with_name("in_box.py")
CODE = "/opt/agent-under-test"
RESOURCE_CONFIG = "/opt/ml/config/resource_config.json"
SETTINGS = "/etc/slurm-topology/agent.json"
STATE = "/var/lib/slurm-topology"
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

    def moved_to(self, leaf: int) -> Member:
        """Another instance in its place, under another leaf."""
        return replace(self, instance_id=f"{self.instance_id}x", path=_path(leaf))


def _path(leaf: int) -> tuple[str, ...]:
    return ("nn-core0", f"nn-spine{leaf // 2}", f"nn-leaf{leaf}")


def tree_of(nodes: Sequence[Node], leaf: int) -> list[Member]:
    """``leaf`` nodes under each leaf, two leaves under each spine, one core."""
    return [Member(node.address, node.instance_id, _path(index // leaf)) for index, node in enumerate(nodes)]


def blocks_of(nodes: Sequence[Node], size: int) -> list[Member]:
    """``size`` nodes in each UltraServer."""
    return [
        Member(node.address, node.instance_id, _path(index // size), f"us-{index // size}")
        for index, node in enumerate(nodes)
    ]


def resource_config(members: Iterable[Member], types: Mapping[str, str] | None = None) -> dict[str, Any]:
    """HyperPod's file. ``types``: instance type of each group (default: train is p5)."""
    controller = Member("10.0.0.1", "i-controller", group="controller")
    listed = [controller, *members]
    groups = {"controller": "ml.m5.xlarge", **(types or {"train": P5})}
    return {
        "ClusterType": "Slurm",
        "ClusterConfig": {"ClusterArn": "arn:aws:sagemaker:us-west-2:111122223333:cluster/abc", "ClusterName": "lab"},
        "SlurmConfig": {"PrimaryControllerIp": "", "SecondaryControllerIps": []},
        "InstanceGroups": [_group(name, kind, listed) for name, kind in groups.items()],
    }


def _group(name: str, instance_type: str, members: Iterable[Member]) -> dict[str, Any]:
    own = [_instance(number, member) for number, member in enumerate(members) if member.group == name]
    return {"Name": name, "InstanceType": instance_type, "Instances": own or None}


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
        self._server: Inner | None = None
        _put_code(lab)
        self.configure(**settings)

    def close(self) -> None:
        if self._server is not None:
            self._server.kill()
            self._server.communicate()
            self._server = None

    # ---- what HyperPod and the operator do

    def configure(self, **settings: object) -> None:
        """agent.json; tests neither wait for quiet files, nor reach a ceiling, nor AWS, unless they want to."""
        chosen = {"coalesce_seconds": 0, "reconfigures_per_minute": 1000, "cloudwatch": False, "ask_aws": False}
        self.lab.box.write_text(SETTINGS, json.dumps({**chosen, **settings}))

    def write_members(self, members: Sequence[Member], types: Mapping[str, str] | None = None) -> None:
        self.lab.box.write_text(RESOURCE_CONFIG, json.dumps(resource_config(members, types)))

    # ---- the agent

    def run(self, *arguments: str, timeout: float = 120) -> Completed:
        """A command of the agent, as a process of its own in the box."""
        return self.lab.run("env", f"PYTHONPATH={CODE}", "python3", "-m", "slurm_topology", *arguments, timeout=timeout)

    def popen(self, *arguments: str) -> Inner:
        return self.lab.box.popen("env", f"PYTHONPATH={CODE}", "python3", "-m", "slurm_topology", *arguments)

    def ask(self, **request: object) -> dict[str, Any]:
        """One pass by the server in the box (see in_box.py), with its points."""
        if self._server is None:
            command = ("env", f"PYTHONPATH={CODE}", "python3", f"{CODE}/in_box.py")
            self._server = self.lab.box.popen(*command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps({"settings": SETTINGS, **request}) + "\n")
        self._server.stdin.flush()
        line = self._server.stdout.readline()
        assert line, f"the server in the box has died: {self._server.communicate()[1]}"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def reconcile(self, *, failed: bool = False, **request: object) -> dict[str, Any]:
        """One pass; its record. Fails the test when it fails (or doesn't, with ``failed``)."""
        answer = self.ask(**request)
        assert "error" not in answer, answer.get("traceback", answer)
        record: dict[str, Any] = answer["record"]
        assert bool(record["failed"]) == failed, record
        return record

    def settle(self, limit: int = 6) -> list[str]:
        """Passes until nothing is left to do; the reasons on the way."""
        reasons: list[str] = []
        while len(reasons) < limit:
            record = self.reconcile()
            reasons.append(record["reason"])
            if record["reason"] == "in-force":
                return reasons
        raise AssertionError(f"not in force after {limit} passes: {reasons}, {record}")

    def rehearse_disk(self) -> str:
        """What a throw-away slurmctld says to the configuration folder: "starts", or why not."""
        return str(self.ask(op="rehearse")["verdict"])

    # ---- looking

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads(self.lab.box.read_text(f"{STATE}/state.json"))
        return state

    def in_force(self) -> ClusterTopology:
        """The topology that slurmctld runs with, in its own words."""
        if self.lab.root.exact_version >= "25.05":
            seen = readback.read_topoconf(self.lab.scontrol("show", "topoconf"))
            if seen is not None:
                return seen
        return readback.read_topology(self._show_topology())

    def _show_topology(self) -> str:
        """scontrol can show a topology only when its own slurm.conf has the plugin that is in force."""
        shown = self.lab.scontrol("show", "config")
        plugin = next(line.split()[-1] for line in shown.splitlines() if line.startswith("TopologyPlugin"))
        text = with_topology_plugin(self.lab.box.read_text(self.lab.path("slurm.conf")), plugin)
        self.lab.box.write_text("/tmp/look/slurm.conf", text)
        return self.lab.run("env", "SLURM_CONF=/tmp/look/slurm.conf", "scontrol", "show", "topology").stdout

    def unit_of(self) -> dict[str, str]:
        """Node → leaf switch or block in force (all topologies together)."""
        places: dict[str, str] = {}
        for topology in self.in_force().topologies:
            body = topology.body
            units = body.switches if isinstance(body, Tree) else body.blocks if isinstance(body, Blocks) else ()
            places.update({node: unit.name for unit in units for node in unit.nodes})
        return places

    def conf_files(self) -> dict[str, str]:
        """Name → text of slurm.conf and the topology files."""
        names = ("slurm.conf", "topology.conf", "topology.yaml")
        return {
            name: self.lab.box.read_text(self.lab.path(name))
            for name in names
            if self.lab.box.exists(self.lab.path(name))
        }


_compiled: dict[str, bytes] = {}  # Slurm version (and so Python version) → the code with its byte code


def _put_code(lab: Lab) -> None:
    """The library into the box. Its byte code is made once for each root: compiling takes longer than most tests."""
    version = lab.root.exact_version
    lab.run("mkdir", "-p", CODE, check=True)
    lab.box.outside(f"{CODE}.tar").write_bytes(_compiled.get(version) or _code())
    lab.run("tar", "-x", "-f", f"{CODE}.tar", "-C", CODE, check=True)
    if version not in _compiled:
        lab.run("python3", "-m", "compileall", "-q", CODE, check=True)
        lab.run("tar", "-c", "-f", f"{CODE}.tar", "-C", CODE, ".", check=True)
        _compiled[version] = lab.box.outside(f"{CODE}.tar").read_bytes()


@functools.cache
def _code() -> bytes:
    """The library, a pure PyYAML and the server, as a tar file."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, folder in (("slurm_topology", SOURCE), ("yaml", Path(yaml.__file__).parent)):
            for path in sorted(folder.rglob("*")):
                if path.suffix in (".py", ".json", ".typed", ".html", ".css", ".js"):
                    archive.add(path, f"{name}/{path.relative_to(folder)}")
        archive.add(IN_BOX, IN_BOX.name)
    return buffer.getvalue()
