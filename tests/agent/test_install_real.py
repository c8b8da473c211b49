"""Installation as HyperPod does it, under a real systemd: script, hardened units, triggers, upgrade, removal."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.agent_lab import RESOURCE_CONFIG, SETTINGS, STATE, AgentLab, Member, resource_config, tree_of
from agent.bundle import SCRIPTS, STAGING, run_script, stage
from slurm_lab import Level, StartedBy, wait_for
from slurm_topology.agent.install import HIDDEN, unusable_python

pytestmark = pytest.mark.slurm
Make = Callable[..., AgentLab]

COMMAND = "/usr/local/bin/slurm-topology"


def passes(lab: AgentLab) -> int:
    try:
        return int(lab.state()["counters"]["passes"])
    except FileNotFoundError:
        return 0


def wait_for_pass(lab: AgentLab, after: int) -> None:
    wait_for(lambda: passes(lab) > after, "the agent makes a pass", seconds=30, explain=lambda: journal(lab))


def there(lab: AgentLab, path: str) -> bool:
    """As the box sees it: links are absolute there."""
    return lab.lab.run("test", "-e", path).returncode == 0


def journal(lab: AgentLab) -> str:
    return lab.lab.run("journalctl", "--unit", "slurm-topology", "--output", "cat", "--no-pager").stdout


def is_over(lab: AgentLab) -> bool:
    """No pass runs, nor the look after it."""
    units = ("slurm-topology.service", "slurm-topology-missed.service")
    states = lab.lab.run("systemctl", "is-active", *units).stdout.split()
    return not {"active", "activating", "deactivating", "reloading"} & set(states)


@pytest.fixture
def installed(make_agent_lab: Make, slurm_version: str) -> AgentLab:
    """A controller on which the lifecycle script has run, and the first pass too."""
    lab = make_agent_lab(slurm_version, started_by=StartedBy.SYSTEMD, level=Level.CONTROLLER)
    lab.lab.run("rm", SETTINGS, check=True)
    lab.write_members(tree_of(lab.lab.nodes, 4))
    stage(lab)
    assert run_script(lab) == 0
    wait_for(lab.unit_of, "the first pass publishes", seconds=30, explain=lambda: journal(lab))
    return lab


def in_leaf(lab: AgentLab, leaf: int) -> list[Member]:
    """Leaves of four, the last node in this one."""
    members = tree_of(lab.lab.nodes, 4)
    members[7] = members[7].moved_to(leaf)
    return members


def linked(lab: AgentLab, name: str) -> None:
    """HyperPod's file becomes a link to a file of this name beside it, with the same content, or another link."""
    folder = Path(RESOURCE_CONFIG).parent
    script = f"ln -s {name} link; mv -T link {RESOURCE_CONFIG}"
    lab.lab.run("sh", "-e", "-c", f"cd {folder}; test -e {name} || cp {RESOURCE_CONFIG} {name}; {script}", check=True)


def the_file_is_a_link(lab: AgentLab) -> None:
    """It is pointed to another file, and then that one changes."""
    moved = lab.lab.nodes[7].name
    linked(lab, "first.json")
    lab.lab.box.write_text(f"{Path(RESOURCE_CONFIG).parent}/second.json", json.dumps(resource_config(in_leaf(lab, 1))))
    linked(lab, "second.json")
    wait_for(lambda: lab.unit_of().get(moved) == "nn-leaf1", "the other file is in force", seconds=30)
    lab.lab.run("sh", "-c", f"cat {Path(RESOURCE_CONFIG).parent}/first.json >{RESOURCE_CONFIG}", check=True)
    wait_for(lambda: lab.unit_of().get(moved) == "nn-leaf0", "its change is in force", seconds=30)
    assert lab.lab.run("readlink", RESOURCE_CONFIG).stdout.strip() == "second.json"


