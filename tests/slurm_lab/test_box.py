"""Boxes: what goes in, what comes out, and that nothing outlives them."""

from __future__ import annotations

import http.server
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from slurm_lab import Box, BoxError, NotRunnable, Root, wait_for
from slurm_lab.fixtures import not_runnable
from slurm_lab.privilege import as_root

pytestmark = pytest.mark.slurm
CGROUPS = Path("/sys/fs/cgroup")

# A test run that is about to be killed: a box with a daemon in it. Prints PID 1 as this machine numbers it.
DOOMED = """
import sys, time
from slurm_lab import Box, find_root
box = Box(find_root(sys.argv[1]), systemd=sys.argv[2] == "systemd")
box.start()
box.run("sh", "-c", "exec >/dev/null 2>&1; sleep 1000 & setsid sleep 1000 &")
print(box.pid, flush=True)
time.sleep(1000)
"""


@pytest.fixture
def box(slurm_roots: Callable[[str], Root]) -> Iterator[Box]:
    with Box(slurm_roots("24.11")) as box:
        yield box


def start(box: Box) -> None:
    try:
        box.start()
    except NotRunnable as reason:
        not_runnable(reason)


def namespaces() -> dict[str, str]:
    """The PID namespace of each process of this machine; "-" for those that are ending."""
    listing = [*as_root("Looking at another user's processes"), "ps", "-e", "-o", "pid=", "-o", "pidns="]
    return dict(line.split() for line in subprocess.check_output(listing, text=True).splitlines())


def test_commands_run_inside_with_a_clean_environment(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")
    assert box.run("hostname").stdout == "controller\n"
    assert "SECRET" not in box.run("env").stdout
    assert box.run("cat", input="text").stdout == "text"
    assert box.run("sh", "-c", "echo $COLOUR", environment={"COLOUR": "red"}).stdout == "red\n"


def test_a_failure_tells_the_command_and_what_it_said(box: Box) -> None:
    assert box.run("false").returncode == 1
    with pytest.raises(BoxError, match="status 3:\nsorry"):
        box.run("sh", "-c", "echo sorry >&2; exit 3", check=True)
    with pytest.raises(BoxError, match=r"more than 0\.1 s"):
        box.run("sleep", "60", timeout=0.1)


def test_a_signal_reaches_the_command_and_not_only_nsenter(box: Box) -> None:
    """A crash of the agent at a chosen instant is really one."""
    process = box.popen("sleep", "1000")
    wait_for(lambda: box.run("pgrep", "-x", "sleep").stdout, "the command runs")
    process.kill()
    assert process.wait(10) == -signal.SIGKILL
    assert box.run("pgrep", "-x", "sleep").stdout == ""


def test_files_are_written_whole_and_never_to_the_root(box: Box) -> None:
    box.write_text("/etc/new/file", "text", mode=0o600)
    assert box.read_text("/etc/new/file") == "text"
    assert box.run("stat", "--format=%a", "/etc/new/file").stdout == "600\n"
    assert box.run("ls", "/etc/new").stdout == "file\n"
    assert not (box.root.path / "etc/new").exists()
    with pytest.raises(FileNotFoundError):
        box.read_text("/etc/none")


def test_a_folder_is_copied_in(box: Box, tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "run.sh").write_text("echo hello")
    (tmp_path / "package" / "run.sh").chmod(0o755)
    box.copy_in(tmp_path, "/opt/code")
    assert box.run("stat", "--format=%U %a", "/opt/code/package/run.sh").stdout == "root 755\n"
    assert box.run("sh", "/opt/code/package/run.sh").stdout == "hello\n"


def test_two_boxes_are_alone(box: Box) -> None:
    """Same ports, same paths, no clash; and no way out to the machine's network."""
    with Box(box.root) as other:
        other.write_text("/tmp/mine", "")
        assert not box.exists("/tmp/mine")
        listen = "import socket; socket.create_server(('127.0.0.1', 6817)); print('listening')"
        for each in (box, other):
            assert each.run("python3", "-c", listen).stdout == "listening\n"
        assert "lo" in box.run("ip", "-brief", "link").stdout
        assert len(box.run("ip", "-brief", "link").stdout.splitlines()) == 1


def test_a_server_on_our_loopback_is_reachable_at_the_same_port(slurm_roots: Callable[[str], Root]) -> None:
    class Hello(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body[::-1])

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 (the base class's name)
            """Quiet."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        post = f"import urllib.request as u; print(u.urlopen('http://127.0.0.1:{server.server_port}', b'abc').read())"
        with Box(slurm_roots("24.11"), forward_ports=[server.server_port]) as box:
            assert box.run("python3", "-c", post, timeout=10).stdout == "b'cba'\n"
        server.shutdown()


def test_systemd_boots_runs_units_and_leaves_no_cgroup(slurm_root: Root) -> None:
    before = set(CGROUPS.rglob("slurm-lab.*"))
    box = Box(slurm_root, systemd=True)
    start(box)
    try:
        assert box.run("systemctl", "is-system-running").stdout == "running\n"
        unit = (
            "[Service]\nType=oneshot\nProtectSystem=strict\nExecStart=sh -c 'touch /etc/x || cat /proc/self/cgroup'\n"
        )
        box.write_text("/etc/systemd/system/probe.service", unit)
        box.run("systemctl", "start", "probe.service", check=True)
        said = box.run("journalctl", "--unit=probe.service", "--output=cat").stdout
        assert "Read-only file system" in said
        assert "0::/system.slice/probe.service" in said
    finally:
        box.stop()
    assert set(CGROUPS.rglob("slurm-lab.*")) <= before


@pytest.mark.parametrize("init", ["wait", "systemd"])
def test_nothing_outlives_a_killed_test_run(slurm_roots: Callable[[str], Root], init: str) -> None:
    root = slurm_roots("24.11")
    if init == "systemd":
        probe = Box(root, systemd=True)
        start(probe)
        probe.stop()
    argv = [sys.executable, "-c", DOOMED, root.version, init]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    run = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert run.stdout is not None
        init_pid = run.stdout.readline().strip()
        namespace = namespaces()[init_pid]
        assert list(namespaces().values()).count(namespace) >= 3
    finally:
        run.kill()
        run.communicate()
    wait_for(lambda: namespace not in namespaces().values(), "every process of the box is gone", seconds=10)
    assert str(root.path) not in Path("/proc/mounts").read_text()
