"""Look at Slurm, the disk and HyperPod's file, and put it all into one frozen value. Changes nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from slurm_topology.agent import findings, network, readback, zones
from slurm_topology.agent.daemon import find_daemon, unit_active
from slurm_topology.agent.disk import CONF, YAML, DiskState, flat_like
from slurm_topology.agent.files import Files, Signature
from slurm_topology.agent.observation import Daemon, Observation, Role, SlurmView
from slurm_topology.agent.role import controller_hosts, local_addresses, own_names, short
from slurm_topology.agent.settings import Settings
from slurm_topology.agent.shell import Shell
from slurm_topology.agent.slurm import ControllerLine, Slurm
from slurm_topology.agent.slurm_conf import SlurmConf, read_slurm_conf
from slurm_topology.agent.state import Store
from slurm_topology.agent.text import digest
from slurm_topology.agent.usable import usable
from slurm_topology.core import plan_document, read_resource_config
from slurm_topology.core.errors import CommandError, InputError
from slurm_topology.core.model import ClusterTopology, Finding
from slurm_topology.core.read_instance_topology import TopologyInstance
from slurm_topology.core.read_scontrol import read_nodes, read_partitions
from slurm_topology.core.slurm_version import SlurmVersion

__all__ = ["Observer", "disk_state", "in_force", "role_of"]

# Where slurm.conf is on HyperPod, and where Debian and SchedMD's packages put it: only asked when Slurm itself can't
# tell.
USUAL_CONF_PATHS = ("/opt/slurm/etc/slurm.conf", "/etc/slurm/slurm.conf", "/usr/local/etc/slurm.conf")

UNREAD_REMEDY = "mend the line; until then every node that slurmctld has keeps its place"

Value = TypeVar("Value")


@dataclass
class Observer:
    """Looks. One use: what went wrong on the way is collected in ``findings``."""

    shell: Shell
    files: Files
    slurm: Slurm
    settings: Settings
    conf_path_known: str  # as Slurm told it in an earlier pass; "" when never
    host_name: str

    def __post_init__(self) -> None:
        self.findings: list[Finding] = []
        self.conf_signatures: dict[str, Signature | None] = {}

    def look(self, now: float) -> Observation:
        controllers = self._ping()
        config = self.slurm.config() if any(line.up for line in controllers) else {}
        daemon = find_daemon(self.files, self.shell, self.settings.slurmctld_unit, config.get("SlurmctldPidFile"))
        conf = self._conf(config.get("SLURM_CONF"), daemon)
        hosts = controller_hosts(conf) if conf else ()
        own = own_names(hosts, self.host_name, local_addresses(self._read_proc("net/fib_trie")))
        role, active_host = role_of(controllers, self.host_name, own, slurmctld_here=daemon is not None)
        slurmctld = daemon.binary if daemon else "slurmctld"
        next_version = self._try("AGENT011", slurmctld, lambda: SlurmVersion.parse(self.slurm.version_of(slurmctld)))
        if any(line.up for line in controllers) and "SLURM_VERSION" not in config:
            raise InputError("scontrol show config: expected a line SLURM_VERSION, got none")
        version = SlurmVersion.parse(config["SLURM_VERSION"]) if config else next_version
        disk, unreadable = self._disk(conf, version)
        resource_config = self._resource_config()
        facts, places = self._learnt()
        view = self._view(config, version) if role is Role.ACTIVE and version is not None else None
        return Observation(
            now=now,
            role=role,
            active_host=active_host,
            daemon=daemon,
            conf=conf,
            disk=disk,
            version=version,
            next_version=next_version,
            slurmctld=slurmctld,
            slurm=view,
            resource_config=resource_config,
            plan=self._plan(),
            manager_active=unit_active(self.shell, self.settings.manager_unit),
            cluster_nodes=zones.cluster_nodes(resource_config, facts) if resource_config else None,
            instance_topology=network.fallback(resource_config, places) if resource_config else None,
            findings=tuple(self.findings),
            conf_signatures=self.conf_signatures,
            unreadable=unreadable,
            controller_rank=next((rank for rank, (name, _) in enumerate(hosts) if name in (own or ())), 0),
        )

    # ---- Slurm

    def _ping(self) -> tuple[ControllerLine, ...]:
        return self._try("AGENT010", "scontrol ping", self.slurm.ping) or ()

    def _view(self, config: Mapping[str, str], version: SlurmVersion) -> SlurmView:
        plugin = config.get("TopologyPlugin", version.flat_plugin)
        words, meaning = in_force(self.slurm, version, plugin)
        return SlurmView(
            version=version,
            plugin=plugin,
            slurm_user=config.get("SlurmUser", "root"),
            log_file=config.get("SlurmctldLogFile"),
            nodes=read_nodes(self.slurm.nodes()),
            partitions=read_partitions(self.slurm.partitions()),
            in_force=meaning,
            in_force_digest=digest(words),
            jobs=self.slurm.pending_jobs(),
        )

    # ---- the disk

    def _read_proc(self, name: str) -> str:
        try:
            return self.files.read_text(Path("/proc") / name) or ""
        except OSError:
            return ""  # then names alone have to do

    def _conf(self, told: str | None, daemon: Daemon | None) -> SlurmConf | None:
        """slurm.conf: where Slurm says it is, else where it was said to be, else where it usually is."""
        candidates = [told or "", self.settings.slurm_conf, _conf_argument(daemon), self.conf_path_known]
        for path in [*filter(None, candidates), *USUAL_CONF_PATHS]:
            if self.files.signature(Path(path)) is not None:
                conf = self._try("AGENT012", path, lambda path=path: read_slurm_conf(path, self._read))  # type: ignore[misc]
                for part in conf.unread if conf else ():
                    self._say("AGENT012", path, f"not read in full: {part}", UNREAD_REMEDY)
                return conf
        self._say(
            "AGENT012",
            "slurm.conf",
            "no slurm.conf was found, and Slurm doesn't say where it is",
            "set slurm_conf in agent.json",
        )
        return None

    def _disk(self, conf: SlurmConf | None, version: SlurmVersion | None) -> tuple[DiskState, tuple[str, ...]]:
        """The topology on disk, as far as slurmctld can read it, and what it can't."""
        if conf is None:
            return DiskState(), ()
        return usable(disk_state(self.files, conf.path, conf), conf, version, self.files, self.shell)

    def _read(self, path: str) -> str | None:
        self.conf_signatures[path] = self.files.signature(Path(path))
        return self.files.read_text(Path(path))

    def _resource_config(self) -> read_resource_config.ResourceConfig | None:
        return self._json(
            self.settings.resource_config, "AGENT013", lambda text: read_resource_config.read(json.loads(text))
        )

    def _learnt(self) -> tuple[dict[str, zones.Facts], dict[str, TopologyInstance]]:
        """What ``learning`` and ``network`` keep: SageMaker's facts, and EC2's. What couldn't be asked is a finding."""
        memory = Store(self.files, self.settings.state_folder, self.findings)
        troubles = memory.load_cloud().troubles
        self.findings += [findings.aws_not_asked(subject, troubles[subject]) for subject in sorted(troubles)]
        return memory.load_instances(), memory.load_network()

    def _plan(self) -> plan_document.PlanDocument | None:
        if self.files.signature(self.settings.plan) is None:
            return None  # a cluster without our construct has none
        return self._json(self.settings.plan, "AGENT014", plan_document.load)

    def _json(self, path: Path, finding: str, read: Callable[[str], Value]) -> Value | None:
        text = self._try(finding, str(path), lambda: self.files.read_text(path))
        if text is None:
            self._say(
                finding,
                str(path),
                "the file isn't there",
                "HyperPod writes it on the controller; the next pass looks again",
            )
            return None
        return self._try(finding, str(path), lambda: read(text))

    def _try(self, finding: str, subject: str, look: Callable[[], Value]) -> Value | None:
        try:
            return look()
        except (InputError, CommandError, OSError, ValueError) as error:
            self._say(finding, subject, str(error), "the next pass looks again")
            return None

    def _say(self, finding: str, subject: str, message: str, remedy: str) -> None:
        self.findings.append(findings.not_readable(subject, finding, message, remedy))


