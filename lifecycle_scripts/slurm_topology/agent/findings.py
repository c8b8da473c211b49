"""Every finding of the agent in one place: id, severity, words, remedy. docs/findings.md explains each at length."""

from __future__ import annotations

from collections.abc import Sequence

from slurm_topology.core.model import Finding, Severity

__all__ = [
    "INSTEAD_OF_ORIGINAL",
    "aws_not_asked",
    "conf_ahead",
    "down_by_topology",
    "instead_of_original",
    "jobs_do_not_fit",
    "not_assigned",
    "not_readable",
    "not_rehearsed",
    "override_found",
    "override_in_the_way",
    "paused",
    "refused_again",
    "rescued",
    "set_aside",
    "slurm_down",
    "smaller_job",
    "unplaced",
    "version_changing",
    "waiting_for_places",
    "yielding",
]

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO
INSTEAD_OF_ORIGINAL = "AGENT031"


def not_readable(what: str, id_: str, message: str, remedy: str = "the next pass looks again") -> Finding:
    """AGENT010 scontrol ping · 011 slurmctld's version · 012 slurm.conf · 013 resource_config.json · 014 the plan."""
    return Finding(id_, WARNING, what, message, remedy)


def slurm_down() -> Finding:
    message = "slurmctld doesn't answer, and it is not because of the topology on disk"
    return Finding("AGENT015", WARNING, "slurmctld", message, "look at slurmctld's log")


def down_by_topology(reasons: Sequence[str]) -> Finding:
    message = f"slurmctld can't start with the topology on disk: {'; '.join(reasons)}"
    return Finding(
        "AGENT016", ERROR, "slurmctld", message, "the agent puts one in place that it takes, unless it may not"
    )


def version_changing(running: str, next_version: str, binary: str) -> Finding:
    message = (
        f"slurmctld {running} runs, a reconfigure would execute {binary} of {next_version}: an upgrade is under way"
    )
    return Finding("AGENT017", WARNING, "slurmctld", message, "restart slurmctld to end the upgrade")


def not_rehearsed(reasons: Sequence[str]) -> Finding:
    message = f"the topology could not be rehearsed ({'; '.join(reasons)}): only the checker vouches for it"
    return Finding("AGENT018", WARNING, "rehearsal", message, "run the agent by its systemd unit, which may do it")


def not_assigned(partition: str, topology: str, why: str) -> Finding:
    message = f"partition {partition} could not get topology {topology}: {why}"
    remedy = "the partition uses the cluster's default topology until the next pass"
    return Finding("AGENT019", WARNING, partition, message, remedy)


def paused(reason: str) -> Finding:
    return Finding(
        "AGENT020", WARNING, "agent", f"the agent is paused: {reason or 'no reason given'}", "slurm-topology resume"
    )


def waiting_for_places(nodes: Sequence[str], missing: int) -> Finding:
    message = (
        f"first boot: the place of {len(nodes)} nodes isn't known yet, and {missing} instances aren't in Slurm yet; "
        "the topology is made when they are all there, and all nodes work meanwhile"
    )
    return Finding("AGENT021", INFO, nodes[0] if nodes else "cluster", message)


def override_in_the_way(node: str, override: str) -> Finding:
    message = (
        f"node {node} has an override Topology={override}, which the new topology lacks: "
        "slurmctld would refuse it, and not start any more"
    )
    return Finding("AGENT022", ERROR, node, message, f"scontrol update NodeName={node} Topology=")


def override_found(nodes: Sequence[str]) -> Finding:
    message = (
        f"{len(nodes)} nodes have an override Topology= of their own, {nodes[0]} first: it beats the topology file"
    )
    return Finding("AGENT029", WARNING, nodes[0], message, f"scontrol update NodeName={','.join(nodes[:8])} Topology=")


def conf_ahead(nodes: Sequence[str]) -> Finding:
    message = (
        f"slurm.conf lacks {len(nodes)} nodes that Slurm has and that are in use, {nodes[0]} first (jobs run there, or "
        "they are instances of the cluster and slurm.conf is new): a reconfigure would take them away"
    )
    return Finding("AGENT023", WARNING, nodes[0], message, "drain the nodes, or put them back into slurm.conf")


def yielding(seconds: float, manager_active: bool) -> Finding:
    who = "HyperPod's own topology manager (sagemaker-cluster-agent)" if manager_active else "another program"
    message = f"{who} keeps rewriting the topology: the agent yields for another {seconds:.0f} s"
    remedy = (
        "switch one of the two off: TopologyPlugin=topology/flat in slurm.conf is HyperPod's opt-out (25.05+), "
        '"mode": "repair" or "observe" in agent.json is ours'
    )
    return Finding("AGENT024", ERROR, "agent", message, remedy)


def refused_again(manager_active: bool) -> Finding:
    """Another writer insists on what slurmctld dies of: the one case in which the agent doesn't yield."""
    who = "HyperPod's own topology manager (sagemaker-cluster-agent)" if manager_active else "another program"
    message = f"{who} keeps writing a topology that slurmctld would refuse: the agent puts its own back each time"
    return Finding("AGENT028", ERROR, "agent", message, "stop that program; `slurm-topology check` reads its file")


def rescued(with_what: str) -> Finding:
    return Finding(
        "AGENT025", WARNING, "slurmctld", f"slurmctld was down because of its topology; it has {with_what} now"
    )


def instead_of_original(why: str, kept: str) -> Finding:
    """Uninstalling: what was there before isn't put back."""
    message = (
        f"what was there before the agent isn't put back: {why}. The topology is flat, under which every job works"
    )
    return Finding(INSTEAD_OF_ORIGINAL, WARNING, "topology", message, f"{kept} keeps the text that was there")


def unplaced(nodes: Sequence[str]) -> Finding:
    message = f"the topology in force lacks {len(nodes)} nodes, {nodes[0]} first: jobs can't use them, or only alone"
    return Finding("AGENT026", ERROR, nodes[0], message, "the agent mends it at its next change, unless it may not")


def jobs_do_not_fit(jobs: Sequence[str]) -> Finding:
    message = f"{len(jobs)} jobs don't fit the topology although they were released, {jobs[0]} first"
    return Finding(
        "AGENT027", WARNING, jobs[0], message, "scontrol show job says what it asks for: reduce it or cancel"
    )


def set_aside(name: str, why: str) -> Finding:
    message = f"{name} is {why}. The agent goes on without it"
    return Finding("AGENT030", WARNING, name, message, "nothing needs to be done; look at the file if you wonder why")


def smaller_job(partition: str, before: int | None, after: int | None) -> Finding:
    message = (
        f"one job in partition {partition} can have {after} nodes from now on, before it was {before}: the network "
        "that joins its nodes is smaller than the topology in force says"
    )
    remedy = "pending jobs that are larger won't start: `slurm-topology explain --all` names them, `plan` says why"
    return Finding("AGENT032", WARNING, partition, message, remedy)


def aws_not_asked(subject: str, why: str) -> Finding:
    """``subject``: plan, instances or network."""
    message = {
        "plan": f"the stack's plan can't be looked at, so that updates of the stack don't reach this agent: {why}",
        "instances": f"SageMaker can't be asked about instances, so that their zones may be unknown: {why}",
        "network": f"EC2 can't be asked where instances without labels sit: {why}",
    }[subject]
    return Finding("AGENT040", WARNING, subject, message, "the agent works with what it knows, and asks again later")
