"""The properties of the custom resources, read from the strings they arrive as.

A property that the constructs never write wrongly can still be wrong at deploy time: parameters and other tokens get
their value only then. So everything is checked, and everything that is wrong is said at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from slurm_topology.core.errors import InputError
from slurm_topology.core.model import NodeRole, TopologyKind
from slurm_topology.core.slurm_version import SlurmVersion

__all__ = ["MODES", "GroupProperties", "InitialTopologyProperties", "S3PrefixListProperties", "TopologyPlanProperties"]

MODES = ("own", "repair", "observe")
_KINDS = ("auto", *(kind.value for kind in TopologyKind))


@dataclass(frozen=True)
class GroupProperties:
    """An instance group as the template has it."""

    name: str
    instance_type: str
    role: NodeRole
    partitions: tuple[str, ...]
    count: int
    training_plan_arn: str | None


class TopologyPlanProperties(NamedTuple):
    """``Custom::HyperPodSlurmTopologyPlan``."""

    bundle_bucket: str
    bundle_key: str
    lifecycle_bucket: str
    lifecycle_prefix: str
    groups: tuple[GroupProperties, ...]
    wanted: TopologyKind | None  # None: auto
    block_sizes: tuple[int, ...]
    mode: str
    slurm_version: SlurmVersion | None

    @classmethod
    def read(cls, properties: Mapping[str, object]) -> TopologyPlanProperties:
        """Raises InputError with everything that is wrong."""
        reader = _Reader(properties, "")
        topology = reader.mapping("Topology")
        kind = topology.one_of("Kind", _KINDS, "auto")
        read = cls(
            bundle_bucket=reader.text("BundleBucket"),
            bundle_key=reader.text("BundleKey"),
            lifecycle_bucket=reader.text("LifecycleBucket"),
            lifecycle_prefix=reader.text("LifecyclePrefix").strip("/"),
            groups=_groups(reader),
            wanted=None if kind == "auto" else TopologyKind(kind),
            block_sizes=topology.numbers("BlockSizes"),
            mode=reader.one_of("Mode", MODES, "own"),
            slurm_version=reader.version("SlurmVersion"),
        )
        reader.raise_if_wrong()
        return read


class InitialTopologyProperties(NamedTuple):
    """``Custom::HyperPodSlurmInitialTopology``."""

    cluster_name: str
    lifecycle_bucket: str
    lifecycle_prefix: str
    groups: tuple[GroupProperties, ...]

    @classmethod
    def read(cls, properties: Mapping[str, object]) -> InitialTopologyProperties:
        """Raises InputError with everything that is wrong."""
        reader = _Reader(properties, "")
        read = cls(
            cluster_name=reader.text("ClusterName"),
            lifecycle_bucket=reader.text("LifecycleBucket"),
            lifecycle_prefix=reader.text("LifecyclePrefix").strip("/"),
            groups=_groups(reader),
        )
        reader.raise_if_wrong()
        return read


class S3PrefixListProperties(NamedTuple):
    """``Custom::HyperPodSlurmS3PrefixList``."""

    service_name: str  # of the gateway endpoint, such as com.amazonaws.us-west-2.s3: the list has its name

    @classmethod
    def read(cls, properties: Mapping[str, object]) -> S3PrefixListProperties:
        """Raises InputError when it is missing."""
        reader = _Reader(properties, "")
        read = cls(service_name=reader.text("ServiceName"))
        reader.raise_if_wrong()
        return read


def _groups(reader: _Reader) -> tuple[GroupProperties, ...]:
    groups = tuple(_group(one) for one in reader.mappings("Groups"))
    names = [group.name for group in groups]
    for name in sorted({name for name in names if name and names.count(name) > 1}):
        reader.complain("Groups", f"two groups named {name}", "a name of its own for each group")
    return groups


def _group(reader: _Reader) -> GroupProperties:
    return GroupProperties(
        name=reader.text("Name"),
        instance_type=reader.text("InstanceType"),
        role=NodeRole(reader.one_of("Role", tuple(role.value for role in NodeRole), NodeRole.COMPUTE.value)),
        partitions=reader.texts("Partitions"),
        count=reader.number("Count"),
        training_plan_arn=reader.optional_text("TrainingPlanArn"),
    )


class _Reader:
    """Reads one map and notes what is wrong. A wrong value is read as an empty one, so that reading goes on."""

    def __init__(self, values: Mapping[str, object], path: str, wrong: list[str] | None = None) -> None:
        self._values = values
        self._path = path
        self._wrong: list[str] = [] if wrong is None else wrong

    def complain(self, name: str, got: object, expected: str) -> None:
        shown = "nothing" if got is None else got if isinstance(got, str) and " " in got else repr(got)
        self._wrong.append(f"{self._path}{name}: got {shown}, expected {expected}")

    def raise_if_wrong(self) -> None:
        if self._wrong:
            raise InputError("the resource's properties are unusable: " + "; ".join(self._wrong))

    def text(self, name: str) -> str:
        value = self._values.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
        self.complain(name, value, "a text")
        return ""

    def optional_text(self, name: str) -> str | None:
        return self.text(name) if self._values.get(name) not in (None, "") else None

    def one_of(self, name: str, choices: tuple[str, ...], default: str) -> str:
        value = self._values.get(name)
        if value in (None, ""):
            return default
        if isinstance(value, str) and value in choices:
            return value
        self.complain(name, value, f"one of {', '.join(choices)}")
        return default

    def number(self, name: str) -> int:
        return self._number(name, self._values.get(name))

    def numbers(self, name: str) -> tuple[int, ...]:
        return tuple(self._number(name, value) for value in self._list(name))

    def texts(self, name: str) -> tuple[str, ...]:
        values = self._list(name)
        if not all(isinstance(value, str) and value for value in values):
            self.complain(name, values, "a list of texts")
            return ()
        return tuple(str(value) for value in values)

    def version(self, name: str) -> SlurmVersion | None:
        text = self.optional_text(name)
        if text is None:
            return None
        try:
            return SlurmVersion.parse(text)
        except InputError as error:
            self._wrong.append(f"{self._path}{name}: {error}")
            return None

    def mapping(self, name: str) -> _Reader:
        value = self._values.get(name)
        if value is not None and not isinstance(value, Mapping):
            self.complain(name, value, "a map")
        return _Reader(value if isinstance(value, Mapping) else {}, f"{self._path}{name}.", self._wrong)

    def mappings(self, name: str) -> list[_Reader]:
        values = self._list(name)
        if not values:
            self.complain(name, self._values.get(name), "a list with at least one map")
        readers = []
        for index, value in enumerate(values):
            if not isinstance(value, Mapping):
                self.complain(f"{name}[{index}]", value, "a map")
            readers.append(
                _Reader(value if isinstance(value, Mapping) else {}, f"{self._path}{name}[{index}].", self._wrong)
            )
        return readers

    def _list(self, name: str) -> list[object]:
        value = self._values.get(name)
        if value in (None, ""):
            return []
        if isinstance(value, list):
            return value
        self.complain(name, value, "a list")
        return []

    def _number(self, name: str, value: object) -> int:
        try:
            number = int(str(value))
        except ValueError:
            number = -1
        if number < 0:
            self.complain(name, value, "a whole number, 0 or more")
            return 0
        return number
