"""The HyperPod models of this server, one an account and region."""

from __future__ import annotations

import os
from functools import cache

from ministack.core.responses import get_account_id, get_region

from local_cloud.hyperpod import HyperPod
from local_cloud.plugin.world import MinistackWorld
from local_cloud.racks import Racks

__all__ = ["EC2_SEES_NODES", "here"]

# DescribeInstanceTopology doesn't see HyperPod's instances on AWS: they live in the service's own account.
RACKS = Racks.from_text(os.environ.get("LOCAL_CLOUD_RACKS", Racks().to_text()))
EC2_SEES_NODES = os.environ.get("LOCAL_CLOUD_EC2_SEES_NODES") == "1"


def here() -> HyperPod:
    """The model of the account and region of the request being served."""
    return _model(get_account_id(), get_region())


@cache
def _model(account: str, region: str) -> HyperPod:
    return HyperPod(MinistackWorld(account, region), account, region, RACKS)
