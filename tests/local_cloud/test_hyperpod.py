from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_cloud.errors import Fault, HyperPodError
from local_cloud.fake_world import FakeWorld, create_request, group, slurm_cluster
from local_cloud.hyperpod import HyperPod
from local_cloud.training_plans import TrainingPlan

Json = dict[str, Any]


def refused(model: HyperPod, operation: str, request: Json) -> HyperPodError:
    with pytest.raises(HyperPodError) as caught:
        model.call(operation, request)
    return caught.value


def scale(model: HyperPod, count: int, name: str = "demo") -> None:
    wanted = group("train", "ml.p5.48xlarge", count, "Compute")
    model.call("UpdateCluster", {"ClusterName": name, "InstanceGroups": [wanted]})


def compute_names(model: HyperPod) -> list[str]:
    return [node.name for node in model.cluster("demo").nodes if node.group == "train"]


# -- clusters ----------------------------------------------------------------------------------------------------------
def test_a_cluster_is_described_as_it_was_ordered() -> None:
    model = slurm_cluster(2, NodeRecovery="Automatic")
    described = model.call("DescribeCluster", {"ClusterName": "demo"})
    assert (described["ClusterStatus"], described["NodeRecovery"]) == ("InService", "Automatic")
    assert [(g["InstanceGroupName"], g["CurrentCount"], g["TargetCount"]) for g in described["InstanceGroups"]] == [
        ("controller", 1, 1),
        ("train", 2, 2),
    ]
    assert described["InstanceGroups"][1]["SlurmConfig"] == {"NodeType": "Compute", "PartitionNames": ["train"]}


def test_the_same_calls_give_the_same_cloud() -> None:
    first, second = slurm_cluster(), slurm_cluster()
    scale(first, 9)
    scale(second, 9)
    assert first.cluster("demo").nodes == second.cluster("demo").nodes


def test_names_are_unique() -> None:
    model = slurm_cluster()
    assert refused(model, "CreateCluster", create_request()).code == "ResourceInUse"


def test_a_bad_form_is_refused_in_the_words_of_the_service() -> None:
    error = refused(slurm_cluster(), "CreateCluster", create_request(name="no_good"))
    assert error.code == "ValidationException"
    assert error.message.startswith("1 validation error detected: Value 'no_good' at 'clusterName'")


def test_what_is_missing_around_the_cluster_is_refused() -> None:
    model = HyperPod(FakeWorld(complaints=["The subnet ID 'subnet-9' does not exist."]), "123456789012", "us-west-2")
    assert "subnet-9" in refused(model, "CreateCluster", create_request()).message
    assert model.clusters == {}


def test_unknown_clusters_and_operations() -> None:
    model = slurm_cluster()
    assert refused(model, "DescribeCluster", {"ClusterName": "other"}).code == "ResourceNotFound"
    assert refused(model, "CreateModel", {}).code == "UnknownOperationException"


def test_an_update_leaves_other_groups_alone() -> None:
    model = slurm_cluster(2)
    model.call("UpdateCluster", {"ClusterName": "demo", "InstanceGroups": [group("cpu", "ml.c5.xlarge", 3, "Compute")]})
    assert [node.group for node in model.cluster("demo").nodes] == ["controller", "train", "train", *["cpu"] * 3]
    model.call("UpdateCluster", {"ClusterName": "demo", "InstanceGroupsToDelete": ["train"]})
    assert {node.group for node in model.cluster("demo").nodes} == {"controller", "cpu"}


def test_scaling_down_takes_the_last_nodes_and_up_again_gives_their_places_back() -> None:
    model = slurm_cluster(6)
    before = compute_names(model)
    scale(model, 3)
    assert compute_names(model) == before[:3]
    scale(model, 6)
    assert compute_names(model) == before


def test_a_failed_update_leaves_the_cluster_as_it_was() -> None:
    model = slurm_cluster(2)
    model.faults.append(Fault("UpdateCluster", "no capacity"))
    before = model.cluster("demo").nodes
    scale(model, 4)
    described = model.call("DescribeCluster", {"ClusterName": "demo"})
    assert (described["ClusterStatus"], described["FailureMessage"]) == ("InService", "no capacity")
    assert model.cluster("demo").nodes == before
    scale(model, 4)
    assert "FailureMessage" not in model.call("DescribeCluster", {"ClusterName": "demo"})
    assert len(compute_names(model)) == 4


def test_a_cluster_that_can_t_be_made_is_failed() -> None:
    model = HyperPod(FakeWorld(), "123456789012", "us-west-2")
    model.faults.append(Fault("CreateCluster", "lifecycle script failed"))
    model.call("CreateCluster", create_request())
    assert model.call("ListClusters", {})["ClusterSummaries"][0]["ClusterStatus"] == "Failed"