def test_life_under_systemd(installed: AgentLab) -> None:
    """Install, change of HyperPod's file, notify, Slurm's trigger, upgrade, removal, one after the other in one lab."""
    lab = installed
    assert set(lab.unit_of().values()) == {"nn-leaf0", "nn-leaf1"}
    assert "id=AGENT018" not in journal(lab), "the hardened unit may rehearse"

    assert there(lab, "/opt/slurm-topology/current/slurm_topology/agent/__pycache__"), (
        "a look a minute compiles nothing"
    )

    # HyperPod changes its file: the path unit sees it
    lab.write_members(in_leaf(lab, 0))
    moved = lab.lab.nodes[7].name
    wait_for(lambda: lab.unit_of().get(moved) == "nn-leaf0", "the change is in force", seconds=30)

    if lab.lab.root.exact_version >= "25.05":  # once is enough: it has nothing to do with Slurm
        the_file_is_a_link(lab)

    # somebody says "look now"; the file needn't have changed
    before = passes(lab)
    assert lab.lab.run(COMMAND, "notify").returncode == 0
    wait_for_pass(lab, before)

    # Slurm's triggers are set, and what they run works for SlurmUser
    triggers = lab.lab.run("strigger", "--get").stdout
    assert triggers.count("/opt/slurm-topology/current/bin/notify") == 2
    before = passes(lab)
    notifier = ("setpriv", "--reuid=slurm", "--regid=slurm", "--clear-groups", "/opt/slurm-topology/current/bin/notify")
    assert lab.lab.run(*notifier).returncode == 0
    wait_for_pass(lab, before)

    # an upgrade keeps the state, and the old version for a way back
    before = passes(lab)
    stage(lab, extra="# another version\n")
    assert run_script(lab) == 0
    wait_for_pass(lab, before)
    versions = lab.lab.run("sh", "-c", "ls -d /opt/slurm-topology/[0-9]*").stdout.split()
    assert len(versions) == 2
    current = lab.lab.run("readlink", "/opt/slurm-topology/current").stdout.strip()
    assert current in {Path(each).name for each in versions}
    assert run_script(lab) == 0, "again: nothing new"

    # removal puts back what was there, and stops everything
    done = lab.lab.run(COMMAND, "uninstall")
    assert done.returncode == 0, done.stderr
    assert not lab.lab.box.exists(lab.lab.path(lab.lab.topology_file))
    assert not there(lab, COMMAND)
    assert lab.lab.box.exists(f"{STATE}/state.json")
    units = lab.lab.run("systemctl", "list-unit-files", "slurm-topology*", "--no-legend").stdout
    assert units == ""
    assert "notify" not in lab.lab.run("strigger", "--get").stdout
    assert lab.lab.controller.answers()


def test_a_change_while_a_pass_is_ending_is_not_lost(installed: AgentLab) -> None:
    """The path unit doesn't watch while its service is active: without a look afterwards only the timer would know."""
    lab = installed
    lab.lab.run("systemctl", "stop", "slurm-topology.timer", check=True)
    wait_for(lambda: is_over(lab), "quiet", seconds=60)
    # the pass has made its last look, and its unit hasn't ended: held there until the file has been changed
    wait = "cd /var/lib/slurm-topology; touch ending; while test -e hold; do sleep 0.1; done"
    held = f"[Service]\nExecStopPost=/bin/sh -c '{wait}'\n"
    lab.lab.box.write_text("/etc/systemd/system/slurm-topology.service.d/zz-hold.conf", held)
    lab.lab.box.write_text("/var/lib/slurm-topology/hold", "")
    lab.lab.run("systemctl", "daemon-reload", check=True)
    lab.lab.run("systemctl", "start", "--no-block", "slurm-topology.service", check=True)
    wait_for(
        lambda: there(lab, "/var/lib/slurm-topology/ending"),
        "the pass is ending",
        seconds=60,
        explain=lambda: journal(lab),
    )

    lab.write_members(in_leaf(lab, 0))
    lab.lab.run("rm", "/var/lib/slurm-topology/hold", check=True)
    moved = lab.lab.nodes[7].name
    wait_for(lambda: lab.unit_of().get(moved) == "nn-leaf0", "the change is in force", explain=lambda: journal(lab))

    # and then all is quiet: no look follows another for ever
    wait_for(lambda: is_over(lab), "quiet", seconds=60)
    before = passes(lab)
    assert lab.lab.run("systemctl", "start", "slurm-topology-missed.service").returncode == 0
    wait_for(lambda: is_over(lab), "quiet", seconds=60)
    assert passes(lab) == before


