from __future__ import annotations

from local_cloud.fake_world import FakeWorld, create_request, group, slurm_cluster
from local_cloud.hyperpod import HyperPod
from local_cloud.resource_config import resource_config
from local_cloud.training_plans import TrainingPlan


def test_the_documented_shape() -> None:
    document = resource_config(slurm_cluster(1).cluster("demo"))
    assert list(document) == ["ClusterType", "ClusterConfig", "SlurmConfig", "InstanceGroups"]
    assert document["ClusterConfig"]["ClusterName"] == "demo"
    controller, train = document["InstanceGroups"]
    assert controller["Instances"][0]["InstanceLabel"] is None, "an m5 has no place in the topology"
    assert train["Instances"][0] | {"InstanceId": "", "InstanceLabel": {}} == {
        "InstanceName": "train-1",
        "AgentIpAddress": "172.16.0.36",
        "CustomerIpAddress": "10.1.0.36",
        "InstanceId": "",
        "InstanceLabel": {},
    }
    assert list(train["Instances"][0]["InstanceLabel"]) == [f"network-node-layer-{n}" for n in (1, 2, 3)]


def test_an_empty_group_has_null() -> None:
    document = resource_config(slurm_cluster(0).cluster("demo"))
    assert document["InstanceGroups"][1] == {"Name": "train", "InstanceType": "ml.p5.48xlarge", "Instances": None}


def test_ultraservers_are_labelled() -> None:
    model = HyperPod(FakeWorld(), "123456789012", "us-west-2")
    arn = model.add_training_plan(TrainingPlan("gb200"))
    model.call("CreateCluster", create_request(group("u", "ml.p6e-gb200.36xlarge", 1, "Compute", TrainingPlanArn=arn)))
    instance = resource_config(model.cluster("demo"))["InstanceGroups"][1]["Instances"][0]
    node = model.cluster("demo").nodes[1]
    assert node.slot is not None
    assert instance["InstanceLabel"]["ultraserver-id"] == node.slot.ultraserver_id


def test_types_of_four_layers_lack_their_leaf() -> None:
    model = HyperPod(FakeWorld(), "123456789012", "us-west-2")
    model.call("CreateCluster", create_request(group("b200", "ml.p6-b200.48xlarge", 1, "Compute")))
    instance = resource_config(model.cluster("demo"))["InstanceGroups"][1]["Instances"][0]
    assert tuple(instance["InstanceLabel"].values()) == model.cluster("demo").nodes[1].network_nodes[:3]
