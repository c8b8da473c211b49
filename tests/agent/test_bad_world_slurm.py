"""Bad world, Slurm: down, hanging, dying, slow, garbled, of another version. What is said, and that nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from agent.agent_lab import GB200, AgentLab, Member, blocks_of, tree_of
from slurm_lab import Level, StartedBy, make_nodes, wait_for

pytestmark = pytest.mark.slurm
Make = Callable[..., AgentLab]

# Put before Slurm's own commands; $HINDER names the word of the command line that it hinders, and how.
WRAPPER = """#!/bin/sh
. /tmp/hinder
for word in "$@"; do
    if [ "$word" = "$HINDER_WORD" ]; then
        case $HINDER_HOW in
        sleep) exec sleep 60 ;;
        garble) echo '{"nodes": [[['; exit 0 ;;
        kill) pkill -KILL -o -f 'slurmctld -f /opt/slurm' ; exit 0 ;;
        fail) echo 'slurm_reconfigure error: Unspecified error' >&2; exit 1 ;;
        esac
    fi
done
exec /usr/bin/scontrol "$@"
"""


def settled(make: Make, version: str, **arguments: object) -> tuple[AgentLab, list[Member]]:
    lab = make(version, **{"level": Level.CONTROLLER, **arguments})
    members = tree_of(lab.lab.nodes, 4)
    lab.write_members(members)
    lab.settle()
    return lab, members


def move_one(lab: AgentLab, members: list[Member]) -> None:
    members[7] = members[7].moved_to(0)
    lab.write_members(members)


def hinder(lab: AgentLab, word: str, how: str) -> None:
    """Let scontrol misbehave when this word is on its command line."""
    lab.lab.box.write_text("/tmp/hinder", f"HINDER_WORD={word} HINDER_HOW={how}\n")
    if lab.lab.run("test", "-L", "/opt/slurm/bin").returncode == 0:
        lab.lab.run("sh", "-c", "rm /opt/slurm/bin && mkdir /opt/slurm/bin", check=True)
        lab.lab.box.write_text("/opt/slurm/bin/scontrol", WRAPPER, 0o755)


def test_slurmctld_is_stopped_and_comes_back(make_agent_lab: Make, slurm_version: str) -> None:
    """The files are fine, so it isn't ours to start; once it is back, the change is made."""
    lab, members = settled(make_agent_lab, slurm_version)
    lab.lab.controller.stop()
    move_one(lab, members)
    before = lab.conf_files()
    record = lab.reconcile()
    assert (record["action"], record["reason"]) == ("nothing", "slurm-down")
    assert "AGENT015" in [finding["id"] for finding in record["findings"]]
    assert record["again_after_seconds"] is not None
    assert lab.conf_files() == before
    assert not lab.lab.controller.alive()
    lab.lab.controller.start()
    assert lab.reconcile()["reason"] == "changed"


def test_slurmctld_hangs(make_agent_lab: Make, slurm_version: str) -> None:
    lab, members = settled(make_agent_lab, slurm_version)
    lab.configure(command_timeout_seconds=2, slurmctld_wait_seconds=1)
    move_one(lab, members)
    lab.lab.run("kill", "-STOP", str(lab.lab.controller.pid()), check=True)
    record = lab.reconcile()
    assert record["reason"] == "slurm-down"
    assert {"AGENT010", "AGENT015"} <= {finding["id"] for finding in record["findings"]}
    lab.lab.run("kill", "-CONT", str(lab.lab.controller.pid()), check=True)
    lab.configure()
    assert lab.reconcile()["reason"] == "changed"


@pytest.mark.parametrize("how", ["sleep", "fail"])
def test_reconfigure_hangs_or_fails(make_agent_lab: Make, slurm_version: str, how: str) -> None:
    """The old file is back at once: a refused one is a time bomb."""
    lab, members = settled(make_agent_lab, slurm_version)
    before, places = lab.conf_files(), lab.unit_of()
    move_one(lab, members)
    hinder(lab, "reconfigure", how)
    lab.configure(command_timeout_seconds=3)
    record = lab.reconcile(failed=True)
    assert record["stage"] == "reconfigure"
    assert "The files are as they were; slurmctld still runs with them" in record["failed"]
    assert lab.conf_files() == before
    assert lab.unit_of() == places
    assert lab.reconcile()["reason"] == "backing-off"
    hinder(lab, "nothing", "fail")
    lab.configure()
    assert lab.reconcile(clock_offset=120)["reason"] == "changed"