PROBE = """
exec >/var/lib/slurm-topology/probe
for place in /etc /usr /root /srv /opt/slurm-topology /tmp /opt/slurm/etc; do
    touch $place/probe 2>/dev/null && echo "writes $place" && rm $place/probe
done
ls /tmp
grep -E "NoNewPrivs|CapBnd" /proc/self/status
unshare --net true && echo "may have a network namespace"
unshare --user true || echo "no user namespace"
"""


def test_the_unit_is_locked_in(installed: AgentLab) -> None:
    """What the unit may and may not do, seen from inside of it."""
    lab = installed
    lab.lab.box.write_text("/srv/probe.sh", PROBE)
    only_probe = "[Service]\nExecStart=\nExecStart=/bin/sh /srv/probe.sh\n"
    lab.lab.box.write_text("/etc/systemd/system/slurm-topology.service.d/zz-probe.conf", only_probe)
    lab.lab.box.write_text("/tmp/secret", "of somebody else")
    wait_for(lambda: is_over(lab), "quiet")
    lab.lab.run("systemctl", "daemon-reload", check=True)
    lab.lab.run("systemctl", "start", "slurm-topology.service", check=True)
    said = lab.lab.box.read_text(f"{STATE}/probe")
    assert [line for line in said.splitlines() if line.startswith("writes")] == ["writes /tmp", "writes /opt/slurm/etc"]
    assert "secret" not in said, "a /tmp of its own"
    assert "NoNewPrivs:\t1" in said
    assert "may have a network namespace" in said
    assert "no user namespace" in said
    properties = "--property=MemoryMax,TasksMax,CPUWeight"
    limits = lab.lab.run("systemctl", "show", "slurm-topology.service", properties).stdout
    assert set(limits.split()) == {"CPUWeight=50", f"MemoryMax={4 << 30}", "TasksMax=256"}


def test_other_nodes_get_nothing(make_agent_lab: Make) -> None:
    """A worker: HyperPod's file there names the controller, and no slurmctld runs."""
    lab = make_agent_lab("24.11", start=False)
    config = resource_config(tree_of(lab.lab.nodes, 4))
    config["SlurmConfig"]["PrimaryControllerIp"] = "10.9.9.9"
    lab.lab.box.write_text(RESOURCE_CONFIG, json.dumps(config))
    stage(lab)
    assert run_script(lab) == 0
    assert not lab.lab.box.exists("/opt/slurm-topology")
    assert "not-installed" in lab.lab.box.read_text("/var/log/slurm-topology-install.log")


def test_controller_without_systemd_waits_for_slurm_in_the_background(make_agent_lab: Make) -> None:
    """OnInitComplete may run before slurmctld is up: the script returns at once, the first pass waits."""
    lab = make_agent_lab("26.05", start=False)
    lab.lab.run("rm", SETTINGS, check=True)
    lab.write_members(tree_of(lab.lab.nodes, 4))
    stage(lab)
    assert run_script(lab) == 0
    assert "systemd doesn't run here" in lab.lab.box.read_text("/var/log/slurm-topology-install.log")
    wait_for_pass(lab, 0)
    assert lab.state()["last_passes"][-1]["reason"] == "slurm-down"
    lab.lab.controller.start()
    wait_for(lab.unit_of, "the pass in the background publishes", seconds=30)


OTHER_PYTHONS = """
real=$(readlink -f /usr/bin/python3)
rm /usr/bin/python3
printf '#!/bin/sh\\necho too old >&2; exit 1\\n' > /usr/bin/python3; chmod 755 /usr/bin/python3
cp $real /root/python3; ln -s /root/python3 /usr/local/bin/python3
basename $real
"""


