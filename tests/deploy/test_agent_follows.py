"""What a running agent gets of a deployment: the plan in force, never another one, and the zones of its nodes.

With the controller's own role, from the bucket and the API as the deployment left them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.offline import SettableClock, make_world
from deploy.test_instance_roles import as_role
from deploy.training import INITIAL, PLAN, Training
from slurm_topology.agent import renewal
from slurm_topology.agent.cloud import refresh
from slurm_topology.core import plan_document

pytestmark = pytest.mark.deploy


class Controller:
    """The controller: HyperPod's file, the plan that the lifecycle script brought, an agent after a pass."""

    def __init__(self, folder: Path, training: Training) -> None:
        self.world, self.log = make_world(folder)
        self._client = as_role(training, "ControllerRole")
        self.world.settings.plan.parent.mkdir()
        self.world.settings.resource_config.write_text(
            json.dumps(training.cloud.resource_config(training.output("Arn")))
        )
        self.world.settings.plan.write_text(
            json.dumps(training.document("TopologyPlanS3Uri"), indent=1, sort_keys=True) + "\n"
        )

    def later(self) -> str:
        """Some minutes later; the mode of the plan that the agent goes by."""
        clock = self.world.clock
        assert isinstance(clock, SettableClock)
        clock.time += renewal.LOOK_SECONDS
        refresh(self.world, lambda service, _: self._client(service))
        return plan_document.load(self.world.settings.plan.read_text()).mode


def with_mode(mode: str, *, cluster_too: bool = True) -> Callable[[dict[str, Any]], None]:
    """A deployment with another mode: another prefix, as the constructs would name it, of which the groups read."""

    def change(template: dict[str, Any]) -> None:
        for resource in template["Resources"].values():
            if resource["Type"] in (PLAN, INITIAL):
                properties = resource["Properties"]
                properties["LifecyclePrefix"] = f"{properties['LifecyclePrefix'].partition('-of-')[0]}-of-{mode}"
                properties["Fingerprint"] = mode
                if resource["Type"] == PLAN:
                    properties["Mode"] = mode
            if resource["Type"] == "AWS::SageMaker::Cluster" and cluster_too:
                resource["Properties"]["NodeRecovery"] = "None" if mode == "repair" else "Automatic"

    return change


def test_the_plan_and_the_zones_reach_a_running_agent(training: Training, tmp_path: Path) -> None:
    controller = Controller(tmp_path, training)
    before = training.template()
    assert controller.later() == "own"
    zones = {facts.zone for facts in controller.world.store().load_instances().values()}
    assert zones - {None}, "DescribeClusterNode says them"
    assert training.update(with_mode("observe")).status == "UPDATE_COMPLETE"
    assert controller.later() == "observe"
    training.cloud.inject_fault("UpdateCluster", "Insufficient capacity for ml.p5.48xlarge")
    assert training.update(with_mode("repair")).status == "UPDATE_ROLLBACK_COMPLETE"
    assert any(key.endswith("-of-repair/topology_plan.json") for key in training.objects()), "the plan was written"
    assert controller.later() == "observe", "a plan whose deployment failed is never followed"
    assert training.update(lambda template: template.update(before)).status == "UPDATE_COMPLETE"
    assert controller.later() == "own"
    assert "AGENT040" not in controller.log.getvalue()
