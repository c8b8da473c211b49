"""The bucket that nodes read their lifecycle files from."""

from __future__ import annotations

from aws_cdk import Aws, Fn, RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from ._nag import acknowledge

__all__ = ["make_bucket"]


def make_bucket(
    scope: Construct,
    *,
    encryption_key: kms.IKey | None,
    access_logs: s3.IBucket | None,
    removal_policy: RemovalPolicy,
) -> s3.Bucket:
    """Encrypted, private, TLS only. With DESTROY it is emptied when the stack goes."""
    bucket = s3.Bucket(
        scope,
        "LifecycleBucket",
        bucket_name=_bucket_name(scope),
        encryption=s3.BucketEncryption.KMS if encryption_key else s3.BucketEncryption.S3_MANAGED,
        encryption_key=encryption_key,
        bucket_key_enabled=True if encryption_key else None,
        block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
        object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
        enforce_ssl=True,
        minimum_tls_version=1.2,
        server_access_logs_bucket=access_logs,
        server_access_logs_prefix="lifecycle-bucket/" if access_logs else None,
        removal_policy=removal_policy,
        auto_delete_objects=removal_policy == RemovalPolicy.DESTROY,
    )
    if access_logs is None:
        acknowledge(
            bucket, {"AwsSolutions-S1": "it holds scripts, not data; access_logs_bucket switches access logs on"}
        )
    return bucket


def _bucket_name(scope: Construct) -> str:
    """``sagemaker-<construct>-<stack>-<account>-<region>``, at most 55 of 63 characters.

    HyperPod's managed policy lets instances read buckets named ``sagemaker-…`` alone. The eight digits from the
    stack's UUID make a stack that is deployed again find its name free, though the old bucket was retained.
    """
    stack_uuid = Fn.select(2, Fn.split("/", Aws.STACK_ID))
    stack = Fn.select(0, Fn.split("-", stack_uuid))
    return f"sagemaker-{scope.node.addr[-8:]}-{stack}-{Aws.ACCOUNT_ID}-{Aws.REGION}"
