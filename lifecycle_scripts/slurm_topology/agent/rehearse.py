"""The rehearsal: would the live slurmctld start with this? Slurm has no configuration test, so we make one.

A throw-away ``slurmctld -D`` of the live binary, in an empty network namespace, with those lines of the live
slurm.conf that a topology is judged by and a state folder of its own. It says "Running as primary controller" or
dies, in 0.03 to 0.1 s.

The live state of the nodes is copied into that folder, because an override in it (from 25.11 on, a CLOUD node's own
Topology=) is judged together with the topology. The rehearsal can't see pending jobs and dynamic nodes.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from slurm_topology.agent import rehearsal_runner
from slurm_topology.agent.disk import DiskState, flat_like
from slurm_topology.agent.files import Files
from slurm_topology.agent.shell import Shell
from slurm_topology.agent.slurm_conf import SlurmConf, joined
from slurm_topology.core.errors import CommandError

__all__ = ["Rehearsal", "Rehearser", "Verdict", "judge", "rehearsal_conf"]

# Only these lines decide about a topology. Everything else (hosts, ports, programs, authentication, accounting,
# plugins) is left out, so that the rehearsal neither reaches anything nor dies of something that isn't there.
CLUSTER_KEYS = (
    "topologyplugin",
    "topologyparam",
    "selecttype",
    "selecttypeparameters",
    "grestypes",
    "maxnodecount",
    "plugindir",
    "treewidth",
)
PARTITION_KEYS = ("partitionname", "nodes", "default", "topology", "state")
WHOLE_LINES = ("nodeset", "frontendname")
# Where a node is, has nothing to do with where it is in the network, and slurmctld looks for a name that it can't
# resolve for 10 s a node: in a namespace without a network that is every name.
ADDRESS_KEYS = ("nodeaddr", "nodehostname", "bcastaddr", "port")
ALWAYS = (
    "ClusterName=rehearsal",
    "SlurmctldHost=localhost(127.0.0.1)",
    "SlurmctldPort=6817",
    "SlurmUser=root",
    "SlurmctldDebug=info",
    "SlurmctldSyslogDebug=quiet",
    "JobAcctGatherType=jobacct_gather/none",
    "MailProg=/bin/true",
)
# with its address: slurmctld would look for one of that name for 10 s
CONTROL = (*ALWAYS, "NodeName=alone NodeAddr=127.0.0.1", "PartitionName=alone Nodes=alone")
NOBODY = ("AuthType=auth/none", "CredType=cred/none")
# What is beside slurm.conf and read at start; cgroup.conf switches cgroups off where the live one does.
NEIGHBOURS = ("cgroup.conf", "gres.conf")
REASON = re.compile(r"fatal:|error: .*(?:opolog|switch|block)|Failed to load topology", re.IGNORECASE)
NOTE = re.compile(
    r"lack access|Invalid hostnames|Multiple leaf|no switch can reach|do not contain|more than once", re.IGNORECASE
)
STAMP = re.compile(r"^(?:\[[^\]]*\]\s*|slurmctld: )+")
LINES_KEPT = 5


class Verdict(str, Enum):
    STARTS = "starts"
    REFUSED = "refused"
    UNKNOWN = "unknown"  # it could not be tried: no privilege for a network namespace, no binary, no answer in time


@dataclass(frozen=True)
class Rehearsal:
    """``reasons``: why not, in slurmctld's words. ``notes``: what it warned of."""

    verdict: Verdict
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rehearser:
    """Tries disk states. ``scratch`` is a folder that may be filled and emptied."""

    shell: Shell
    files: Files
    scratch: Path
    timeout: float

    def rehearse(self, disk: DiskState, conf: SlurmConf, slurmctld: str) -> Rehearsal:
        """Try one state of the configuration folder. ``slurmctld``: path or name of the live binary."""
        if not flat_like(disk.plugin) and disk.conf is None and disk.yaml is None:
            # slurmctld looks for the file for a minute before it gives up
            return Rehearsal(Verdict.REFUSED, (f"TopologyPlugin={disk.plugin}, and there is no topology.conf",))
        return self._judged(disk, conf, slurmctld, tuple(rehearsal_conf(conf, disk.plugin)))

    def blames_topology(self, conf: SlurmConf, slurmctld: str) -> bool:
        """False when slurmctld would refuse this slurm.conf also if nothing of a topology were in it."""
        lines = tuple(rehearsal_conf(conf, None, bare=True))
        return self._judged(DiskState(), conf, slurmctld, lines).verdict is not Verdict.REFUSED

    def _judged(self, disk: DiskState, conf: SlurmConf, slurmctld: str, lines: Sequence[str]) -> Rehearsal:
        """A refusal counts only where the simplest slurmctld starts: else the rehearsal itself doesn't work here."""
        for credentials in _credentials(conf):
            tried = self._try(disk, conf, slurmctld, (*credentials, *lines))
            if tried.verdict is not Verdict.REFUSED:
                return tried
            control = self._try(DiskState(), conf, slurmctld, (*credentials, *CONTROL, *_plugin_folder(conf)))
            if control.verdict is Verdict.STARTS:
                return tried
        return Rehearsal(Verdict.UNKNOWN, ("slurmctld can't be tried here, not even alone", *control.reasons))

    def _try(self, disk: DiskState, conf: SlurmConf, slurmctld: str, lines: Sequence[str]) -> Rehearsal:
        with self.files.scratch(self.scratch) as folder:
            self._prepare(folder, disk, conf, lines)
            runner = [sys.executable, "-I", "-S", str(Path(rehearsal_runner.__file__)), str(self.timeout)]
            argv = [*runner, slurmctld, "-D", "-f", str(folder / "slurm.conf")]
            try:
                done = self.shell.run(argv, timeout=self.timeout + 10)
            except CommandError as error:
                return Rehearsal(Verdict.UNKNOWN, (str(error),))
        # the folder's name has "topology" in it, and would make reasons of lines that only name a file
        return judge(done.returncode, (done.stdout + done.stderr).replace(f"{folder}/", ""))

    def _prepare(self, folder: Path, disk: DiskState, conf: SlurmConf, lines: Sequence[str]) -> None:
        self.files.make_folder(folder / "state")
        if disk != DiskState():
            self._copy_node_state(folder / "state", conf)
        own = (f"StateSaveLocation={folder}/state", f"SlurmctldPidFile={folder}/pid")
        self.files.write_scratch(folder / "slurm.conf", "".join(f"{line}\n" for line in (*own, *lines)))
        for name, content in disk.topology_files():
            self.files.write_scratch(folder / name, content)
        for name in NEIGHBOURS:
            beside = self.files.read_text(Path(conf.path).with_name(name))
            if beside is not None:
                self.files.write_scratch(folder / name, beside)

    def _copy_node_state(self, folder: Path, conf: SlurmConf) -> None:
        state = conf.value("StateSaveLocation")
        if state is not None:
            with contextlib.suppress(OSError):  # not there before the first start of slurmctld
                self.files.copy(Path(state) / "node_state", folder / "node_state")


