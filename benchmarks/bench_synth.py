"""Synth of the simplest app beside the same VPC with a bare CfnCluster, and of clusters with more and more groups.

Each figure is the wall time of a new Python process, as `cdk synth` starts one, best of several (the noise of a busy
machine only adds). Prints a table and adds it to benchmarks/results.json under "synth". Targets: at most 1.3 times the
bare app; time for groups grows linearly.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results.json"
GROUP_COUNTS = (1, 25, 50, 98)

BARE = """
from aws_cdk import App, Stack, aws_iam as iam, aws_sagemaker as sagemaker
from hyperpod_slurm.network import ClusterNetwork
app = App()
stack = Stack(app, "Bench")
network = ClusterNetwork(stack, "Network")
role = iam.Role(stack, "Role", assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"))
Cfn = sagemaker.CfnCluster
def group(name, kind, count, slurm):
    return Cfn.ClusterInstanceGroupProperty(instance_group_name=name, instance_type=kind, instance_count=count,
        execution_role=role.role_arn, slurm_config=slurm,
        life_cycle_config=Cfn.ClusterLifeCycleConfigProperty(source_s3_uri="s3://sagemaker-x/y", on_init_complete="z.sh"))
Cfn(stack, "Cluster", node_provisioning_mode="Continuous",
    orchestrator=Cfn.OrchestratorProperty(slurm=Cfn.ClusterOrchestratorSlurmConfigProperty()),
    vpc_config=Cfn.VpcConfigProperty(subnets=[s.subnet_id for s in network.subnets],
        security_group_ids=[g.security_group_id for g in network.security_groups]),
    instance_groups=[
        group("controller", "ml.m5.4xlarge", 1, Cfn.ClusterSlurmConfigProperty(node_type="Controller")),
        group("train", "ml.p5.48xlarge", 8,
            Cfn.ClusterSlurmConfigProperty(node_type="Compute", partition_names=["train"]))])
app.synth()
"""

OURS = """
from aws_cdk import App, Stack
from hyperpod_slurm import ComputeGroup, ControllerGroup, SlurmCluster
app = App()
groups = [ComputeGroup(f"train{{n}}", "ml.p5.48xlarge", 8) for n in range({groups})]
SlurmCluster(Stack(app, "Bench"), "Cluster", instance_groups=[ControllerGroup("controller"), *groups])
app.synth()
"""


def seconds(source: str) -> float:
    """Wall time of a process that runs ``source``."""
    environ = {**os.environ, "PYTHONPATH": f"{ROOT / 'constructs'}{os.pathsep}{ROOT / 'lifecycle_scripts'}"}
    environ.pop("CDK_OUTDIR", None)
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", source], env=environ, check=True, capture_output=True)
    return time.perf_counter() - started


def measure(rounds: int) -> dict[str, Any]:
    """Best of ``rounds`` for each app; the apps take turns, so that a slow moment hits all of them."""
    apps = {"bare": BARE, **{str(count): OURS.format(groups=count) for count in GROUP_COUNTS}}
    best = dict.fromkeys(apps, float("inf"))
    for _ in range(rounds):
        for name, source in apps.items():
            best[name] = min(best[name], seconds(source))
    few, many = GROUP_COUNTS[1], GROUP_COUNTS[-1]
    per_group = {count: (best[str(count)] - best["1"]) / (count - 1) for count in GROUP_COUNTS[1:]}
    return {
        "bare_seconds": round(best["bare"], 3),
        "seconds_by_groups": {count: round(best[str(count)], 3) for count in GROUP_COUNTS},
        "ratio": round(best["1"] / best["bare"], 3),
        "milliseconds_per_group": {count: round(1000 * value, 2) for count, value in per_group.items()},
        "growth": round(per_group[many] / per_group[few], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    result = measure(parser.parse_args().rounds)
    print(f"bare CfnCluster, same VPC    {result['bare_seconds']:7.2f} s")
    for count, value in result["seconds_by_groups"].items():
        print(f"SlurmCluster, {count:3} groups     {value:7.2f} s")
    print(f"simplest app / bare          {result['ratio']:7.2f}     (target 1.3)")
    print(f"cost of a group, many / few  {result['growth']:7.2f}     (linear: 1.0)")
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps({**stored, "synth": result}, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
