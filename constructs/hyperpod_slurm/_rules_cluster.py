"""Rules about the cluster as a whole. Ids HPS001 to HPS019."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

from slurm_topology.core.errors import InputError
from slurm_topology.core.model import Finding, NodeRole, Severity
from slurm_topology.core.slurm_version import SlurmVersion

from ._rules import error, is_name, warning
from ._spec import ClusterSpec
from ._tokens import known_number, known_text
from .provisioning import NodeProvisioningMode, NodeRecovery

__all__ = ["RULES"]

_MOST_GROUPS = 100  # ClusterInstanceGroupSpecifications
_MOST_SCRIPT_NAME = 128  # ClusterLifeCycleConfigFileName
_SCRIPT_NAME = re.compile(r"[A-Za-z0-9._/+-]+")
_PROVISIONING_FILE = "provisioning_parameters.json"
_ENDPOINT = re.compile(
    r"(?=.{1,255}$)([a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*"
)
_DATABASE_NAME = re.compile(r"[a-zA-Z0-9$_]{1,64}")
_BUCKET_PREFIX = "sagemaker-"


def cluster_name(spec: ClusterSpec) -> Iterator[Finding]:
    if known_text(spec.cluster_name) and not is_name(spec.cluster_name):
        yield error(
            "HPS001",
            "",
            f"the cluster's name must be 1 to 63 letters, digits and inner hyphens; got {spec.cluster_name!r}",
            "Choose another cluster_name, or none: CloudFormation makes one.",
        )


def number_of_groups(spec: ClusterSpec) -> Iterator[Finding]:
    if not 1 <= len(spec.groups) <= _MOST_GROUPS:
        yield error(
            "HPS002",
            "",
            f"a cluster has 1 to {_MOST_GROUPS} instance groups; got {len(spec.groups)}",
            "Merge groups of one type, or make a second cluster.",
        )


def group_names_differ(spec: ClusterSpec) -> Iterator[Finding]:
    counts = Counter(group.name for group in spec.groups if known_text(group.name))
    for name, count in counts.items():
        if count > 1:
            yield error("HPS003", name, f"instance group names must be unique; got this one {count} times", "Rename.")


def one_controller(spec: ClusterSpec) -> Iterator[Finding]:
    names = [group.name for group in spec.groups if group.role is NodeRole.CONTROLLER]
    if len(names) != 1:
        got = f"got {len(names)} ({', '.join(names)})" if names else "got none"
        yield error("HPS004", "", f"a cluster has exactly one controller group; {got}", "Give one ControllerGroup.")


def at_most_one_login_group(spec: ClusterSpec) -> Iterator[Finding]:
    names = [group.name for group in spec.groups if group.role is NodeRole.LOGIN]
    if len(names) > 1:
        yield error(
            "HPS005",
            "",
            f"a cluster has at most one login group; got {len(names)} ({', '.join(names)})",
            "Raise the count of one LoginGroup instead.",
        )


def one_controller_instance(spec: ClusterSpec) -> Iterator[Finding]:
    for group in spec.groups:
        if group.role is NodeRole.CONTROLLER and known_number(group.count) and group.count != 1:
            own = spec.lifecycle.owns_setup and group.count > 1
            if own and spec.mode is NodeProvisioningMode.STANDARD:
                continue  # scripts that set Slurm up themselves may start a backup controller
            beside = " and continuous provisioning" if own else ""
            yield error(
                "HPS006",
                group.name,
                f"HyperPod sets up exactly one controller instance; got {group.count}{beside}",
                "Use node_provisioning_mode=NodeProvisioningMode.STANDARD for a backup controller."
                if own
                else "Leave count out.",
            )


def strategy_fits_mode(spec: ClusterSpec) -> Iterator[Finding]:
    if spec.strategy is not None and spec.mode is NodeProvisioningMode.CONTINUOUS:
        yield error(
            "HPS007",
            "",
            f"slurm_config_strategy is not accepted with continuous provisioning; got {spec.strategy.value}",
            "Leave it out, or use node_provisioning_mode=NodeProvisioningMode.STANDARD.",
        )


def accounting_fits_mode(spec: ClusterSpec) -> Iterator[Finding]:
    if spec.accounting is not None and spec.mode is not NodeProvisioningMode.CONTINUOUS:
        yield error(
            "HPS008",
            "",
            "an accounting database needs continuous provisioning; got standard",
            "Leave node_provisioning_mode out. Or leave accounting out: slurmdbd then keeps it on the controller.",
        )


def accounting_values(spec: ClusterSpec) -> Iterator[Finding]:
    accounting = spec.accounting
    if accounting is None:
        return
    wrong = []
    if known_text(accounting.endpoint) and _ENDPOINT.fullmatch(accounting.endpoint) is None:
        wrong.append(f"endpoint must be a host name without scheme and port, got {accounting.endpoint!r}")
    if known_number(accounting.port) and not 1 <= accounting.port <= 65535:
        wrong.append(f"port must be 1 to 65535, got {accounting.port}")
    if known_text(accounting.database_name) and _DATABASE_NAME.fullmatch(accounting.database_name) is None:
        wrong.append(f"database_name must be 1 to 64 letters, digits, $ and _, got {accounting.database_name!r}")
    if wrong:
        yield error(
            "HPS009", "accounting", "; ".join(wrong), "Correct it as SageMaker's ClusterAccountingDatabase asks."
        )


def lifecycle_folder(spec: ClusterSpec) -> Iterator[Finding]:
    folder, script = spec.lifecycle.folder, spec.lifecycle.script or ""
    if folder is None:
        return
    if spec.lifecycle_files is None:
        yield error("HPS010", "lifecycle", f"there is no folder {folder}", "Give the folder that holds your scripts.")
    elif script not in spec.lifecycle_files:
        files = ", ".join(spec.lifecycle_files[:5]) or "no file"
        yield error("HPS010", "lifecycle", f"{folder} has no file {script!r}; got {files}", "Name the script to run.")


def script_name(spec: ClusterSpec) -> Iterator[Finding]:
    script = spec.lifecycle.script
    if script is not None and not 1 <= len(script) <= _MOST_SCRIPT_NAME:
        yield error(
            "HPS011",
            "lifecycle",
            f"a script's name has 1 to {_MOST_SCRIPT_NAME} characters; got {len(script)}",
            "Rename the script.",
        )
    elif script is not None and not _SCRIPT_NAME.fullmatch(script):
        yield error(
            "HPS011",
            "lifecycle",
            f"a script's name has letters, digits and . _ - / +, so that every shell finds it; got {script!r}",
            "Rename the script.",
        )


def no_provisioning_parameters(spec: ClusterSpec) -> Iterator[Finding]:
    for name in spec.lifecycle_files or ():
        if name.rpartition("/")[2] == _PROVISIONING_FILE:
            yield error(
                "HPS012",
                "lifecycle",
                f"HyperPod refuses {_PROVISIONING_FILE} beside the SlurmConfig of instance groups; got {name}",
                "Delete it: the groups say the same.",
            )


def slurm_version(spec: ClusterSpec) -> Iterator[Finding]:
    if not known_text(spec.slurm_version):
        return
    try:
        SlurmVersion.parse(spec.slurm_version)
    except InputError as refused:
        yield error("HPS013", "slurm_version", str(refused), "Leave it out when unsure: the agent asks Slurm itself.")


def spot_with_recovery(spec: ClusterSpec) -> Iterator[Finding]:
    spot = [group.name for group in spec.compute_groups if group.capacity.spot]
    if spot and spec.recovery is NodeRecovery.AUTOMATIC:
        yield warning(
            "HPS014",
            ", ".join(spot),
            "automatic node recovery asks for a new spot instance for each faulty one, and there may be none",
            "Set node_recovery=NodeRecovery.NONE, or use on-demand instances, or acknowledge this.",
        )


def instance_count_is_asserted(spec: ClusterSpec) -> Iterator[Finding]:
    if spec.mode is NodeProvisioningMode.CONTINUOUS and spec.compute_groups:
        yield Finding(
            "HPS015",
            Severity.INFO,
            "",
            "CloudFormation sets each group's InstanceCount again whenever the cluster is updated: "
            "nodes added or deleted by BatchAddClusterNodes and the like are undone then",
            "Scale by changing count, or keep count equal to what you scaled to.",
        )


def bucket_name(spec: ClusterSpec) -> Iterator[Finding]:
    name = spec.brought_bucket_name
    if known_text(name) and not name.startswith(_BUCKET_PREFIX):
        yield warning(
            "HPS016",
            "lifecycle_bucket",
            f"HyperPod asks for a bucket whose name begins with {_BUCKET_PREFIX!r}; got {name!r}",
            "Use such a bucket, or acknowledge this: the roles made here may read it, roles that you bring may not.",
        )


RULES: tuple[Callable[[ClusterSpec], Iterator[Finding]], ...] = (
    cluster_name,
    number_of_groups,
    group_names_differ,
    one_controller,
    at_most_one_login_group,
    one_controller_instance,
    strategy_fits_mode,
    accounting_fits_mode,
    accounting_values,
    lifecycle_folder,
    script_name,
    no_provisioning_parameters,
    slurm_version,
    spot_with_recovery,
    instance_count_is_asserted,
    bucket_name,
)
