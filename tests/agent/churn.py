"""Churn: a cluster that scales and replaces nodes all the time, with jobs on it and jobs waiting, and the agent at
work.

Time is simulated (the agent's clock runs as many seconds ahead as have been played), so that ceiling, coalescing and
backoff do what they would do over days. Slurm is real; its nodes are CLOUD nodes: jobs get their nodes from the real
scheduler and keep them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from agent.agent_lab import STATE, AgentLab, Member, tree_of
from slurm_lab import Job, Node, make_nodes

__all__ = ["Churn", "Report"]

LEAF = 16
EVENTS_A_ROUND = 10  # after which all has to settle
SECONDS_BETWEEN = (1.0, 45.0)  # of simulated time


@dataclass
class Report:
    """What happened. All counts are totals."""

    events: int = 0
    passes: int = 0
    changes: int = 0
    reconfigures: int = 0  # by the agent
    deferred: int = 0  # passes that the ceiling sent away
    failures: int = 0
    released: int = 0  # jobs that had to be freed
    jobs_submitted: int = 0
    jobs_lost: list[str] = field(default_factory=list)
    jobs_held: list[str] = field(default_factory=list)
    unplaced: list[str] = field(default_factory=list)
    deaths: int = 0  # times that slurmctld was found dead
    most_in_a_minute: int = 0  # reconfigures by the agent
    seconds_played: float = 0.0
    memory_kilobytes: list[int] = field(default_factory=list)  # largest resident set of a pass, by round
    files: list[int] = field(default_factory=list)  # in the state folder, by round
    file_bytes: list[int] = field(default_factory=list)


@dataclass
class Churn:
    """Plays events on a lab with the agent in it. ``most``: nodes at the most; at least a quarter of them stay."""

    lab: AgentLab
    most: int
    seed: int = 1
    report: Report = field(default_factory=Report)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)  # noqa: S311 (the same churn at each run)
        self.pool: tuple[Node, ...] = make_nodes(self.most)
        self.members = dict(zip((node.name for node in self.pool), tree_of(self.pool, LEAF), strict=True))
        self.present = {node.name for node in self.lab.lab.nodes}
        self.placed: dict[int, tuple[str, ...]] = {}
        self.reconfigured_at: list[float] = []

    def play(self, events: int) -> Report:
        self.write()
        self.settle()
        for number in range(1, events + 1):
            self.dice.choice((self.grow, self.shrink, self.replace, self.replace))()
            self.report.events += 1
            self.turn_jobs()
            self.agent_pass()
            if number % EVENTS_A_ROUND == 0 or number == events:
                self.settle()
                self.check()
        return self.report

    # ---- what HyperPod does

    def grow(self) -> None:
        free = sorted({node.name for node in self.pool} - self.present)
        if free:
            self.present.update(self.dice.sample(free, min(len(free), self.dice.randint(1, 8))))
            self.scale()

    def shrink(self) -> None:
        idle = sorted(self.present - {name for nodes in self.placed.values() for name in nodes})
        room = len(self.present) - self.most // 4
        if idle and room > 0:
            self.present.difference_update(self.dice.sample(idle, min(len(idle), room, self.dice.randint(1, 8))))
            self.scale()

    def replace(self) -> None:
        """Another instance, perhaps under another leaf; nothing tells Slurm."""
        name = self.dice.choice(sorted(self.present))
        self.members[name] = self.members[name].moved_to(self.dice.randrange(self.most // LEAF))
        self.write()

    def scale(self) -> None:
        """HyperPod rewrites slurm.conf (not the plugin line), reconfigures, and then writes its own file."""
        lab = self.lab.lab
        text = lab.box.read_text(lab.path("slurm.conf"))
        lab.plugin = next(line.partition("=")[2] for line in text.splitlines() if line.startswith("TopologyPlugin="))
        assert lab.scale([node for node in self.pool if node.name in self.present]).accepted
        self.write()

    def write(self) -> None:
        members: list[Member] = [self.members[node.name] for node in self.pool if node.name in self.present]
        self.lab.write_members(members)

    # ---- what users do

    def turn_jobs(self) -> None:
        jobs = self.lab.lab.jobs
        if self.placed and self.dice.random() < 0.3:
            ended = self.dice.choice(sorted(self.placed))
            jobs.cancel(ended)
            del self.placed[ended]
        if len(self.placed) < 6:
            jobs.submit(self.dice.randint(1, max(1, len(self.present) // 8)))
            self.report.jobs_submitted += 1
        self.note(jobs.all())

    def note(self, jobs: dict[int, Job]) -> None:
        for number, job in jobs.items():
            if job.placed:
                self.placed.setdefault(number, job.nodes)

    # ---- what the agent does

    def agent_pass(self) -> dict[str, Any]:
        self.report.seconds_played += self.dice.uniform(*SECONDS_BETWEEN)
        answer = self.lab.ask(clock_offset=self.report.seconds_played)
        assert "error" not in answer, answer
        record: dict[str, Any] = answer["record"]
        self.report.passes += 1
        self.report.failures += bool(record["failed"])
        self.report.changes += record["action"] != "nothing"
        self.report.deferred += record["reason"] == "ceiling"
        self.report.released += len(record["released"])
        self.report.memory_kilobytes.append(answer["memory_kilobytes"])
        if record["reconfigured"]:
            self.report.reconfigures += 1
            self.reconfigured_at.append(record["at"])
            lately = [at for at in self.reconfigured_at if at > record["at"] - 60]
            self.report.most_in_a_minute = max(self.report.most_in_a_minute, len(lately))
        return record

    def settle(self) -> None:
        for _ in range(20):
            if self.agent_pass()["reason"] == "in-force":
                return
        raise AssertionError(f"not settled: {self.lab.state()['last_passes'][-3:]}")

    # ---- what has to be so

    def check(self) -> None:
        lab, report = self.lab.lab, self.report
        report.deaths += not lab.controller.alive()
        jobs = lab.jobs.all()
        for number, nodes in self.placed.items():
            job = jobs.get(number)
            if job is None or not job.placed or job.nodes != nodes:
                report.jobs_lost.append(f"{number}: {nodes} → {job}")
        report.jobs_held += [f"{job}" for job in jobs.values() if job.state == "PENDING" and job.priority == 0]
        report.unplaced += sorted(self.present - set(self.lab.unit_of()))
        listed = lab.run("find", STATE, "-type", "f", "-printf", "%s\\n").stdout.split()
        report.files.append(len(listed))
        report.file_bytes.append(sum(map(int, listed)))
        self.note(jobs)
