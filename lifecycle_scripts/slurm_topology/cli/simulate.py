"""slurm-topology simulate: how jobs would be placed with no topology, a tree, blocks, and other block sizes."""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slurm_topology.agent.settings import DEFAULT_SETTINGS_FILE
from slurm_topology.agent.world import World, open_world
from slurm_topology.core.errors import InputError
from slurm_topology.core.explain import Forest
from slurm_topology.core.model import Inventory, NamedTopology
from slurm_topology.core.simulate import (
    Outcome,
    Place,
    Request,
    WantedGroup,
    make_inventory,
    make_trace,
    measure,
    placer,
    read_trace,
    replay,
    true_network,
    variants,
)
from slurm_topology.core.slurm_version import SlurmVersion
from slurm_topology.view import outcome_lines

from ._files import read_text
from ._scratch_slurm import isolated, scratch_slurm, slurm_version
from ._sources import read_sources

__all__ = ["add_arguments", "run"]

_GROUP = re.compile(r"(?:([A-Za-z0-9-]+)=)?(ml\.[a-z0-9-]+\.[a-z0-9-]+):(\d+)")
_MODEL_VERSION = SlurmVersion(25, 11, 4)  # whose rules the model follows: the newest that HyperPod ships
_CHOOSERS = {"model": "a model of Slurm's plugins (no real scheduler was asked)"}
_JOBS_OF_MODEL, _JOBS_OF_SLURM = 300, 60  # asking a real slurmctld takes 30 ms a question


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _add_cluster(parser)
    _add_jobs(parser)
    add = parser.add_argument
    who = "who chooses nodes: a model, or a throw-away copy of this machine's slurmctld (default: that, if we may)"
    add("--scheduler", choices=["auto", "model", "slurm"], default="auto", help=who)
    settings = "the agent's settings (default: %(default)s)"
    add("--settings", type=Path, default=DEFAULT_SETTINGS_FILE, metavar="F", help=settings)
    add("--json", action="store_true", help="print the outcomes as JSON")