def rehearsal_conf(conf: SlurmConf, plugin: str | None, *, bare: bool = False) -> Iterator[str]:
    """Lines of the slurm.conf to rehearse with: the live one's that matter, with ``plugin`` as TopologyPlugin.

    ``bare``: without anything of a topology.
    """
    topology_keys = {"topologyplugin", "topologyparam", "topology"} if bare else {"topologyplugin"}
    yield from ALWAYS
    if plugin is not None:
        yield f"TopologyPlugin={plugin}"
    for line in conf.lines:
        keys = {key for key, _ in line.pairs}
        if "nodename" in keys:
            here = () if line.get("nodename") == "DEFAULT" else (("NodeAddr", "127.0.0.1"),)
            yield joined((*(pair for pair in line.pairs if pair[0] not in ADDRESS_KEYS), *here))
        elif keys & set(WHOLE_LINES):
            yield joined(line.pairs)
        elif "partitionname" in keys:
            yield joined(pair for pair in line.pairs if pair[0] in PARTITION_KEYS and pair[0] not in topology_keys)
        else:
            kept = [pair for pair in line.pairs if pair[0] in CLUSTER_KEYS and pair[0] not in topology_keys]
            yield from (joined([pair]) for pair in kept)


def _credentials(conf: SlurmConf) -> Iterator[tuple[str, ...]]:
    """Ways to start without disturbing anybody.

    SchedMD's packages lack auth/none; munge is a socket that the rehearsal may use as well as the live slurmctld
    (and Slurm's default). auth/slurm isn't tried: it would take over the live slurmctld's own socket in /run.
    """
    yield NOBODY
    if (conf.value("AuthType") or "auth/munge") == "auth/munge":
        info = conf.value("AuthInfo")
        yield ("AuthType=auth/munge", "CredType=cred/munge", *((f"AuthInfo={info}",) if info else ()))


def _plugin_folder(conf: SlurmConf) -> tuple[str, ...]:
    folder = conf.value("PluginDir")
    return (f"PluginDir={folder}",) if folder else ()


def judge(status: int, said: str) -> Rehearsal:
    """The runner's exit status and slurmctld's words as a verdict."""
    lines = [STAMP.sub("", line).strip() for line in said.splitlines()]
    notes = tuple(line for line in lines if NOTE.search(line))
    if status == rehearsal_runner.STARTED:
        return Rehearsal(Verdict.STARTS, (), notes)
    spoken = [line for line in lines if line]
    if status != rehearsal_runner.DIED:
        return Rehearsal(Verdict.UNKNOWN, tuple(spoken[-LINES_KEPT:]), notes)
    reasons = [line for line in spoken if REASON.search(line)] or spoken[-2:]
    return Rehearsal(Verdict.REFUSED, tuple(reasons[:LINES_KEPT]), notes)
