"""What the agent remembers between passes: small JSON documents, each written atomically, none of them needed to start.

A document that is broken, or of a newer format than this code knows, is set aside (never deleted, never fatal) and
the agent goes on without it: everything that matters is observed anew.

| file | holds |
| --- | --- |
| `state.json` | counters, pace, yielding, what was written last |
| `places.json` | the last known place of every node |
| `transaction.json` | the change under way; it is there only between the first write and the last step of an apply |
| `original.json` | what was in the configuration folder before the agent's first write (for uninstall) |
| `instances.json` | what SageMaker said about instances (zones, UltraServers), and EC2 (network) |
| `cloud.json` | when AWS was asked and told something last, and what went wrong then |
| `pause.json` | there while an operator has paused the agent |
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from slurm_topology.agent import findings
from slurm_topology.agent.files import Files
from slurm_topology.agent.members import members
from slurm_topology.agent.places import Place
from slurm_topology.agent.zones import Facts
from slurm_topology.core.errors import InputError, StateError
from slurm_topology.core.model import Finding, Placement
from slurm_topology.core.read_instance_topology import TopologyInstance

__all__ = ["AgentState", "CloudMemory", "Original", "Pause", "Store", "Transaction"]

FORMAT = 1  # of every document; a reader refuses what is newer
INSTANCES = "instances.json"
SET_ASIDE_KEPT = 3  # broken documents kept per name

Document = TypeVar("Document")


@dataclass(frozen=True)
class AgentState:
    """`state.json`.

    Times are seconds since 1970 of this machine's clock, and may lie in the future when that jumped.
    """

    conf_path: str = ""  # slurm.conf as Slurm told it last
    conf_files: list[str] = field(default_factory=list)  # it, and all that it includes
    slurm_version: str = ""  # likewise
    # file name or "TopologyPlugin" → digest of what was there when it was last right, or put there by us since
    written: dict[str, str] = field(default_factory=dict)
    assigned: dict[str, str] = field(default_factory=dict)  # partition → the topology that we gave it last
    put: dict[str, list[Any]] = field(default_factory=dict)  # likewise → digest of what we wrote there last, and when
    nodes: int = 0  # that Slurm had when it was last asked
    reconfigures: list[float] = field(default_factory=list)  # of the last minute
    failures: int = 0  # in a row
    failed_wanted: str = ""  # digest of the topology that failed last
    not_before: float = 0.0  # no new attempt at it before this
    reverts: list[float] = field(default_factory=list)  # when another writer undid our topology
    yield_until: float = 0.0
    yield_seconds: float = 0.0  # length of the present or last yield
    held_jobs: list[str] = field(default_factory=list)  # BadConstraints already when the topology was last seen right
    behind_since: float = 0.0  # when Slurm's topology was first seen not to match reality; 0: it matches
    down_since: float = 0.0  # when slurmctld was first seen not to answer; 0: it answered when it was last asked
    first_node_at: float = 0.0  # when Slurm was first seen with a node: capacity may come hours after the controller
    complete_once: bool = False  # every node's place has been known at least once: first boot is over
    counters: dict[str, int] = field(default_factory=dict)
    last_passes: list[dict[str, Any]] = field(default_factory=list)  # newest last, bounded
    reconfigure_seconds: float = 0.0  # how long the last one took
    settled_fingerprint: str = ""  # of everything when the topology was last seen right (see ``glance``)
    applied_at: float = 0.0  # when something was last put in force
    released_jobs: list[str] = field(default_factory=list)  # since then; none of them is released twice


@dataclass(frozen=True)
class Transaction:
    """`transaction.json`: a change under way. Enough to undo it, and to finish what comes after it."""

    started_at: float
    conf_path: str
    before: dict[str, str | None]  # file name or "TopologyPlugin" → what was there
    after: dict[str, str | None]  # likewise, what is to be there
    held_jobs: list[str] = field(default_factory=list)  # BadConstraints already before
    slurm_version: str = ""  # the order of the steps depends on it
    recovered: bool = False  # a later pass has put the disk in order; the jobs are still to be released
    # partition → topology, as Slurm showed it before, and as it is to be: a reconfigure forgets them
    assigned_before: dict[str, str] = field(default_factory=dict)
    assigned_after: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Original:
    """`original.json`: the configuration folder before our first write."""

    conf_path: str
    disk: dict[str, str | None]
    assignments: dict[str, str] = field(default_factory=dict)  # partition → the topology that it had been given live


@dataclass(frozen=True)
class Pause:
    """`pause.json`."""

    since: float
    reason: str


@dataclass(frozen=True)
class CloudMemory:
    """`cloud.json`, written after the passes and without their lock. Times as in `state.json`."""

    plan_looked_at: float = 0.0  # when the pointer to the plan was last looked at
    plan_etag: str = ""  # of the pointer then; "": unknown
    plan_sha256: str = ""  # of the plan that was in place then
    nothing_to_ask: str = ""  # signatures of the files for which every instance that matters is known
    ask_again_at: float = 0.0  # after a failure
    network_mark: str = ""  # signatures of the files when EC2's turn was looked at last; "": look again
    network_ask_at: float = 0.0  # no question to EC2 before
    network_pause: float = 0.0  # seconds, of the present or last one
    network_asked: str = ""  # the last id that EC2 was asked about
    troubles: dict[str, str] = field(default_factory=dict)  # what can't be asked → why
    reported: dict[str, int] = field(default_factory=dict)  # counters as CloudWatch was told them last
    reported_at: float = 0.0

    def without_trouble(self, subject: str) -> CloudMemory:
        return replace(self, troubles={name: why for name, why in self.troubles.items() if name != subject})


@dataclass(frozen=True)
class Store:
    """Loads and saves the documents in one folder. ``findings`` collects what had to be set aside while loading."""

    files: Files
    folder: Path
    findings: list[Finding] = field(default_factory=list)

    def load_state(self) -> AgentState:
        return self._load("state.json", AgentState) or AgentState()

    def save_state(self, state: AgentState) -> None:
        self._save("state.json", asdict(state))

    def load_transaction(self) -> Transaction | None:
        return self._load("transaction.json", Transaction)

    def save_transaction(self, transaction: Transaction) -> None:
        self._save("transaction.json", asdict(transaction))

    def end_transaction(self) -> None:
        self._remove("transaction.json")

    def set_transaction_aside(self, why: str) -> None:
        self._set_aside("transaction.json", why)

    def load_original(self) -> Original | None:
        return self._load("original.json", Original)

    def save_original(self, original: Original) -> None:
        self._save("original.json", asdict(original))

    def load_pause(self) -> Pause | None:
        return self._load("pause.json", Pause)

    def save_pause(self, pause: Pause) -> None:
        self._save("pause.json", asdict(pause))

    def end_pause(self) -> None:
        self._remove("pause.json")

    def load_places(self) -> dict[str, Place]:
        """Node name → where it was seen last."""
        document = self._document("places.json")
        try:
            return {} if document is None else dict(_place(entry) for entry in document["places"].items())
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self._set_aside("places.json", f"of an unknown shape ({error!r})")
            return {}

    def save_places(self, places: Mapping[str, Place]) -> None:
        entries = {
            name: [list(place.network_nodes), place.ultraserver_id, place.zone, instance_id]
            for name, (place, instance_id) in sorted(places.items())
        }
        self._save("places.json", {"places": entries})

    def load_cloud(self) -> CloudMemory:
        return self._load("cloud.json", CloudMemory) or CloudMemory()

    def save_cloud(self, memory: CloudMemory) -> None:
        self._save("cloud.json", asdict(memory))

    def load_instances(self) -> dict[str, Facts]:
        """Instance id → what SageMaker said about it."""
        return self._learnt("instances", lambda entry: Facts(*entry))

    def save_instances(self, instances: Mapping[str, Facts]) -> None:
        self._save_learnt("instances", {name: list(instances[name]) for name in sorted(instances)})

    def load_network(self) -> dict[str, TopologyInstance]:
        """Instance id → what EC2 said about it."""
        return self._learnt("network", lambda entry: TopologyInstance(*entry)._replace(network_nodes=tuple(entry[3])))

    def save_network(self, places: Mapping[str, TopologyInstance]) -> None:
        self._save_learnt("network", {name: list(places[name]) for name in sorted(places)})

    def _learnt(self, source: str, read: Callable[[Any], Document]) -> dict[str, Document]:
        document = self._document(INSTANCES) or {}
        try:
            return {str(instance_id): read(entry) for instance_id, entry in document.get(source, {}).items()}
        except (TypeError, IndexError, AttributeError) as error:
            self._set_aside(INSTANCES, f"of an unknown shape ({error!r})")
            return {}

    def _save_learnt(self, source: str, entries: Mapping[str, Any]) -> None:
        """The part of one source; the other's stays."""
        self._save(INSTANCES, {"instances": {}, **(self._document(INSTANCES) or {}), source: entries})

    # ---- documents

    def _load(self, name: str, kind: type[Document]) -> Document | None:
        document = self._document(name)
        if document is None:
            return None
        try:
            return kind(**members(document, kind))
        except (TypeError, InputError) as error:
            self._set_aside(name, f"of an unknown shape ({error})")
            return None

    def _document(self, name: str) -> dict[str, Any] | None:
        """The parsed document, or None when it isn't there or had to be set aside."""
        try:
            text = self.files.read_text(self.folder / name)
        except OSError as error:
            self._complain(name, f"can't be read ({error.strerror})")
            return None
        if text is None:
            return None
        try:
            document = json.loads(text)
            number = document.pop("format")
        except (ValueError, AttributeError, TypeError, KeyError) as error:
            self._set_aside(name, f"broken ({error!r})")
            return None
        if number != FORMAT:
            self._set_aside(name, f"of format {number!r}, and this agent knows format {FORMAT}")
            return None
        return dict(document)

    def _save(self, name: str, document: Mapping[str, Any]) -> None:
        text = json.dumps({"format": FORMAT, **document}, sort_keys=True, separators=(",", ":"))
        try:
            self.files.make_folder(self.folder, 0o750)
            self.files.write_atomically(self.folder / name, text + "\n", mode=0o640)
        except OSError as error:
            raise StateError(f"{self.folder / name} can't be written: {error.strerror}") from error

    def _remove(self, name: str) -> None:
        try:
            self.files.remove(self.folder / name)
        except OSError as error:
            raise StateError(f"{self.folder / name} can't be removed: {error.strerror}") from error

    def _set_aside(self, name: str, why: str) -> None:
        """Rename to name.broken-1, -2 or -3 (the last one is used again), so that a person can look at it."""
        number = next(
            (n for n in range(1, SET_ASIDE_KEPT) if self.files.signature(self.folder / f"{name}.broken-{n}") is None),
            SET_ASIDE_KEPT,
        )
        aside = self.folder / f"{name}.broken-{number}"
        try:
            self.files.rename(self.folder / name, aside)
        except OSError as error:
            self._complain(name, f"{why}, and can't be set aside ({error.strerror})")
        else:
            self._complain(name, f"{why}; set aside as {aside.name}")

    def _complain(self, name: str, why: str) -> None:
        self.findings.append(findings.set_aside(str(self.folder / name), why))


def _place(entry: tuple[str, Any]) -> tuple[str, Place]:
    name, (network_nodes, ultraserver, zone, instance_id) = entry
    return name, Place(Placement(tuple(map(str, network_nodes)), ultraserver, zone), instance_id)