def _add_cluster(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    group = "a group to be, such as ml.p5.48xlarge:128 (again for more)"
    what.add_argument("--group", action="append", metavar="[NAME=]TYPE:COUNT", help=group)
    what.add_argument("--resource-config", type=Path, metavar="F", help="the real nodes and placements of a cluster")
    add = parser.add_argument
    nodes = "with --resource-config: ListClusterNodes answers, for UltraServers"
    add("--cluster-nodes", type=Path, metavar="F", help=nodes)
    leaf = "with --group: nodes under a leaf switch (default: %(default)s)"
    add("--leaf-nodes", type=int, default=16, metavar="N", help=leaf)
    sizes = "block sizes to compare, whatever they cost (again for more)"
    add("--block-sizes", action="append", default=[], metavar="N,…", help=sizes)


def _add_jobs(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    trace = "jobs, a line each: SUBMITTED_SECONDS NODES RUN_SECONDS (default: made up)"
    add("--trace", type=Path, metavar="F", help=trace)
    count = f"made-up jobs (default: {_JOBS_OF_MODEL}; {_JOBS_OF_SLURM} with a real scheduler)"
    add("--jobs", type=int, metavar="N", help=count)
    add("--seed", type=int, default=1, metavar="N", help="of everything made up (default: %(default)s)")


@dataclass(frozen=True)
class _Experiment:
    """The same jobs on the same nodes, whatever the topology."""

    names: tuple[str, ...]
    requests: tuple[Request, ...]
    truth: Forest
    world: World
    version: SlurmVersion | None  # of the real scheduler; None: the model chooses

    def outcome(self, label: str, topology: NamedTopology) -> Outcome:
        if self.version is None:
            return self._measured(label, placer(topology, self.names))
        world = self.world
        with scratch_slurm(world.files, world.settings.run_folder, topology, self.names, self.version) as slurm:
            return self._measured(label, slurm.place)

    def _measured(self, label: str, place: Place) -> Outcome:
        return measure(label, self.truth, len(self.names), replay(self.names, self.requests, place))


def run(arguments: argparse.Namespace) -> int:
    """Exit code 0. Raises InputError (2), CommandError (3)."""
    inventory = _inventory(arguments)
    names = tuple(node.name for node in inventory.nodes)
    if not names:
        raise InputError("no compute nodes to simulate: expected at least one")
    world = open_world(arguments.settings)
    version = _real_version(arguments.scheduler, world)
    requests = _requests(arguments, len(names), real=version is not None)
    rules = version or _MODEL_VERSION
    experiment = _Experiment(names, requests, true_network(inventory, rules), world, version)
    compared = list(variants(inventory, rules, [_sizes(text) for text in arguments.block_sizes]))
    outcomes = [experiment.outcome(label, topology) for label, topology in compared]
    scheduler = f"Slurm {version}" if version else "model"
    print(_as_json(scheduler, outcomes) if arguments.json else _as_text(scheduler, outcomes, experiment))
    return 0


def _real_version(wanted: str, world: World) -> SlurmVersion | None:
    """The version of the real scheduler to ask; None for the model. Raises InputError when it was wanted in vain."""
    if wanted == "model":
        return None
    version = slurm_version(world.shell)
    if version is not None and isolated():
        return version
    if wanted == "slurm":
        why = "this machine has no slurmctld" if version is None else "a network namespace of its own needs root"
        raise InputError(f"--scheduler slurm: {why}; --scheduler model works anywhere")
    return None


# ---- what is simulated


def _inventory(arguments: argparse.Namespace) -> Inventory:
    if arguments.resource_config is not None:
        return read_sources(argparse.Namespace(**{**vars(arguments), "kind": "auto", "block_sizes": ""})).inventory
    if arguments.leaf_nodes < 1:
        raise InputError(f"--leaf-nodes {arguments.leaf_nodes}: expected 1 or more")
    wanted = [_group(text, number) for number, text in enumerate(arguments.group, 1)]
    twice = [name for name, count in Counter(group.name for group in wanted).items() if count > 1]
    if twice:
        raise InputError(f"--group {twice[0]}=…: given more than once: expected a name of its own for each group")
    return make_inventory(wanted, leaf_nodes=arguments.leaf_nodes, seed=arguments.seed)


def _group(text: str, number: int) -> WantedGroup:
    found = _GROUP.fullmatch(text)
    if found is None:
        raise InputError(f"--group {text}: expected [NAME=]TYPE:COUNT, such as train=ml.p5.48xlarge:128")
    return WantedGroup(found[1] or f"group{number}", found[2], int(found[3]))


def _requests(arguments: argparse.Namespace, node_count: int, *, real: bool) -> tuple[Request, ...]:
    if arguments.trace is not None:
        try:
            return read_trace(read_text(arguments.trace).splitlines())
        except InputError as error:
            raise InputError(f"{arguments.trace}: {error}") from error
    count = (_JOBS_OF_SLURM if real else _JOBS_OF_MODEL) if arguments.jobs is None else arguments.jobs
    if count < 1:
        raise InputError(f"--jobs {count}: expected 1 or more")
    return make_trace(node_count, count, seed=arguments.seed)


def _sizes(text: str) -> tuple[int, ...]:
    words = text.split(",")
    if not all(word.strip().isdecimal() and int(word) for word in words):
        raise InputError(f"--block-sizes {text}: expected whole numbers such as 18 or 18,36")
    return tuple(int(word) for word in words)


# ---- telling


def _as_json(scheduler: str, outcomes: Sequence[Outcome]) -> str:
    return json.dumps({"scheduler": scheduler, "outcomes": [outcome._asdict() for outcome in outcomes]}, indent=1)


def _as_text(scheduler: str, outcomes: Sequence[Outcome], experiment: _Experiment) -> str:
    leaves = sum(bool(unit.nodes) for unit in experiment.truth.units)
    counts = f"{len(experiment.requests):,} jobs on {len(experiment.names):,} nodes"
    chooser = _CHOOSERS.get(scheduler, f"a throw-away {scheduler}")
    head = [f"{counts} under {leaves:,} leaf switches or UltraServers", f"nodes chosen by {chooser}", ""]
    return "\n".join([*head, *outcome_lines(outcomes)])