def in_force(slurm: Slurm, version: SlurmVersion, plugin: str | None = None) -> tuple[str, ClusterTopology]:
    """Slurm's own words about the topology in force, and what they mean; no topology at all when it can't tell.

    ``plugin``: the one in force (None: asked). scontrol can't show a topology when slurm.conf on disk names another
    plugin than that.
    Raises CommandError.
    """
    if version.has_topology_yaml:
        words = slurm.topology_configuration()
        seen = readback.read_topoconf(words)
        if seen is not None:
            return words, seen
    if plugin is None:
        plugin = slurm.config().get("TopologyPlugin", version.flat_plugin)
    if flat_like(plugin):
        return plugin, readback.FLAT
    words = slurm.topology()
    return words, readback.read_topology(words)


def disk_state(files: Files, conf_path: str, conf: SlurmConf | None = None) -> DiskState:
    """The configuration folder's topology part now. Raises OSError, InputError."""
    if conf is None:
        conf = read_slurm_conf(conf_path, lambda path: files.read_text(Path(path)))
    folder = Path(conf_path).parent
    return DiskState(files.read_text(folder / CONF), files.read_text(folder / YAML), conf.topology_plugin)


def role_of(
    controllers: tuple[ControllerLine, ...],
    host_name: str,
    own: Collection[str] | None = None,
    *,
    slurmctld_here: bool = True,
) -> tuple[Role, str]:
    """This machine's role: the first controller that is up acts for the cluster. Also the name of that host.

    ``own``: what slurm.conf calls this machine, if it is a controller (None: it doesn't say). ``slurmctld_here``: one
    runs here. A machine that is neither (`scontrol ping` answers on workers, too) stands by for ever.
    """
    active = next((line for line in controllers if line.up), None)
    if active is None:
        return (Role.STANDBY if own == () and not slurmctld_here else Role.DOWN), ""
    named = short(active.host) in (short(host_name), *map(short, own or ()))
    return (Role.ACTIVE if named or (len(controllers) == 1 and slurmctld_here) else Role.STANDBY), active.host


def _conf_argument(daemon: Daemon | None) -> str:
    """The -f argument that slurmctld was started with."""
    words = daemon.arguments if daemon else ()
    found = next((words[index + 1] for index, word in enumerate(words[:-1]) if word == "-f"), "")
    return found if os.path.isabs(found) else ""  # noqa: PTH117
