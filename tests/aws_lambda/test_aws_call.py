"""One AWS call: what is tried again, for how long, and what the error says."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from aws_lambda.service_fake import Refusal, ServiceFake, patience
from slurm_topology.aws import call, make_client
from slurm_topology.aws.call import NOT_IN_SDK, OUT_OF_TIME, parallel
from slurm_topology.core.errors import AwsError

NODES = "sagemaker:ListClusterNodes"


def answers(*results: dict[str, Any] | Exception) -> ServiceFake:
    """SageMaker, giving these answers to ListClusterNodes one after the other."""
    queue = iter(results)

    def handler(**_: Any) -> dict[str, Any]:
        result = next(queue)
        if isinstance(result, Exception):
            raise result
        return result

    return ServiceFake("sagemaker", {"ListClusterNodes": handler})


@pytest.mark.parametrize(
    "failure",
    [
        Refusal("ThrottlingException"),
        Refusal("RequestLimitExceeded", status=503),
        Refusal("Whatever", status=500),
        Refusal("TooManyRequests", status=429),
        EndpointConnectionError(endpoint_url="https://api.sagemaker.example"),
    ],
    ids=["throttled", "ec2-throttled", "server error", "429", "no connection"],
)
def test_a_passing_failure_is_tried_again(failure: Exception) -> None:
    fake = answers(failure, failure, {"ClusterNodeSummaries": []})
    assert call(fake.client, NODES, patience(), ClusterName="c") == {"ClusterNodeSummaries": []}
    assert len(fake.calls) == 3


def test_pauses_double_and_are_drawn_from_zero() -> None:
    """Full jitter: callers that were throttled together must not come back together."""
    drawn: list[tuple[float, float]] = []
    slept: list[float] = []

    def uniform(low: float, high: float) -> float:
        drawn.append((low, high))
        return high / 2

    fake = answers(*[Refusal("ThrottlingException")] * 7, {"ClusterNodeSummaries": []})
    call(fake.client, NODES, patience(uniform=uniform, sleep=slept.append), ClusterName="c")
    assert drawn == [(0.0, high) for high in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0)]
    assert slept == [high / 2 for _, high in drawn]


def test_throttled_to_the_end() -> None:
    fake = answers(*[Refusal("ThrottlingException", "Rate exceeded")] * 9)
    with pytest.raises(
        AwsError, match=r"ListClusterNodes still failed at attempt 8: ThrottlingException: Rate exceeded\."
    ):
        call(fake.client, NODES, patience(), ClusterName="c")
    assert len(fake.calls) == 8


def test_a_lasting_failure_is_not_tried_again() -> None:
    fake = answers(Refusal("ResourceNotFound", "Cluster c not found"))
    with pytest.raises(AwsError) as caught:
        call(fake.client, NODES, patience(), ClusterName="c")
    assert (caught.value.code, caught.value.operation, len(fake.calls)) == ("ResourceNotFound", NODES, 1)


def test_a_denial_names_the_action_to_allow() -> None:
    fake = answers(Refusal("AccessDeniedException", "User: arn:x is not authorized", status=403))
    with pytest.raises(AwsError, match=r"was denied: .* not authorized\. Allow sagemaker:ListClusterNodes to the role"):
        call(fake.client, NODES, patience(), ClusterName="c")
    assert len(fake.calls) == 1


def test_a_denial_may_be_given_time_for_the_policy_to_arrive() -> None:
    fake = answers(Refusal("AccessDeniedException"), Refusal("AccessDeniedException"), {"ClusterNodeSummaries": []})
    call(fake.client, NODES, patience(denied_attempts=3), ClusterName="c")
    assert len(fake.calls) == 3


def test_head_object_is_allowed_by_get_object() -> None:
    def denied(**_: Any) -> dict[str, Any]:
        raise Refusal("AccessDenied", "Access Denied", 403)

    with pytest.raises(AwsError, match="Allow s3:GetObject to the role"):
        call(ServiceFake("s3", {"HeadObject": denied}).client, "s3:HeadObject", patience(), Bucket="b", Key="k")


def test_a_denial_by_a_service_behind_names_that_services_action() -> None:
    def denied(**_: Any) -> dict[str, Any]:
        text = "User: arn:x is not authorized to perform: kms:GenerateDataKey on resource: arn:y because …"
        raise Refusal("AccessDenied", text, 403)

    fake = ServiceFake("s3", {"PutObject": denied})
    with pytest.raises(AwsError, match="Allow kms:GenerateDataKey to the role"):
        call(fake.client, "s3:PutObject", patience(), Bucket="b", Key="k")


def test_no_call_without_time_left() -> None:
    fake = answers({"ClusterNodeSummaries": []})
    with pytest.raises(AwsError, match="no time was left to call sagemaker:ListClusterNodes") as caught:
        call(fake.client, NODES, patience(remaining_seconds=lambda: 0.0), ClusterName="c")
    assert (caught.value.code, fake.calls) == (OUT_OF_TIME, [])


def test_no_pause_beyond_the_time_left() -> None:
    """The last answer of the service is in the message: it is the cause."""
    fake = answers(Refusal("ThrottlingException", "Rate exceeded"))
    with pytest.raises(AwsError, match=r"in the time there was; the last of 1 answers was .*Rate exceeded") as caught:
        call(fake.client, NODES, patience(remaining_seconds=lambda: 0.2), ClusterName="c")
    assert caught.value.code == OUT_OF_TIME


def test_an_sdk_without_the_operation() -> None:
    with pytest.raises(AwsError, match=r"botocore .* is too old to know sagemaker:ListComets") as caught:
        call(object(), "sagemaker:ListComets", patience())
    assert caught.value.code == NOT_IN_SDK


def test_a_wrong_parameter_is_an_error_at_once() -> None:
    """Also proves that the fakes of these tests refuse what the API doesn't have."""
    with pytest.raises(AwsError, match='Unknown parameter in input: "Cluster"'):
        call(answers().client, NODES, patience(), Cluster="c")


def test_parallel_keeps_the_order_and_stops_at_the_first_error() -> None:
    assert parallel(lambda x: x * x, range(20), 4) == [x * x for x in range(20)]
    started: list[int] = []

    def fail(x: int) -> int:
        started.append(x)
        raise ValueError(x)

    with pytest.raises(ValueError, match="0"):
        parallel(fail, range(1000), 2)
    assert len(started) < 1000


def test_a_client_neither_retries_nor_hangs_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    config = make_client("sagemaker", "us-west-2").meta.config
    assert (config.retries["total_max_attempts"], config.connect_timeout, config.read_timeout) == (1, 5, 20)
