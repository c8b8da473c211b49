"""What every test gets."""

from __future__ import annotations

import os

from local_cloud.environment import tool_path
from slurm_lab.fixtures import judge, judge_24_11, judge_26_05, make_lab, slurm_root, slurm_roots, slurm_version

__all__ = ["judge", "judge_24_11", "judge_26_05", "make_lab", "slurm_root", "slurm_roots", "slurm_version"]

# aws-cdk-lib's template validation costs 2.8 s once a session; the tests that want it set it themselves.
os.environ.setdefault("CDK_VALIDATION", "false")
os.environ.setdefault("JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION", "1")
# The project's own Node and CDK CLI, also when pytest is started without make.
os.environ["PATH"] = tool_path()
