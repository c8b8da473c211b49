"""A cloud on loopback: ministack with SageMaker HyperPod, for tests and `make local`. Start at `LocalCloud`."""

from __future__ import annotations

from local_cloud.cdk_cli import CdkError, CdkResult
from local_cloud.cloud import ACCOUNT, REGION, LocalCloud, LocalCloudError
from local_cloud.racks import Racks

__all__ = ["ACCOUNT", "REGION", "CdkError", "CdkResult", "LocalCloud", "LocalCloudError", "Racks"]
