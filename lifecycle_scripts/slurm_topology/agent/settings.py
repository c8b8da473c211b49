"""The agent's settings: defaults, then the plan's mode, then `/etc/slurm-topology/agent.json` (only what differs).

Every number has its unit in its name and its reason beside it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from enum import Enum
from pathlib import Path
from typing import Any

from slurm_topology.core import metric_names
from slurm_topology.core.errors import InputError

__all__ = ["DEFAULT_SETTINGS_FILE", "Mode", "Settings", "mode_in_force", "read_settings"]

DEFAULT_SETTINGS_FILE = Path("/etc/slurm-topology/agent.json")


NULLABLE = ("metrics_textfile",)
YEAR_SECONDS = 366 * 86_400.0  # Python can't wait for ever


class Mode(str, Enum):
    """Whose topology it is."""

    OWN = "own"  # ours: whatever else is found is replaced
    REPAIR = "repair"  # somebody else's: we step in only where it is missing, broken or leaves nodes unplaced
    OBSERVE = "observe"  # nothing is ever written; only reports


@dataclass(frozen=True)
class Settings:
    """All that can be set. Paths are absolute."""

    mode: Mode | None = None  # None: the plan's, see ``mode_in_force``
    resource_config: Path = Path("/opt/ml/config/resource_config.json")
    # among the state: it is renewed by the agent, whose unit may not write where its code is
    plan: Path = Path("/var/lib/slurm-topology/topology_plan.json")
    state_folder: Path = Path("/var/lib/slurm-topology")
    run_folder: Path = Path("/run/slurm-topology")
    slurm_conf: str = ""  # asked from Slurm when empty; only needed where Slurm's commands don't find it by themselves
    slurmctld_unit: str = "slurmctld.service"
    manager_unit: str = "sagemaker-cluster-agent.service"  # HyperPod's own writer of topology files
    # HyperPod writes its files and calls reconfigure in a burst of a second or two; a window of 2 s sees one change
    # of it.
    coalesce_seconds: float = 2.0
    coalesce_limit_seconds: float = 15.0  # a file that never stops changing doesn't hold us up for ever
    # each reconfigure makes every slurmd re-exec (256 of 256 within 2 s): four a minute is more than any real event
    # needs
    reconfigures_per_minute: int = 4
    slurmctld_wait_seconds: float = 60.0  # a cold start of slurmctld with 10,000 nodes takes seconds, its host minutes
    # a scontrol that meets a dead slurmctld retries for 60 s by itself (MessageTimeout and 58 s of connects)
    command_timeout_seconds: float = 75.0
    rehearsal_timeout_seconds: float = 120.0  # 30,000 nodes in 4,220 switches need 22 s
    first_boot_seconds: float = 900.0  # how long labels may be late before the topology is published without them
    backoff_first_seconds: float = 5.0
    backoff_limit_seconds: float = 300.0
    yield_after_reverts: int = 3  # within yield_window_seconds: the other writer means it
    yield_window_seconds: float = 1800.0
    yield_seconds: float = 1800.0  # doubled at each yield that follows, up to a day
    history_entries: int = 50
    metrics_textfile: Path | None = Path("/run/slurm-topology/metrics/slurm_topology.prom")  # for node_exporter
    cloudwatch: bool = True
    ask_aws: bool = True  # for the stack's plan and the instances' zones
    cloudwatch_namespace: str = metric_names.NAMESPACE


def mode_in_force(settings: Settings, plan_mode: str | None) -> Mode:
    """agent.json's mode, else the plan's, else own. A mode that a later version's plan may have: nothing is written."""
    if settings.mode is not None:
        return settings.mode
    if plan_mode is None:
        return Mode.OWN
    return Mode(plan_mode) if plan_mode in [mode.value for mode in Mode] else Mode.OBSERVE


def read_settings(text: str | None, source: Path = DEFAULT_SETTINGS_FILE) -> Settings:
    """Settings from the text of agent.json (None: no such file). Raises InputError naming every wrong member."""
    if text is None:
        return Settings()
    try:
        document = json.loads(text)
    except ValueError as error:
        raise InputError(f"{source} is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise InputError(f"{source}: expected a JSON object, got {type(document).__name__}")
    known = {field.name: field for field in fields(Settings)}
    wrong = [f"{name}: no such setting" for name in sorted(set(document) - set(known))]
    values: dict[str, Any] = {}
    for name in sorted(set(document) & set(known)):
        values[name], complaint = _converted(name, getattr(Settings(), name), document[name])
        wrong += complaint
    if wrong:
        raise InputError(f"{source}: " + "; ".join(wrong))
    return replace(Settings(), **values)


def _converted(name: str, default: object, value: object) -> tuple[object, list[str]]:
    """The value in the type of the default, or what is wrong with it: got and expected."""
    expected, good = _expectation(name, default, value)
    if not good:
        return value, [f"{name}: expected {expected}, got {value!r}"]
    if name == "mode":
        return Mode(value), []
    if isinstance(default, Path):
        return (None if value is None else Path(str(value))), []
    return (float(str(value)) if isinstance(default, float) else value), []


def _expectation(name: str, default: object, value: object) -> tuple[str, bool]:
    """What a setting must be, and whether the value is that."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    text = isinstance(value, str) and value.isprintable()  # no NUL, no half of a character: no file has such a name
    if name == "mode":
        return "one of own, repair, observe", value in [mode.value for mode in Mode]
    if isinstance(default, Path):
        path = text and str(value).startswith("/")
        return ("an absolute path, or null", path or value is None) if name in NULLABLE else ("an absolute path", path)
    if isinstance(default, bool):
        return "true or false", isinstance(value, bool)
    if isinstance(default, int):
        return "a whole number above 0", number and isinstance(value, int) and value > 0
    if isinstance(default, float):
        return "seconds, 0 to a year", number and 0 <= float(str(value)) <= YEAR_SECONDS
    return "text", text
