"""A pass is killed (SIGKILL) at every step of its doors, one after the other, and the cluster is none the worse for it.

After each kill: slurmctld answers and runs with the old topology or the new one, whole; it would start with what is
on disk; the job that runs still runs, the one that waits is still eligible; and the next pass brings the new topology.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from agent.agent_lab import GB200, STATE, AgentLab, Member, blocks_of, tree_of
from slurm_lab import Partition, make_nodes

pytestmark = pytest.mark.slurm
Make = Callable[..., AgentLab]
Target = tuple[Sequence[Member], dict[str, str] | None]

NODES = make_nodes(36)
NAMES = tuple(node.name for node in NODES)


def assert_unharmed(lab: AgentLab, running: int, pending: int, where: str, tried: dict[str, str]) -> None:
    """``tried``: states of the configuration folder that slurmctld was already tried with; there are few of them."""
    assert lab.lab.controller.answers(), f"slurmctld is down after a kill at {where}"
    state = repr(sorted(lab.conf_files().items()))
    if state not in tried:
        tried[state] = lab.rehearse_disk()
    assert tried[state] == "starts", f"slurmctld wouldn't start after a kill at {where}"
    jobs = lab.lab.jobs.all()
    assert jobs[running].placed, where
    waiting = jobs[pending]
    assert (waiting.state, waiting.priority > 0) == ("PENDING", True), f"{waiting} after a kill at {where}"


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Print for everybody to see, also when the test passes."""

    def print_anyhow(text: str) -> None:
        with capsys.disabled():
            print(f"\n{text}")

    return print_anyhow


def touched(lab: AgentLab) -> str:
    """Changes when the agent has changed anything: a file of Slurm's or of its own, or the slurmctld that runs."""
    script = f"cd / && find opt/slurm/etc {STATE[1:]} -type f ! -name lock -exec md5sum {{}} + 2>/dev/null | sort"
    return f"{lab.lab.controller.pid()}\n{lab.lab.run('sh', '-c', script).stdout}"


def kill_everywhere(lab: AgentLab, targets: tuple[Target, Target], *, first_pass: bool = False) -> Counter[str]:
    """Go from one target to the other and back, killed at the first point, the second, and so on until there is none
    left.

    ``first_pass``: each killed pass is the first of its agent, whose state folder isn't there yet.
    Returns how many points there were of each kind.
    """

    def forget() -> None:
        if first_pass:
            lab.lab.run("rm", "-rf", STATE, check=True)

    running, pending = lab.lab.jobs.submit(30), lab.lab.jobs.submit(36)
    lab.lab.jobs.where(running)
    lab.write_members(*targets[0])
    lab.settle()
    lab.write_members(*targets[1])
    forget()
    points: list[str] = lab.ask()["points"]
    lab.settle()
    in_force = [lab.unit_of()]
    lab.write_members(*targets[0])
    lab.settle()
    in_force.insert(0, lab.unit_of())
    now, kill_at = 0, 0
    tried: dict[str, str] = {}
    while True:
        kill_at += 1
        wanted = 1 - now
        lab.write_members(*targets[wanted])
        forget()
        before = touched(lab)
        answer = lab.ask(kill_at=kill_at)
        if not answer.get("killed"):
            break
        if touched(lab) == before:
            continue  # it had only looked so far: nothing can have come of that, and the next kill finds the same
        where = f"point {kill_at} ({points[kill_at - 1] if kill_at <= len(points) else '?'})"
        assert lab.unit_of() in in_force, f"neither the old nor the new topology is in force after a kill at {where}"
        assert_unharmed(lab, running, pending, where, tried)
        lab.reconcile()
        assert lab.unit_of() == in_force[wanted], f"the pass after a kill at {where} didn't bring the new topology"
        now = wanted
    assert "error" not in answer
    return Counter(" ".join(point.split()[:1]) for point in points)


@pytest.mark.parametrize("version", ["24.11"])
def test_killed_at_every_point_while_the_plugin_changes(
    make_agent_lab: Make, say: Callable[[str], None], version: str
) -> None:
    """24.11, tree to block and back: two files and three states on the way."""
    lab = make_agent_lab(version, nodes=36)
    targets: tuple[Target, Target] = ((tree_of(NODES, 6), None), (blocks_of(NODES, 18), {"train": GB200}))
    points = kill_everywhere(lab, targets)
    say(f"killed at {points.total()} points, {version}: {dict(points)}")
    assert points.total() > 50
    assert {"create", "write", "fsync", "rename", "start", "during"} <= set(points)


def test_killed_at_every_point_of_the_very_first_pass(make_agent_lab: Make, say: Callable[[str], None]) -> None:
    """24.11, tree to block and back, each time by an agent that remembers nothing."""
    lab = make_agent_lab("24.11", nodes=36)
    targets: tuple[Target, Target] = ((tree_of(NODES, 6), None), (blocks_of(NODES, 18), {"train": GB200}))
    points = kill_everywhere(lab, targets, first_pass=True)
    say(f"killed at {points.total()} points of a first pass, 24.11: {dict(points)}")
    assert points.total() > 50


def test_killed_at_every_point_with_partitions_of_their_own_topology(
    make_agent_lab: Make, say: Callable[[str], None]
) -> None:
    """26.05, yaml, a partition's topology set live after the reconfigure."""
    partitions = (Partition("dev", default=True), Partition("train", NAMES[:18]), Partition("block", NAMES[18:]))
    lab = make_agent_lab("26.05", nodes=36, partitions=partitions)
    gb = [replace(each, group="gb") for each in blocks_of(NODES, 18)][18:]
    types = {"train": "ml.p5.48xlarge", "gb": GB200}
    targets: tuple[Target, Target] = (
        ([*tree_of(NODES, 6)[:18], *gb], types),
        ([*tree_of(NODES, 3)[:18], *gb], types),
    )
    points = kill_everywhere(lab, targets)
    say(f"killed at {points.total()} points, 26.05: {dict(points)}")
    assert points.total() > 50
    assert "Topology=block" in lab.lab.scontrol("--oneliner", "show", "partition", "block")
