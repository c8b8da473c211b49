"""A second controller's machine beside a box, as on a multi-controller HyperPod cluster.

It has a host name, processes, a network and run-time folders of its own. Slurm's configuration and StateSaveLocation
are the first one's, as on a shared file system; a cable (veth) connects the two.

    lab = Lab("26.05", nodes=make_nodes(8), conf=TWO_CONTROLLERS)
    with lab, SecondBox(lab.box) as second:
        Controller(second).start()
"""

from __future__ import annotations

import subprocess

from .box import ENVIRONMENT, NAMESPACES, Box, children, name_of
from .controller import Controller, StartedBy
from .lab import Lab
from .wait import wait_for

__all__ = ["TWO_CONTROLLERS", "SecondBox", "second_lab"]

HOSTNAME, ADDRESS = "standby", "10.0.0.2"
# SlurmctldTimeout: the second takes over when the first has been silent for so long
TWO_CONTROLLERS = f"""\
SlurmctldHost=controller(10.0.0.1)
SlurmctldHost={HOSTNAME}({ADDRESS})
SlurmctldTimeout=4
"""

# What a machine has for itself; everything else is shared.
OWN_FOLDERS = "/run/slurmctld /var/log/slurm /var/lib/slurm-topology /run/slurm-topology /tmp"
# mount(2): not every root has mount(8)
MOUNT = """
import ctypes, os, sys
kind, *places = sys.argv[1:]
for place in places:
    os.makedirs(place, exist_ok=True)
    if ctypes.CDLL(None, use_errno=True).mount(kind.encode(), place.encode(), kind.encode(), 0, None):
        sys.exit(f"mount of {kind} on {place}: {os.strerror(ctypes.get_errno())}")
"""
INSIDE = f"""
hostname {HOSTNAME}
ip link set lo up
ip address add {ADDRESS}/32 dev lo
python3 -c '{MOUNT}' tmpfs {OWN_FOLDERS}
chmod 1777 /tmp
chown slurm: /run/slurmctld /var/log/slurm
echo ready
exec env --ignore-signal=CHLD cat >/dev/null
"""
# the first box takes every address of 10.0.0.0/8 for its own: the second one's has to be the better match
CABLE = f"""
python3 -c '{MOUNT}' proc /proc
ip link add to-second type veth peer name to-first netns $1
ip link set to-second up
ip route add {ADDRESS}/32 dev to-second table local
grep -q {HOSTNAME} /etc/hosts || echo {ADDRESS} {HOSTNAME} >>/etc/hosts
"""
CABLE_END = f"""
ip link set to-first up
ip route add 10.0.0.0/8 dev to-first src {ADDRESS}
"""


class SecondBox(Box):
    """Shares the first box's files; its processes don't see each other's. Use as a context manager."""

    def __init__(self, first: Box) -> None:
        super().__init__(first.root, hostname=HOSTNAME)
        self.first = first

    def start(self) -> None:
        self._sudo = self.first._sudo
        try:
            enter = ["nsenter", "--target", str(self.first.pid)]
            unshare = [
                "unshare",
                *NAMESPACES,
                "--propagation",
                "private",
                "--fork",
                "--kill-child=KILL",
                "--mount-proc",
            ]
            holder = [*enter, "--mount", "--cgroup", "--", "env", f"PATH={ENVIRONMENT['PATH']}", *unshare]
            said = self._start_helper(["setpriv", "--pdeathsig", "KILL", *holder, "sh", "-ec", INSIDE])
            assert said == "ready", said
            self.pid = wait_for(lambda: _deepest(self._helpers[0].pid, "cat"), "the second box's first process")
            # without --pid, and with a /proc of its own: the number of the other end's process is the outside's
            private = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", CABLE, "sh", str(self.pid)]
            cable = [*self._sudo, *enter, "--mount", "--net", "--", *private]
            done = subprocess.run(cable, check=False, capture_output=True, text=True)
            assert not done.returncode, done.stderr
            self.run("sh", "-ec", CABLE_END, check=True)
        except BaseException:
            self.stop()
            raise


def second_lab(lab: Lab, box: Box) -> Lab:
    """The same cluster, looked at from its second controller."""
    second = object.__new__(Lab)
    second.__dict__.update(lab.__dict__)
    second.box = box
    second.controller = Controller(box, StartedBy.DAEMON)
    return second


def _deepest(process: int, name: str) -> int:
    """The last of a chain of children, when that is its name; else 0."""
    while below := children(process):
        process = below[0]
    return process if name_of(process) == name else 0
