"""The configuration folder's topology part as a value, and the safe order to change it. Pure.

A *disk state* is what the next start of slurmctld would read: the two topology files and the TopologyPlugin line.

Invariant: **slurmctld starts in every state on the way.** Three things can't be changed in one step, so the way from
one state to another goes over states that are safe by themselves:

* topology.yaml (25.05+) beats topology.conf and TopologyPlugin, so it alone is one step;
* with the flat plugin topology.conf isn't read. So a change of plugin is: plugin → flat, file, plugin → new one. A
  process that is killed in between leaves the old state, a flat cluster, or the new state; the running slurmctld
  notices nothing until the one reconfigure at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from slurm_topology.core.slurm_version import SlurmVersion

__all__ = ["CONF", "PLUGIN", "YAML", "DiskState", "Step", "as_map", "flat_like", "steps_between"]

CONF, YAML = "topology.conf", "topology.yaml"
PLUGIN = "TopologyPlugin"


class DiskState(NamedTuple):
    """What slurmctld would read. None: no such file, no such line."""

    conf: str | None = None
    yaml: str | None = None
    plugin: str | None = None

    def topology_files(self) -> Iterator[tuple[str, str]]:
        """Name and text of the files that are there."""
        if self.conf is not None:
            yield CONF, self.conf
        if self.yaml is not None:
            yield YAML, self.yaml

    def file(self, name: str) -> str | None:
        return self.yaml if name == YAML else self.conf


class Step(NamedTuple):
    """One atomic change. ``text`` None removes the file or the line."""

    what: str  # CONF, YAML or PLUGIN
    text: str | None

    def after(self, state: DiskState) -> DiskState:
        if self.what == CONF:
            return state._replace(conf=self.text)
        if self.what == YAML:
            return state._replace(yaml=self.text)
        return state._replace(plugin=self.text)


def as_map(disk: DiskState) -> dict[str, str | None]:
    """A disk state as journal and history write it."""
    return {CONF: disk.conf, YAML: disk.yaml, PLUGIN: disk.plugin}


def flat_like(plugin: str | None) -> bool:
    """No line, or any of the names that Slurm has had for "no topology"."""
    return plugin is None or plugin in ("topology/flat", "topology/default", "topology/none")


def steps_between(now: DiskState, wanted: DiskState, version: SlurmVersion) -> tuple[Step, ...]:
    """The steps from one state to the other, in an order in which each intermediate state is safe.

    Empty when they are equal.
    """
    steps = tuple(_steps(now, wanted, version.flat_plugin))
    reached = now
    for step in steps:
        reached = step.after(reached)
    assert reached == wanted, f"the steps lead to {reached}, not to {wanted}"  # noqa: S101 (the module's invariant)
    return steps


def _steps(now: DiskState, wanted: DiskState, flat: str) -> Iterator[Step]:
    covered = wanted.yaml is not None and now.yaml is not None  # a yaml is in force all the time: nothing else is read
    if wanted.yaml is not None and wanted.yaml != now.yaml:
        yield Step(YAML, wanted.yaml)
        covered = True
    plugin = now.plugin
    if now.conf != wanted.conf:
        if not flat_like(plugin) and plugin != wanted.plugin and not covered:
            yield Step(PLUGIN, flat)
            plugin = flat
        yield Step(CONF, wanted.conf)
    if plugin != wanted.plugin:
        yield Step(PLUGIN, wanted.plugin)
    if wanted.yaml is None and now.yaml is not None:
        yield Step(YAML, None)
