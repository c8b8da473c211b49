"""Placement sources at AWS: paging, chunks, ids that are gone, and how many calls a change costs."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aws_lambda.service_fake import Refusal, ServiceFake, patience
from slurm_topology.aws import (
    describe_cluster_nodes,
    describe_instance_topology,
    describe_instance_types,
    describe_training_plan,
    list_cluster_nodes,
    list_ultraservers,
)
from slurm_topology.core.errors import AwsError


def instance_id(number: int) -> str:
    return f"i-{number:017x}"


class Ec2:
    """DescribeInstanceTopology and DescribeInstanceTypes as EC2 answers them.

    ``page``: instances on a page. ``naming``: whether a refusal names the ids that are gone, as EC2 does today.
    """

    def __init__(self, gone: set[str] = frozenset(), page: int = 100, naming: bool = True) -> None:  # type: ignore[assignment]
        self.gone, self.page, self.naming = gone, page, naming
        self.running = self.most_running = 0
        self.lock = threading.Lock()
        self.fake = ServiceFake("ec2", {"DescribeInstanceTopology": self.topology, "DescribeInstanceTypes": self.types})
        self.client = self.fake.client

    def refuse(self, code: str, names: list[str]) -> None:
        bad = [name for name in names if name in self.gone]
        if bad:
            text = f"The ids '{', '.join(bad)}' do not exist" if self.naming else "some do not exist"
            raise Refusal(code, text)

    def topology(self, InstanceIds: list[str], NextToken: str = "0") -> dict[str, Any]:  # noqa: N803
        with self.lock:
            self.running += 1
            self.most_running = max(self.most_running, self.running)
        try:
            assert 0 < len(InstanceIds) <= 100
            self.refuse("InvalidInstanceID.NotFound", InstanceIds)
            start = int(NextToken)
            page = [{"InstanceId": one, "NetworkNodes": ["nn-1", "nn-2"]} for one in InstanceIds[start:][: self.page]]
            more = {"NextToken": str(start + self.page)} if start + self.page < len(InstanceIds) else {}
            return {"Instances": page, **more}
        finally:
            with self.lock:
                self.running -= 1

    def types(self, InstanceTypes: list[str]) -> dict[str, Any]:  # noqa: N803
        self.refuse("InvalidInstanceType", InstanceTypes)
        return {"InstanceTypes": [{"InstanceType": name} for name in InstanceTypes]}


def ids_of(answer: dict[str, Any]) -> list[str]:
    return [one["InstanceId"] for one in answer["Instances"]]


def test_at_most_100_ids_a_call_in_the_order_asked() -> None:
    ec2 = Ec2()
    wanted = [instance_id(n) for n in range(950, 700, -1)]
    answer = describe_instance_topology(ec2.client, wanted, patience())
    assert (ids_of(answer.answer), answer.gone) == (wanted, ())
    assert sorted(len(parameters["InstanceIds"]) for _, parameters in ec2.fake.calls) == [50, 100, 100]


def test_concurrency_is_bounded() -> None:
    ec2 = Ec2()
    describe_instance_topology(ec2.client, map(instance_id, range(5000)), patience())
    assert ec2.fake.count("DescribeInstanceTopology") == 50
    assert ec2.most_running <= 4


def test_no_ids_no_call() -> None:
    """Without ids EC2 would page through every instance of the account."""
    ec2 = Ec2()
    assert describe_instance_topology(ec2.client, [], patience()).answer == {"Instances": []}
    assert describe_instance_topology(ec2.client, ["i-1"], patience(), known=["i-1"]).answer == {"Instances": []}
    assert ec2.fake.calls == []


def test_a_short_page_with_a_token_is_not_the_last() -> None:
    ec2 = Ec2(page=7)
    wanted = [instance_id(n) for n in range(30)]
    assert ids_of(describe_instance_topology(ec2.client, wanted, patience()).answer) == wanted


EC2 = Ec2()  # one for all examples: making a client takes longer than an example


@pytest.mark.parametrize("naming", [True, False], ids=["refusal names the ids", "refusal names none"])
@given(alive=st.sets(st.integers(0, 250)), dead=st.sets(st.integers(300, 320), max_size=5))
def test_one_terminated_id_does_not_fail_the_others(naming: bool, alive: set[int], dead: set[int]) -> None:
    gone = {instance_id(n) for n in dead}
    EC2.gone, EC2.naming = gone, naming
    wanted = [instance_id(n) for n in sorted(alive | dead, key=lambda n: n % 17)]
    answer = describe_instance_topology(EC2.client, wanted, patience())
    assert ids_of(answer.answer) == [one for one in wanted if one not in gone]
    assert set(answer.gone) == gone


def test_a_gone_id_costs_one_more_call_where_ec2_names_it() -> None:
    ec2 = Ec2({instance_id(5)})
    describe_instance_topology(ec2.client, map(instance_id, range(100)), patience())
    assert ec2.fake.count("DescribeInstanceTopology") == 2


def test_replacing_one_node_of_10000_costs_one_call() -> None:
    """Only ids that are not known yet are asked for."""
    ec2 = Ec2()
    known = [instance_id(n) for n in range(10_000)]
    answer = describe_instance_topology(ec2.client, [*known[1:], instance_id(10_000)], patience(), known)
    assert ids_of(answer.answer) == [instance_id(10_000)]
    assert ec2.fake.count("DescribeInstanceTopology") == 1


def test_another_refusal_is_an_error() -> None:
    def denied(**_: Any) -> dict[str, Any]:
        raise Refusal("UnauthorizedOperation", "You are not authorized", 403)

    fake = ServiceFake("ec2", {"DescribeInstanceTopology": denied})
    with pytest.raises(AwsError, match="Allow ec2:DescribeInstanceTopology"):
        describe_instance_topology(fake.client, ["i-1"], patience())


def test_types_that_ec2_does_not_know_are_left_out() -> None:
    answer = describe_instance_types(Ec2({"x9.huge"}).client, ["p9.48xlarge", "x9.huge", "p9.48xlarge"], patience())
    assert answer == {"InstanceTypes": [{"InstanceType": "p9.48xlarge"}]}


def summary(number: int) -> dict[str, Any]:
    return {
        "InstanceGroupName": "g",
        "InstanceId": instance_id(number),
        "InstanceType": "ml.p5.48xlarge",
        "LaunchTime": 0,
        "InstanceStatus": {"Status": "Running"},
    }


def test_list_cluster_nodes_reads_all_pages() -> None:
    """10,000 nodes are 100 calls; an empty page in the middle is not the end."""
    pages = [[summary(100 * page + n) for n in range(100)] for page in range(100)]
    pages.insert(40, [])

    def handler(ClusterName: str, MaxResults: int, NextToken: str = "0") -> dict[str, Any]:  # noqa: N803
        assert (ClusterName, MaxResults) == ("c", 100)
        index = int(NextToken)
        more = {"NextToken": str(index + 1)} if index + 1 < len(pages) else {}
        return {"ClusterNodeSummaries": pages[index], **more}

    fake = ServiceFake("sagemaker", {"ListClusterNodes": handler})
    found = list_cluster_nodes(fake.client, "c", patience())["ClusterNodeSummaries"]
    assert [one["InstanceId"] for one in found] == [instance_id(n) for n in range(10_000)]
    assert len(fake.calls) == 101


def test_pages_that_never_end_are_an_error() -> None:
    fake = ServiceFake("sagemaker", {"ListClusterNodes": lambda **_: {"ClusterNodeSummaries": [], "NextToken": "x"}})
    with pytest.raises(AwsError, match="same NextToken twice"):
        list_cluster_nodes(fake.client, "c", patience())
    assert len(fake.calls) == 2


def test_a_node_that_went_between_two_calls_is_left_out() -> None:
    def handler(ClusterName: str, NodeId: str) -> dict[str, Any]:  # noqa: N803
        if NodeId == "i-2":
            raise Refusal("ResourceNotFound")
        return {"NodeDetails": {"InstanceId": NodeId}}

    fake = ServiceFake("sagemaker", {"DescribeClusterNode": handler})
    answers = describe_cluster_nodes(fake.client, "c", ["i-1", "i-2", "i-3", "i-1"], patience())
    assert list(answers) == ["i-1", "i-3"]
    assert answers["i-3"]["NodeDetails"]["InstanceId"] == "i-3"
    assert len(fake.calls) == 3


def test_ultraservers_and_training_plan() -> None:
    arn = "arn:aws:sagemaker:us-west-2:123456789012:reserved-capacity/rc-1"
    servers: list[list[dict[str, Any]]] = [
        [{"UltraServerId": "us-1", "TotalInstanceCount": 18}],
        [{"UltraServerId": "us-2"}],
    ]
    for one in (server for page in servers for server in page):
        one |= {"UltraServerType": "ml.u-p6e-gb200x72", "AvailabilityZone": "us-west-2a"}
        one |= {"InstanceType": "ml.p6e-gb200.36xlarge", "TotalInstanceCount": 18}

    def list_servers(ReservedCapacityArn: str, MaxResults: int, NextToken: str = "") -> dict[str, Any]:  # noqa: N803
        assert (ReservedCapacityArn, MaxResults) == (arn, 100)
        return {"UltraServers": servers[1]} if NextToken else {"UltraServers": servers[0], "NextToken": "2"}

    def plan(TrainingPlanName: str) -> dict[str, Any]:  # noqa: N803
        return {
            "TrainingPlanArn": f"arn:aws:sagemaker:us-west-2:123456789012:training-plan/{TrainingPlanName}",
            "TrainingPlanName": TrainingPlanName,
            "Status": "Active",
        }

    fake = ServiceFake("sagemaker", {"ListUltraServersByReservedCapacity": list_servers, "DescribeTrainingPlan": plan})
    found = list_ultraservers(fake.client, arn, patience())["UltraServers"]
    assert [one["UltraServerId"] for one in found] == ["us-1", "us-2"]
    assert describe_training_plan(fake.client, "plan-1", patience())["TrainingPlanName"] == "plan-1"
