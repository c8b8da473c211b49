"""The door to AWS: every call to an AWS API is in this package, and only ``clients.py`` imports boto3 and botocore.

Functions take a client and give back the raw answer as plain dicts; reading it is the core's work. All paging,
bisecting, concurrency and retrying is here. Errors leave as ``AwsError``.
"""

from __future__ import annotations

from .call import Patience, call, iam_action
from .clients import DENIED, make_client
from .cloudwatch import put_metric_data
from .ec2 import (
    InstanceTopologyAnswer,
    describe_aws_prefix_lists,
    describe_instance_topology,
    describe_instance_types,
)
from .hyperpod import (
    describe_cluster_nodes,
    describe_training_plan,
    list_cluster_nodes,
    list_ultraservers,
)
from .s3 import get_if_changed, get_object, put_if_changed

__all__ = [
    "DENIED",
    "InstanceTopologyAnswer",
    "Patience",
    "call",
    "describe_aws_prefix_lists",
    "describe_cluster_nodes",
    "describe_instance_topology",
    "describe_instance_types",
    "describe_training_plan",
    "get_if_changed",
    "get_object",
    "iam_action",
    "list_cluster_nodes",
    "list_ultraservers",
    "make_client",
    "put_if_changed",
    "put_metric_data",
]
