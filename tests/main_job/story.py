"""The main job, told in order: deploy, boot, jobs, scale up, scale down, replace, destroy.

Each event is caused through the same door as on AWS (`cdk deploy`, BatchReplaceClusterNodes). After it, the topology
that slurmctld uses is held against the labels of the instances, and the job that was running before must still run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from local_cloud import LocalCloud, Racks
from main_job import agent_host, hyperpod_node, leaves
from main_job.progress import Progress, Step
from slurm_lab.roots import find_root
from slurm_lab.wait import wait_for

__all__ = ["MainJob", "MainJobError"]

CONVERGES_SECONDS = 60
RACKS = Racks(nodes_per_leaf=4, leaves_per_spine=2)
FIRST_COUNT, UP_COUNT, DOWN_COUNT = 8, 12, 10


class MainJobError(Exception):
    """The product didn't do what it promises."""


@dataclass
class MainJob:
    """One run. `close` undoes everything that was started, in reverse order."""

    slurm: str
    progress: Progress
    things: ExitStack = field(default_factory=ExitStack)
    summary: dict[str, Any] = field(default_factory=dict)

    def run(self) -> None:
        """Everything up to the last event; the cluster is left running."""
        self._start_cloud()
        self._deploy()
        self._boot()
        self._first_jobs()
        self._event("scale up", lambda: self._scale_to(UP_COUNT))
        self._event("scale down", lambda: self._scale_to(DOWN_COUNT))
        self._event("replace", self._replace)

    def destroy(self) -> None:
        """`cdk destroy`; the buckets and log groups that the app retains go with the loopback cloud."""
        with self.progress.step("cdk destroy"):
            self.cloud.cdk("destroy", "--all")

    def close(self) -> None:
        with self.progress.step("stop Slurm and the loopback cloud"):
            self.things.close()

    # ---- the cloud

    def _start_cloud(self) -> None:
        with self.progress.step("start the loopback cloud") as step:
            self.cloud = self.things.enter_context(LocalCloud(racks=RACKS, progress=self.progress.say))
            step.facts["endpoint"] = self.cloud.endpoint
        with self.progress.step("cdk bootstrap"):
            self.cloud.cdk("bootstrap")

    def _deploy(self) -> None:
        with self.progress.step(f"cdk deploy: a controller and {FIRST_COUNT} x ml.p5.48xlarge") as step:
            outputs = self._cdk_deploy(FIRST_COUNT)
            self.cluster = self._cluster_name(outputs)
            step.facts |= {"cluster": self.cluster, "outputs": outputs}
            for name, value in sorted(outputs.items()):
                self.progress.say(f"{name} = {value}")

    def _cdk_deploy(self, count: int) -> dict[str, str]:
        # the template was validated by the first deployment; to do so again costs 4 s
        validation = {"CDK_VALIDATION": "true" if count == FIRST_COUNT else "false"}
        result = self.cloud.cdk("deploy", "--all", "--context", f"compute_count={count}", variables=validation)
        return {name: value for stack in result.outputs.values() for name, value in stack.items()}

    def _cluster_name(self, outputs: dict[str, str]) -> str:
        summaries = self.cloud.client("sagemaker").list_clusters()["ClusterSummaries"]
        return next(str(s["ClusterName"]) for s in summaries if s["ClusterArn"] in outputs.values())

    # ---- the controller

    def _boot(self) -> None:
        root = find_root(self.slurm)
        with self.progress.step(f"first boot: slurmctld {root.exact_version}, a slurmd a node, then the agent") as step:
            instances = hyperpod_node.cluster_instances(self.cloud, self.cluster)
            self.lab = agent_host.new_lab(root, instances.nodes, self.cloud.port)
            self.things.callback(self.lab.stop)
            hyperpod_node.boot(self.lab, instances)
            self.progress.say(f"{len(instances.nodes)} nodes are up; slurmctld runs without a topology yet")
            began = time.time()
            script = hyperpod_node.stage_lifecycle_scripts(self.cloud, self.lab, self.cluster)
            self.progress.say(f"bash {script}")
            agent_host.run_lifecycle_script(self.lab, script)
            self._converge(instances, step, began)
            step.facts |= {"slurm": root.exact_version, "triggers": agent_host.triggers(self.lab)}
            self.summary |= {"cluster": self.cluster, "slurm": root.exact_version}
        self.slurmctld_log_start = self.lab.controller.mark()

    def _converge(self, instances: hyperpod_node.Instances, step: Step, began: float) -> None:
        """Wait until the agent has passed and the topology in force is the one that the labels tell; record it."""

        def right() -> dict[str, tuple[str, ...]] | None:
            agent_pass = agent_host.last_pass(self.lab)
            if agent_pass.get("at", 0) < began or agent_pass["failed"]:
                return None
            now = leaves.leaves_in_force(self.lab)
            return now if leaves.same_grouping(now, instances.leaf_labels) else None

        def explain() -> str:
            return f"in force:\n{leaves.picture(leaves.leaves_in_force(self.lab))}\n{agent_host.last_words(self.lab)}"

        agent_host.pull_triggers(self.lab)
        self.leaves = wait_for(right, "the topology in force is right", seconds=CONVERGES_SECONDS, explain=explain)
        step.facts |= {
            "plugin": agent_host.plugin_in_force(self.lab),
            "switches": leaves.switch_count(self.lab),
            "slurm_nodes": len(self.lab.nodes),
            "nodes_placed": sum(len(nodes) for nodes in self.leaves.values()),
            "leaves": {leaf: list(nodes) for leaf, nodes in self.leaves.items()},
            "agent": agent_host.last_pass(self.lab),
        }
        self.progress.say(agent_host.in_words(step.facts["agent"]))
        self.progress.say(leaves.picture(self.leaves, self._job_marks()))

    # ---- jobs

    def _first_jobs(self) -> None:
        with self.progress.step("submit jobs: where do they land?") as step:
            self.jobs = {"A": self.lab.jobs.submit(3, "--job-name=A"), "B": self.lab.jobs.submit(4, "--job-name=B")}
            step.facts["jobs"] = {name: self._landed(name, job) for name, job in self.jobs.items()}
            self.progress.say(leaves.picture(self.leaves, self._job_marks()))
            self.progress.say("(0-36A: node ip-10-0-0-36, on which job A runs)")
            for name, landed in step.facts["jobs"].items():
                if len(landed["leaves"]) != 1:
                    raise MainJobError(f"job {name} fits under one leaf switch and was spread over {landed['leaves']}")
            self.lab.jobs.cancel(self.jobs.pop("B"))
            self.progress.say("job B is cancelled; job A runs through all that follows")
            self.survivor = self.lab.jobs.get(self.jobs["A"])

    def _landed(self, name: str, job: int) -> dict[str, Any]:
        nodes = self.lab.jobs.where(job)
        self.lab.jobs.wait_running(job)
        under = sorted(leaf for leaf, members in self.leaves.items() if set(members) & set(nodes))
        self.progress.say(f"job {name} ({len(nodes)} nodes) runs under {', '.join(under)}")
        return {"id": job, "nodes": list(nodes), "leaves": under}

    def _job_marks(self) -> dict[str, str]:
        return {node: name for name, job in getattr(self, "jobs", {}).items() for node in self.lab.jobs.get(job).nodes}

    # ---- events

    def _event(self, name: str, cause: Callable[[], None]) -> None:
        with self.progress.step(name) as step:
            before, began = self.leaves, time.time()
            cause()
            self._converge(hyperpod_node.cluster_instances(self.cloud, self.cluster), step, began)
            step.facts["changes"] = leaves.changes(before, self.leaves)
            for what, nodes in step.facts["changes"].items():
                self.progress.say(f"{what}: {', '.join(nodes) or 'none'}")
            self._check_survivors(step)

    def _scale_to(self, count: int) -> None:
        self._cdk_deploy(count)
        instances = hyperpod_node.cluster_instances(self.cloud, self.cluster)
        hyperpod_node.write_resource_config(self.lab, instances)
        self.lab.partitions = instances.partitions
        self.lab.scale(instances.nodes)

    def _replace(self) -> None:
        """The last node of the first leaf: no job is on it."""
        busy = set(self.survivor.nodes)
        instances = hyperpod_node.cluster_instances(self.cloud, self.cluster)
        mates = next(nodes for nodes in self.leaves.values() if busy & set(nodes))
        node = next(node for node in instances.nodes if node.name in mates and node.name not in busy)
        self.progress.say(f"BatchReplaceClusterNodes {node.instance_id} ({node.name})")
        self.cloud.client("sagemaker").batch_replace_cluster_nodes(ClusterName=self.cluster, NodeIds=[node.instance_id])
        now = hyperpod_node.cluster_instances(self.cloud, self.cluster)
        fresh = next(other for other in now.nodes if other.name == node.name)
        if fresh.instance_id == node.instance_id:
            raise MainJobError(f"{node.name} still has instance {node.instance_id}")
        hyperpod_node.write_resource_config(self.lab, now)
        self.lab.replace_node(fresh.name, fresh.instance_id)

    def _check_survivors(self, step: Step) -> None:
        now = self.lab.jobs.get(self.survivor.id)
        log = self.lab.controller.log(self.slurmctld_log_start, r"fatal:|Terminate signal")
        step.facts |= {"running_job_alive": now.state == "RUNNING", "slurmctld_deaths": list(log)}
        if (now.state, now.nodes) != ("RUNNING", self.survivor.nodes):
            raise MainJobError(f"the running job didn't survive: it was {self.survivor}, now it is {now}")
        if log or not self.lab.controller.alive():
            raise MainJobError(f"slurmctld died or was restarted: {log}")
        self.progress.say("job A still runs; slurmctld is alive and was never restarted")
