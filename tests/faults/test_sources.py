"""Faults of sources that know less than they seem to."""

from __future__ import annotations

from typing import Any

import pytest

from slurm_topology.core import inventory, read_instance_topology, read_resource_config
from slurm_topology.core.model import Placement

PATH = ("nn-1", "nn-2", "nn-3")
LABELS = {**{f"network-node-layer-{n}": node for n, node in enumerate(PATH, 1)}, "ultraserver-id": "us-1"}
CONFIG = {
    "InstanceGroups": [
        {
            "Name": "ultra",
            "InstanceType": "ml.p6e-gb200.36xlarge",
            "Instances": [{"InstanceId": "i-1", "CustomerIpAddress": "10.1.0.4", "InstanceLabel": LABELS}],
        }
    ]
}


@pytest.mark.parametrize(
    "instances",
    [
        [],
        [{"InstanceId": "i-1", "NetworkNodes": None, "CapacityBlockId": None}],
        [{"InstanceId": "i-1", "NetworkNodes": ["nn-1"], "CapacityBlockId": ""}],
    ],
    ids=["EC2 doesn't see HyperPod's instances", "null right after launch", "half an answer"],
)
def test_a_source_that_knows_nothing_hides_no_source_that_does(instances: list[dict[str, Any]]) -> None:
    """EC2 knows no HyperPod instance, and its CapacityBlockId is null right after launch: the label stays."""
    merged, findings = inventory.build(
        resource_config=read_resource_config.read(CONFIG),
        instance_topology=read_instance_topology.read({"Instances": instances}),
    )
    assert [node.placement for node in merged.nodes] == [Placement(PATH, "us-1", None)]
    assert findings == ()