def test_a_rejecting_fault_comes_as_often_as_ordered() -> None:
    model = slurm_cluster()
    model.faults.append(Fault("ListClusters", "Rate exceeded", kind="reject", times=2))
    assert [refused(model, "ListClusters", {}).message for _ in range(2)] == ["Rate exceeded"] * 2
    assert len(model.call("ListClusters", {})["ClusterSummaries"]) == 1


def test_a_subnet_without_room_fails_the_update() -> None:
    """A /24 has 251 addresses: 7 P5 nodes of 32 each."""
    world = FakeWorld()
    world.known["subnet-a"] = world.known["subnet-a"].__class__("subnet-a", "10.9.0.0/24", "us-west-2a", "usw2-az1")
    model = HyperPod(world, "123456789012", "us-west-2")
    model.call("CreateCluster", create_request(group("train", "ml.p5.48xlarge", 6, "Compute")))
    scale(model, 8)
    failure = model.call("DescribeCluster", {"ClusterName": "demo"})["FailureMessage"]
    assert failure == "Insufficient free addresses in subnets subnet-a (10.9.0.0/24): ml.p5.48xlarge needs 32."
    assert len(compute_names(model)) == 6


def test_deleting_frees_everything() -> None:
    model = slurm_cluster(6)
    first = model.cluster("demo").nodes
    model.call("DeleteCluster", {"ClusterName": "demo"})
    model.call("CreateCluster", create_request(group("train", "ml.p5.48xlarge", 6, "Compute")))
    again = model.cluster("demo").nodes
    assert [(n.address, n.slot) for n in first] == [(n.address, n.slot) for n in again]


# -- nodes -------------------------------------------------------------------------------------------------------------
def test_pages_of_nodes() -> None:
    model = slurm_cluster(24)
    seen: list[str] = []
    sizes: list[int] = []
    token: Json = {}
    while True:
        page = model.call("ListClusterNodes", {"ClusterName": "demo", "MaxResults": 10, **token})
        sizes.append(len(page["ClusterNodeSummaries"]))
        seen += [node["InstanceId"] for node in page["ClusterNodeSummaries"]]
        if "NextToken" not in page:
            break
        token = {"NextToken": page["NextToken"]}
    assert sizes == [10, 10, 5]
    assert len(set(seen)) == 25
    assert (
        "less than or equal to 100"
        in refused(model, "ListClusterNodes", {"ClusterName": "demo", "MaxResults": 101}).message
    )
    assert "NextToken" in refused(model, "ListClusterNodes", {"ClusterName": "demo", "NextToken": "x"}).message


def test_a_node_s_details() -> None:
    model = slurm_cluster(1)
    node = model.cluster("demo").nodes[1]
    details = model.call("DescribeClusterNode", {"ClusterName": "demo", "NodeId": node.instance_id})["NodeDetails"]
    assert details["Placement"] == {"AvailabilityZone": "us-west-2a", "AvailabilityZoneId": "usw2-az1"}
    assert details["PrivatePrimaryIp"] == "10.1.0.36"
    assert details["PrivateDnsHostname"] == "ip-10-1-0-36.us-west-2.compute.internal"
    assert "NodeLogicalId" not in details, "only clusters in Continuous mode have them"
    assert (
        refused(model, "DescribeClusterNode", {"ClusterName": "demo", "NodeId": "i-00000000"}).code
        == "ResourceNotFound"
    )
    assert refused(model, "DescribeClusterNode", {"ClusterName": "demo"}).code == "ValidationException"


def test_a_replaced_node_keeps_name_and_address_only() -> None:
    model = slurm_cluster(6)
    old = model.cluster("demo").nodes[2]
    answer = model.call("BatchReplaceClusterNodes", {"ClusterName": "demo", "NodeIds": [old.instance_id, "i-00000000"]})
    new = model.cluster("demo").nodes[2]
    assert answer["Successful"] == [old.instance_id]
    assert answer["Failed"][0]["ErrorCode"] == "InstanceIdNotFound"
    assert (new.name, new.address, new.number) == (old.name, old.address, old.number)
    assert new.instance_id != old.instance_id
    assert new.network_nodes[-1] != old.network_nodes[-1]


def test_the_leaf_of_a_replacement_can_be_chosen() -> None:
    model = slurm_cluster(6)
    nodes = model.cluster("demo").nodes
    new = model.replace("demo", nodes[1].name, leaf=1)
    assert new.network_nodes == nodes[-1].network_nodes
    with pytest.raises(HyperPodError, match="no node ip-9; it has: ip-10-1-0-4"):
        model.replace("demo", "ip-9")