def test_slurmctld_dies_on_reconfigure(make_agent_lab: Make, slurm_version: str) -> None:
    """scontrol says 0, and slurmctld is dead (as with -D and a file that it doesn't like)."""
    lab, members = settled(make_agent_lab, slurm_version)
    lab.configure(slurmctld_wait_seconds=0.5)
    before = lab.conf_files()
    move_one(lab, members)
    hinder(lab, "reconfigure", "kill")
    record = lab.reconcile(failed=True)
    assert record["stage"] == "ping"
    assert lab.conf_files() == before, "it can start again with the old file"
    hinder(lab, "nothing", "fail")
    lab.lab.controller.start()
    assert lab.reconcile(clock_offset=120)["reason"] == "changed"


def test_foreground_slurmctld_survives_a_change(make_agent_lab: Make, slurm_version: str) -> None:
    """Started with -D: the rehearsal is what saves it, because a refused file would kill it."""
    lab, members = settled(make_agent_lab, slurm_version, started_by=StartedBy.FOREGROUND)
    move_one(lab, members)
    assert lab.reconcile()["reason"] == "changed"
    assert lab.lab.controller.answers()


@pytest.mark.parametrize("word", ["nodes", "partitions", "config"])
def test_scontrol_is_garbled(make_agent_lab: Make, word: str) -> None:
    lab, members = settled(make_agent_lab, "24.11")
    before = lab.conf_files()
    move_one(lab, members)
    hinder(lab, word, "garble")
    answer = lab.ask()
    assert answer["record"]["action"] == "nothing", answer
    assert lab.conf_files() == before
    hinder(lab, "nothing", "fail")
    assert lab.reconcile(clock_offset=120)["reason"] == "changed"


def test_scontrol_is_slow(make_agent_lab: Make) -> None:
    lab, members = settled(make_agent_lab, "26.05")
    before = lab.conf_files()
    move_one(lab, members)
    lab.configure(command_timeout_seconds=2)
    hinder(lab, "nodes", "sleep")
    record = lab.reconcile(failed=True)
    assert "gave no answer within 2 s" in record["failed"]
    assert lab.conf_files() == before
    assert lab.lab.controller.answers()


@pytest.mark.parametrize("offset", [-864_000.0, 864_000.0])
def test_the_clock_jumps_by_ten_days(make_agent_lab: Make, offset: float) -> None:
    """Neither ceiling nor backoff nor yielding gets stuck."""
    lab, members = settled(make_agent_lab, "24.11")
    lab.configure(reconfigures_per_minute=1)
    assert lab.reconcile(clock_offset=60)["reason"] == "in-force"
    move_one(lab, members)
    assert lab.reconcile(clock_offset=offset)["reason"] == "changed"
    members[6] = members[6].moved_to(0)
    lab.write_members(members)
    record = lab.reconcile(clock_offset=offset)
    assert record["reason"] == "ceiling"
    assert 0 < record["again_after_seconds"] <= 60
    assert lab.reconcile()["reason"] == "changed", "back at the right time, the jump is forgotten"


