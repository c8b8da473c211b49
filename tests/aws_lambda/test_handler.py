"""Every request is answered, in time, with a reason that says what to do."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

from aws_lambda.cluster_fake import ClusterFake, nodes
from aws_lambda.events import LambdaContext, Mailbox, event
from aws_lambda.lab import Lab
from aws_lambda.service_fake import Refusal
from slurm_topology.aws_lambda import handler
from slurm_topology.aws_lambda.handler import INITIAL_TOPOLOGY, S3_PREFIX_LIST, TOPOLOGY_PLAN, Doors
from slurm_topology.core.errors import AwsError, InputError

WHERE = "Log: group /aws/lambda/topology, stream 2026/12/01/[$LATEST]abc, request lambda-request-1"


@pytest.mark.parametrize("resource_type", [TOPOLOGY_PLAN, INITIAL_TOPOLOGY, S3_PREFIX_LIST, "Custom::Other"])
@pytest.mark.parametrize("properties", [{}, {"LifecycleBucket": "gone", "ClusterName": "gone"}], ids=["none", "some"])
def test_delete_always_succeeds_and_touches_nothing(resource_type: str, properties: dict[str, Any]) -> None:
    """Also of a resource whose creation failed, with properties that no Create would take."""
    lab = Lab()
    before = dict(lab.s3.objects)
    answer = lab.send(event("Delete", resource_type, properties))
    assert (answer["Status"], lab.s3.objects, lab.s3.fake.calls, lab.cluster.fake.calls) == ("SUCCESS", before, [], [])


def test_another_resource_type_is_refused() -> None:
    answer = Lab().send(event("Create", "Custom::Other", {}))
    assert answer["Status"] == "FAILED"
    assert "got resource type Custom::Other, expected one of Custom::HyperPodSlurmTopologyPlan, " in answer["Reason"]


def test_a_failure_says_what_was_done_what_was_got_and_where_the_log_is() -> None:
    lab = Lab()
    lab.s3.denied.add("PutObject")
    answer = lab.plan()
    assert answer["Status"] == "FAILED"
    assert answer["Reason"].startswith("While unpacking the node bundle: s3:PutObject on s3://sagemaker-lifecycle/")
    assert "Allow s3:PutObject to the role that called." in answer["Reason"]
    assert answer["Reason"].endswith(f"What was in force before still is. {WHERE}")


def test_wrong_properties_are_answered() -> None:
    answer = Lab().plan(Groups="x", Mode="y")
    assert answer["Status"] == "FAILED"
    assert (
        "While reading the resource's properties: the resource's properties are unusable: Groups: got 'x'"
        in answer["Reason"]
    )
    assert "; Mode: got 'y', expected one of own, repair, observe. " in answer["Reason"]


def test_a_fault_of_ours_is_answered_and_its_traceback_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("oops")

    monkeypatch.setattr("slurm_topology.aws_lambda.topology_plan.make_plan", broken)
    lab = Lab()
    answer = lab.plan()
    assert answer["Status"] == "FAILED"
    assert "a fault in slurm_topology 0." in answer["Reason"]
    assert "please report it: KeyError: 'oops'" in answer["Reason"]
    logged = next(line for line in lab.lines if line["message"] == "unexpected error")
    assert "in broken" in logged["traceback"]


def test_an_import_that_fails_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A runtime whose SDK is broken must not block the stack for an hour."""
    monkeypatch.setitem(sys.modules, "slurm_topology.aws_lambda.topology_plan", None)
    monkeypatch.delattr("slurm_topology.aws_lambda.topology_plan")
    answer = Lab().plan()
    assert answer["Status"] == "FAILED"
    assert "While starting: a fault in slurm_topology" in answer["Reason"]


def test_work_that_hangs_is_answered_before_the_function_is_stopped() -> None:
    release = threading.Event()

    class Hanging(Lab):
        def client(self, service: str) -> Any:
            release.wait(60)
            return super().client(service)

    lab = Hanging(context=LambdaContext(milliseconds=300))
    answer = lab.plan()
    release.set()
    assert answer["Status"] == "FAILED"
    assert answer["Reason"].startswith(
        "While unpacking the node bundle: not done after 0 s, and this function is stopped after 0 s."
    )
    assert "deploy again, or raise the function's timeout" in answer["Reason"]


def test_a_third_of_a_short_time_is_kept_for_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    def note(seconds: float, work: Any) -> Any:
        given.append(seconds)
        return work(lambda: seconds)

    monkeypatch.setattr(handler, "run_within", note)
    for milliseconds in (900_000, 60_000, 30_000):
        assert Lab(context=LambdaContext(milliseconds=milliseconds)).plan()["Status"] == "SUCCESS"
    assert given == [880.0, 40.0, 20.0]


def test_throttling_is_waited_out() -> None:
    lab = Lab()
    lab.plan()
    lab.cluster.describe_failures = [Refusal("ThrottlingException", "Rate exceeded")] * 30
    lab.cluster.nodes = nodes(4)
    assert lab.initial()["Data"]["NodeCount"] == "4"


@pytest.mark.parametrize(
    ("kind", "old_name", "attempts"),
    [("Create", None, 7), ("Update", "c1", 4), ("Update", "c0", 7)],
    ids=["create", "update", "update to another cluster"],
)
def test_a_policy_that_is_as_new_as_the_cluster_is_given_time(kind: str, old_name: str, attempts: int) -> None:
    """IAM needs seconds to let it work: some 15 s, by doubled pauses. Where nothing is new, it isn't waited for."""
    lab = Lab(cluster=ClusterFake(nodes=nodes(2), denied={"ListClusterNodes"}))
    lab.plan()
    lab.initial(kind, old={"ClusterName": old_name})
    assert lab.cluster.fake.count("ListClusterNodes") == attempts


def test_the_answer_is_delivered_again_when_cloudformation_is_slow() -> None:
    lab = Lab(mailbox=Mailbox([503, ConnectionResetError("reset")]))
    assert lab.plan()["Status"] == "SUCCESS"
    assert len(lab.mailbox.received) == 3


def test_an_answer_that_cannot_be_delivered_is_an_error_of_the_function() -> None:
    """Lambda then runs the event again, which does no harm: everything may be repeated."""
    lab = Lab(mailbox=Mailbox([503] * 20))
    with pytest.raises(AwsError, match="CloudFormation could not be told the result after 6 attempts: HTTP 503"):
        lab.plan()
    lab.mailbox.replies.clear()
    assert lab.plan()["Status"] == "SUCCESS"


def test_an_event_of_somebody_else_raises() -> None:
    with pytest.raises(InputError, match="no request of CloudFormation"):
        Lab().send({"detail": "EventBridge"})


def test_the_log_is_structured_and_has_no_secret() -> None:
    lab = Lab()
    lab.plan()
    assert [line["message"] for line in lab.lines if line["message"] != "step begins"] == [
        "request received",
        "bundle unpacked",
        "plan is in force",
        "answer delivered",
    ]
    for line in lab.lines:
        assert line["aws_request_id"] == "lambda-request-1"
        assert line["resource_type"] == TOPOLOGY_PLAN
    assert "SECRET" not in lab.log.getvalue()


def test_lambda_calls_handle(monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry point that the function's configuration names, with its real doors but the one to CloudFormation."""
    mailbox = Mailbox()
    doors = Doors(postman=mailbox.postman)
    monkeypatch.setattr(handler, "Doors", lambda: doors)
    assert handler.handle(event("Delete", TOPOLOGY_PLAN, {}), LambdaContext())["Status"] == "SUCCESS"
    assert mailbox.answer["Status"] == "SUCCESS"