def test_the_agent_is_run_by_the_python_that_could_install_it(make_agent_lab: Make) -> None:
    """The image's own is too old, the next one is where the hardened unit sees nothing, and a third one will do."""
    lab = make_agent_lab("26.05", start=False)
    lab.write_members(tree_of(lab.lab.nodes, 4))
    stage(lab)
    name = lab.lab.run("sh", "-e", "-c", OTHER_PYTHONS, check=True).stdout.strip()
    assert run_script(lab) == 0
    said = lab.lab.box.read_text("/var/log/slurm-topology-install.log")
    assert "event=installed" in said, said
    version = lab.lab.run(COMMAND, "--version")
    assert (version.returncode, version.stdout.split()[0]) == (0, "slurm-topology"), version.stderr
    first_line = lab.lab.run("head", "-1", COMMAND).stdout
    assert re.fullmatch(rf"#!/(usr|opt/slurm)/bin/{name} -IB\n", first_line)
    wait_for_pass(lab, 0)


@pytest.mark.parametrize(
    ("executable", "home", "usable"),
    [
        ("/usr/bin/python3", "/usr", True),
        ("/opt/conda/bin/python3", "/opt/conda", True),
        ("/home/ubuntu/venv/bin/python", "/usr", False),
        ("/opt/venv/bin/python", "/root/.local/share/uv/python/cpython-3.12", False),
        ("/tmp/python", "/usr", False),
        ("/opt/a folder/python3", "/usr", False),
        ("/opt/" + "x" * 200 + "/python3", "/usr", False),
        ("", "/usr", False),
    ],
)
def test_a_python_that_the_unit_could_not_run_is_refused(executable: str, home: str, usable: bool) -> None:
    assert (unusable_python(executable, home) == "") is usable


def test_script_and_installer_know_the_same_hidden_folders() -> None:
    """And they are those that the unit's settings hide (systemd.exec(5): ProtectHome=, PrivateTmp=)."""
    script = (SCRIPTS / "on_init_complete.sh").read_text()
    assert re.findall(r'"(/[a-z/]+)/"', script.partition("hidden = ")[2].partition("\n")[0]) == list(HIDDEN)
    unit = (SCRIPTS / "systemd" / "slurm-topology.service").read_text()
    assert {"ProtectHome=yes", "PrivateTmp=yes"} <= set(unit.splitlines())


@pytest.mark.parametrize("fault", ["no zip", "broken zip", "no python", "full disk"])
def test_the_script_never_fails_the_node(make_agent_lab: Make, fault: str) -> None:
    lab = make_agent_lab("24.11", start=False)
    lab.write_members(tree_of(lab.lab.nodes, 4))
    stage(lab)
    if fault == "no zip":
        lab.lab.run("rm", f"{STAGING}/agent.zip", check=True)
    elif fault == "broken zip":
        lab.lab.box.write_text(f"{STAGING}/agent.zip", "PK not really")
    elif fault == "no python":
        lab.lab.run("sh", "-c", "rm -f /usr/bin/python3*", check=True)
    else:
        lab.lab.run("mkdir", "/opt/slurm-topology", check=True)
        lab.lab.run("mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", "/opt/slurm-topology", check=True)
    assert run_script(lab) == 0
    assert not there(lab, "/opt/slurm-topology/current")


@pytest.mark.parametrize(("script", "status"), [("exit 0", 0), ("exit 7", 7)])
def test_the_users_own_script_runs_first_and_its_status_counts(make_agent_lab: Make, script: str, status: int) -> None:
    lab = make_agent_lab("24.11", start=False)
    lab.write_members(tree_of(lab.lab.nodes, 4))
    stage(lab, script="own/start.sh", content=f"touch /tmp/own-was-here\n{script}\n")
    assert run_script(lab, "on_create.sh") == status
    assert lab.lab.box.exists("/tmp/own-was-here")
    assert there(lab, COMMAND)