def test_two_agents_at_once(make_agent_lab: Make, slurm_version: str) -> None:
    """One works, the other one leaves; one reconfigure is made."""
    lab, members = settled(make_agent_lab, slurm_version)
    move_one(lab, members)
    mark = lab.lab.controller.mark()
    both = [lab.popen("reconcile", "--now") for _ in range(2)]
    said = [process.communicate(timeout=60)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sum("reason=changed" in text for text in said) == 1, said
    assert len(lab.lab.controller.log(mark, "Processing Reconfiguration Request|Reconfigure signal")) <= 2
    lab.settle()


def test_slurm_changes_its_version_between_passes(make_agent_lab: Make) -> None:
    """24.11, then 26.05 with the same folders: the old file is taken, and the next change is written as yaml."""
    old, members = settled(make_agent_lab, "24.11")
    new = make_agent_lab("26.05", level=Level.CONTROLLER)
    new.lab.controller.stop()
    for name, text in old.conf_files().items():
        new.lab.box.write_text(new.lab.path(name), text)
    for name in ("state.json", "places.json", "original.json"):
        new.lab.box.write_text(
            f"/var/lib/slurm-topology/{name}", old.lab.box.read_text(f"/var/lib/slurm-topology/{name}")
        )
    new.lab.controller.start("-c")
    new.write_members(members)
    new.settle()
    assert new.unit_of() == old.unit_of(), "26.05 takes the old file, and it says the right thing: nothing is written"
    move_one(new, members)
    new.settle()
    assert set(new.conf_files()) == {"slurm.conf", "topology.conf", "topology.yaml"}
    assert new.unit_of()[new.lab.nodes[7].name] == "nn-leaf0"


def test_an_upgrade_half_way_is_left_alone(make_agent_lab: Make) -> None:
    """The path that a reconfigure would execute is of another version than the slurmctld that runs."""
    lab = make_agent_lab("24.11", level=Level.CONTROLLER, started_by=StartedBy.DAEMON)
    lab.write_members(tree_of(lab.lab.nodes, 4))
    lab.lab.controller.stop()
    lab.lab.run("/opt/slurm/sbin/slurmctld", "-f", "/opt/slurm/etc/slurm.conf", check=True)
    wait_for(lab.lab.controller.answers, "slurmctld answers")
    lab.settle()
    lab.lab.run("sh", "-c", "rm /opt/slurm/sbin && mkdir /opt/slurm/sbin", check=True)
    lab.lab.box.write_text("/opt/slurm/sbin/slurmctld", "#!/bin/sh\necho slurm 25.11.4\n", 0o755)
    lab.write_members(tree_of(lab.lab.nodes, 2))
    record = lab.reconcile()
    assert record["reason"] == "version-changing"
    assert "25.11.4" in next(each["message"] for each in record["findings"] if each["id"] == "AGENT017")


def test_block_cluster_loses_a_node(make_agent_lab: Make) -> None:
    """24.11: a node leaves slurm.conf, its block is too short, slurmctld refuses; the agent mends it."""
    nodes = make_nodes(36)
    lab = make_agent_lab("24.11", nodes=36)
    lab.write_members(blocks_of(nodes, 18), {"train": GB200})
    lab.settle()
    running = lab.lab.jobs.submit(18)
    lab.lab.jobs.where(running)
    free = sorted({node.name for node in nodes} - set(lab.lab.jobs.get(running).nodes))
    left = tuple(node for node in nodes if node.name != free[-1])
    lab.lab.nodes = left
    lab.lab.plugin = "topology/block"  # HyperPod rewrites slurm.conf and leaves the plugin line alone
    lab.lab.write_slurm_conf()
    refused = lab.lab.reconfigure()
    assert not refused.accepted, "this is what makes it a trap"
    members = [each for each, node in zip(blocks_of(nodes, 18), nodes, strict=True) if node in left]
    lab.write_members(members, {"train": GB200})
    lab.settle()
    assert set(lab.unit_of()) == {node.name for node in left}
    assert lab.lab.controller.answers()
    assert lab.lab.jobs.get(running).placed


def test_jobs_run_on_nodes_that_slurm_conf_lost(make_agent_lab: Make) -> None:
    """A reconfigure would end the jobs: that is for who took the nodes out."""
    lab = make_agent_lab("24.11")
    members = tree_of(lab.lab.nodes, 4)
    lab.write_members(members)
    lab.settle()
    running = lab.lab.jobs.submit(8)
    lab.lab.jobs.where(running)
    lab.lab.plugin = "topology/tree"
    lab.lab.nodes = lab.lab.nodes[:7]
    lab.lab.write_slurm_conf()
    lab.write_members(members[:7])
    record = lab.reconcile()
    assert record["reason"] == "conf-ahead"
    assert "AGENT023" in [finding["id"] for finding in record["findings"]]
    assert lab.lab.jobs.get(running).placed
    lab.lab.jobs.cancel(running)
    lab.settle()
    assert len(lab.unit_of()) == 7


def test_without_the_privilege_for_a_rehearsal_the_checker_decides(make_agent_lab: Make) -> None:
    lab, members = settled(make_agent_lab, "24.11")
    move_one(lab, members)
    done = lab.lab.run(
        "setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", "env", "PYTHONPATH=/opt/agent-under-test",
        "python3", "-m", "slurm_topology", "reconcile", "--now",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "id=AGENT018" in done.stderr
    assert "reason=changed" in done.stderr
    assert json.loads(lab.lab.box.read_text("/var/lib/slurm-topology/state.json"))["counters"]["changes"] == 2
