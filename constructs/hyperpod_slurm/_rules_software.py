"""Rules about what a group's software is and when HyperPod renews it. Ids HPS036 to HPS038."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from slurm_topology.core.model import Finding

from ._rules import error, warning
from ._spec import ClusterSpec
from ._tokens import is_known, known_text

__all__ = ["RULES"]

_RELEASE = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")  # ImageReleaseVersion
# ScheduleExpression (CloudFormation template reference, AWS::SageMaker::Cluster ScheduledUpdateConfig).
_SCHEDULE = re.compile(
    r"cron\((?:[0-5][0-9]|[0-9]|) (?:[01][0-9]|2[0-3]|[0-9]) (?:[1-9]|0[1-9]|[12][0-9]|3[01]|\?) "
    r"(?:[1-9]|0[1-9]|1[0-2]|\*|\*/(?:[1-9]|1[0-2])|) "
    r"(?:MON|TUE|WED|THU|FRI|SAT|SUN|[1-7]|\?|L|(?:[1-7]#[1-5])|(?:[1-7]L)) (?:20[2-9][0-9]|\*|)\)"
)


def release_version(spec: ClusterSpec) -> Iterator[Finding]:
    for group in spec.groups:
        if known_text(group.image_release_version) and _RELEASE.fullmatch(group.image_release_version) is None:
            yield error(
                "HPS036",
                group.name,
                f"image_release_version is MAJOR.MINOR.PATCH, such as '1.2.3'; got {group.image_release_version!r}",
                "Leave it out: the newest release is used.",
            )


def update_schedule(spec: ClusterSpec) -> Iterator[Finding]:
    for group in spec.groups:
        if known_text(group.update_schedule) and _SCHEDULE.fullmatch(group.update_schedule) is None:
            yield error(
                "HPS037",
                group.name,
                "update_schedule is a cron expression of one time on one day, such as 'cron(0 3 ? * SUN *)'; "
                f"got {group.update_schedule!r}",
                "Name a minute, an hour, and a day of the month or of the week.",
            )


def updates_do_not_wait(spec: ClusterSpec) -> Iterator[Finding]:
    for group in spec.groups:
        if is_known(group.update_schedule):
            yield warning(
                "HPS038",
                group.name,
                "a scheduled update renews the root volume of every instance at once and does not wait for jobs; "
                f"got update_schedule={group.update_schedule!r}",
                "Use auto_patch, which waits until instances are idle; or keep jobs away by a reservation of Slurm.",
            )


RULES: tuple[Callable[[ClusterSpec], Iterator[Finding]], ...] = (release_version, update_schedule, updates_do_not_wait)
