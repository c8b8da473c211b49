"""Least privilege of the deploy-time functions, both ways: each grant is needed, and a missing one is named.

One grant is taken away, the stack is updated, exactly the step that needs it fails with a message that names it, and
the stack rolls back to what was in force.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from deploy.training import INITIAL, PLAN, S3_PREFIX_LIST, Training

pytestmark = pytest.mark.deploy

Json = dict[str, Any]


def nothing(_: Json) -> None:
    """The step needs no special occasion."""


def another_mode(template: Json) -> None:
    """A plan of other content, so that there is something to write."""
    resource(template, PLAN)["Properties"]["Mode"] = "observe"


def newer_type(template: Json) -> None:
    """An instance type that the catalogue doesn't know."""
    group = {"Name": "new", "InstanceType": "ml.p9.48xlarge", "Role": "Compute", "Partitions": ["new"], "Count": "1"}
    resource(template, PLAN)["Properties"]["Groups"].append(group)


def another_prefix(template: Json) -> None:
    """One that has no plan yet: where there is one, it tells what AWS doesn't."""
    properties = resource(template, PLAN)["Properties"]
    properties["LifecyclePrefix"] = f"{properties['LifecyclePrefix'].rpartition('/')[0]}/{0:016}"


class Grant(NamedTuple):
    """A grant of a function's role, the resource that fails without it, and while doing what."""

    sid: str
    action: str
    resource_type: str
    step: str
    occasion: Callable[[Json], None] = nothing

    def __str__(self) -> str:
        return f"{self.sid}-{self.action}"


GRANTS = [
    Grant("ReadBundle", "s3:GetObject", PLAN, "unpacking the node bundle"),
    Grant("LifecycleFiles", "s3:PutObject", PLAN, "announcing the topology plan", another_mode),
    Grant("LifecycleFiles", "s3:GetObject", INITIAL, "reading the topology plan"),
    Grant("InstanceTypes", "ec2:DescribeInstanceTypes", PLAN, "asking EC2 about instance types", newer_type),
    Grant(
        "TrainingPlans",
        "sagemaker:DescribeTrainingPlan",
        PLAN,
        "asking SageMaker about training plan gb200",
        another_prefix,
    ),
    Grant(
        "UltraServers",
        "sagemaker:ListUltraServersByReservedCapacity",
        PLAN,
        "asking SageMaker about training plan gb200",
        another_prefix,
    ),
    Grant("ReadNodes", "sagemaker:ListClusterNodes", INITIAL, "listing the nodes of cluster", another_mode),
    Grant(
        "ReadNodes",
        "sagemaker:DescribeClusterNode",
        INITIAL,
        "asking SageMaker where the nodes of cluster",
        another_mode,
    ),
    Grant("PrefixLists", "ec2:DescribeManagedPrefixLists", S3_PREFIX_LIST, "asking EC2 for the prefix list"),
]
_LOG_ACTIONS = {"logs:CreateLogStream", "logs:PutLogEvents"}


def resource(template: Json, resource_type: str) -> Json:
    found: Json = next(one for one in template["Resources"].values() if one["Type"] == resource_type)
    return found


def logical_id(template: Json, resource_type: str) -> str:
    return next(str(name) for name, one in template["Resources"].items() if one["Type"] == resource_type)


def statements(template: Json) -> list[Json]:
    """All policy statements of the functions' roles: the cluster's and the network's."""
    policies = [one["Properties"] for one in template["Resources"].values() if one["Type"] == "AWS::IAM::Policy"]
    roles = [name for name in template["Resources"] if re.match("Cluster(Network)?HandlerRole", name)]
    mine = [policy for policy in policies if any(role["Ref"] in roles for role in policy["Roles"])]
    return [statement for policy in mine for statement in policy["PolicyDocument"]["Statement"]]


def actions(statement: Json) -> list[str]:
    found = statement["Action"]
    return [found] if isinstance(found, str) else list(found)


def run_again(template: Json) -> None:
    """CloudFormation asks a custom resource only when a property changes."""
    for resource_type in (PLAN, INITIAL, S3_PREFIX_LIST):
        resource(template, resource_type)["Properties"]["Fingerprint"] = "again"


def test_the_table_has_every_grant(training: Training) -> None:
    """Whoever adds a grant adds a line that shows what it is for."""
    granted = {(one.get("Sid"), action) for one in statements(training.template()) for action in actions(one)}
    needed = {(grant.sid, grant.action) for grant in GRANTS}
    assert {pair for pair in granted if pair[1] not in _LOG_ACTIONS} == needed


def test_with_all_grants_every_occasion_succeeds(training: Training) -> None:
    """The other half of the proof: it is the grant that makes the difference below."""

    def change(template: Json) -> None:
        another_mode(template)
        newer_type(template)
        run_again(template)

    before = training.template()
    assert training.update(change).status == "UPDATE_COMPLETE"
    assert training.update(lambda template: template.update(before)).status == "UPDATE_COMPLETE"


@pytest.mark.parametrize("grant", GRANTS, ids=str)
def test_without_one_grant_the_step_that_needs_it_says_so(training: Training, grant: Grant) -> None:
    if grant.action == "sagemaker:DescribeClusterNode":  # asked only about nodes that are not known yet
        node = sorted(training.addresses())[0]
        training.cloud.replace_node(training.output("Arn"), node)
    before = training.objects()

    def change(template: Json) -> None:
        grant.occasion(template)
        run_again(template)
        for statement in statements(template):
            if statement.get("Sid") == grant.sid:
                rest = [action for action in actions(statement) if action != grant.action]
                statement["Action"] = rest or "sts:GetCallerIdentity"  # a statement can't be without any

    update = training.update(change)
    assert update.status == "UPDATE_ROLLBACK_COMPLETE"
    failed, reason = update.failures[0]
    assert failed == logical_id(training.template(), grant.resource_type)
    assert reason.startswith(f"While {grant.step}")
    assert f"{grant.action} " in reason
    assert f"Allow {grant.action} to the role that called." in reason
    assert "Log: group /aws/" in reason
    after = training.objects()
    plan = next(key for key in before if key.endswith("topology_plan.json"))
    assert (after.keys() >= before.keys(), after[plan]) == (True, before[plan])