def test_adding_and_deleting_nodes_is_for_continuous_clusters() -> None:
    add = {"ClusterName": "demo", "NodesToAdd": [{"InstanceGroupName": "train", "IncrementTargetCountBy": 2}]}
    assert "only supported" in refused(slurm_cluster(), "BatchAddClusterNodes", add).message
    model = slurm_cluster(2, NodeProvisioningMode="Continuous", Orchestrator={"Slurm": {}})
    added = model.call("BatchAddClusterNodes", add)["Successful"]
    assert len(added) == 2
    listed = model.call("ListClusterNodes", {"ClusterName": "demo", "IncludeNodeLogicalIds": True})
    assert {a["NodeLogicalId"] for a in added} <= {node["NodeLogicalId"] for node in listed["ClusterNodeSummaries"]}
    gone = model.call("BatchDeleteClusterNodes", {"ClusterName": "demo", "NodeLogicalIds": [added[0]["NodeLogicalId"]]})
    assert gone == {"SuccessfulNodeLogicalIds": [added[0]["NodeLogicalId"]]}
    assert len(compute_names(model)) == 3
    assert model.cluster("demo").groups["train"]["InstanceCount"] == 3


def test_a_software_update_is_seen_on_its_nodes() -> None:
    model = slurm_cluster(2)
    model.call("UpdateClusterSoftware", {"ClusterName": "demo", "InstanceGroups": [{"InstanceGroupName": "train"}]})
    listed = model.call("ListClusterNodes", {"ClusterName": "demo"})["ClusterNodeSummaries"]
    assert ["LastSoftwareUpdateTime" in node for node in listed] == [False, True, True]


# -- training plans ----------------------------------------------------------------------------------------------------
def ultra(count: int, arn: str) -> Json:
    return create_request(group("ultra", "ml.p6e-gb200.36xlarge", count, "Compute", TrainingPlanArn=arn))


def test_ultraservers_fill_one_at_a_time() -> None:
    model = HyperPod(FakeWorld(), "123456789012", "us-west-2")
    arn = model.add_training_plan(TrainingPlan("gb200", ultraservers=2, spares=0))
    model.call("CreateCluster", ultra(20, arn))
    listed = model.call("ListClusterNodes", {"ClusterName": "demo", "MaxResults": 100})["ClusterNodeSummaries"]
    servers = [node["UltraServerInfo"]["Id"] for node in listed if "UltraServerInfo" in node]
    assert [servers.count(server) for server in dict.fromkeys(servers)] == [18, 2]


def test_the_plan_tells_its_ultraservers_and_spares() -> None:
    model = HyperPod(FakeWorld(), "123456789012", "us-west-2")
    arn = model.add_training_plan(TrainingPlan("gb200"))
    model.call("CreateCluster", ultra(20, arn))
    plan = model.call("DescribeTrainingPlan", {"TrainingPlanName": arn})
    reserved = plan["ReservedCapacitySummaries"][0]["ReservedCapacityArn"]
    servers = model.call("ListUltraServersByReservedCapacity", {"ReservedCapacityArn": reserved})["UltraServers"]
    assert [s["InUseInstanceCount"] for s in servers] == [17, 3]
    assert {(s["TotalInstanceCount"], s["ConfiguredSpareInstanceCount"]) for s in servers} == {(18, 1)}


def test_a_plan_has_to_be_there_fit_and_be_large_enough() -> None:
    model = HyperPod(FakeWorld(), "123456789012", "us-west-2")
    arn = model.add_training_plan(TrainingPlan("gb200", ultraservers=1))
    wrong = create_request(group("p5", "ml.p5.48xlarge", 1, "Compute", TrainingPlanArn=arn))
    assert "is for ml.p6e-gb200.36xlarge, got ml.p5.48xlarge" in refused(model, "CreateCluster", wrong).message
    assert "not found" in refused(model, "CreateCluster", ultra(1, arn + "x")).message
    model.call("CreateCluster", ultra(18, arn))
    assert "1 x 17 slots are taken" in model.call("DescribeCluster", {"ClusterName": "demo"})["FailureMessage"]


# -- all together ------------------------------------------------------------------------------------------------------
@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["scale", "replace"]), st.integers(0, 20)), max_size=12))
def test_nodes_never_share_anything(events: list[tuple[str, int]]) -> None:
    """Ids, addresses and slots are unique; a node keeps its name; counts are as ordered."""
    model = slurm_cluster(4)
    for event, number in events:
        nodes = [node for node in model.cluster("demo").nodes if node.group == "train"]
        names = compute_names(model)
        if event == "scale":
            scale(model, number)
            assert compute_names(model)[: len(names)] == names[:number]
            assert len(compute_names(model)) == number
        elif nodes:
            model.replace("demo", nodes[number % len(nodes)].name)
            assert compute_names(model) == names
        everyone = model.cluster("demo").nodes
        for values in (
            [n.instance_id for n in everyone],
            [n.address for n in everyone],
            [n.slot for n in everyone[1:]],
        ):
            assert len(set(values)) == len(values)
