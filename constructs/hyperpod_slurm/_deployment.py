"""What happens at deploy time around the cluster: the bundle, the plan before it, the initial topology after it."""

from __future__ import annotations

from aws_cdk import Aws, CustomResource, Stack
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_assets as s3_assets
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from . import _assets, permissions
from ._handler import Handler, fingerprint
from ._render import topology_group
from ._spec import ClusterSpec

__all__ = ["Deployment"]


class Deployment:
    """The custom resources and what they need, made in ``scope``.

    The lifecycle prefix is named by the content that goes there, but for the groups' counts. An update writes beside
    what is in force, so that a failed one rolls back to files that are still there; a scale writes the plan anew in
    place, and a rollback of it writes the old one back.
    """

    def __init__(self, scope: Construct, spec: ClusterSpec, bucket: s3.IBucket, handler: Handler) -> None:
        self._scope = scope
        self._spec = spec
        self._bucket = bucket
        # Copies of one app have the same paths, and a brought bucket may serve several of them.
        stack = f"-{Stack.of(scope).stack_name}-{Aws.ACCOUNT_ID}-{Aws.REGION}" if spec.brought_bucket_name else ""
        self.prefix_root = f"hyperpod-slurm/{scope.node.addr[-8:]}{stack}"
        self._bundle = _assets.build_bundle(spec.lifecycle.folder, spec.lifecycle.script)
        self._asset = s3_assets.Asset(
            scope, "Bundle", path=str(self._bundle.path), asset_hash=self._bundle.content_hash
        )
        self._handler = handler
        self._groups = [topology_group(group) for group in spec.groups]
        self.plan = self._make_plan()

    @property
    def lifecycle_s3_uri(self) -> str:
        """Where HyperPod finds the lifecycle files: known after the plan, so whoever uses it waits for the plan."""
        return self.plan.get_att_string("LifecycleS3Uri")

    def make_initial_topology(self, cluster: sagemaker.CfnCluster) -> CustomResource:
        """The resource that looks at the cluster's nodes once they are there."""
        policy = permissions.allow_describing(self._scope, self._handler.role, cluster.attr_cluster_arn)
        properties = {
            "ClusterName": cluster.attr_cluster_arn,  # SageMaker takes either wherever it asks for a name
            "LifecycleBucket": self._bucket.bucket_name,
            "LifecyclePrefix": self._prefix,
            "PlanSha256": self.plan.get_att_string("PlanSha256"),
            "Groups": self._groups,
        }
        resource = self._handler.custom_resource(
            self._scope, "InitialTopology", "Custom::HyperPodSlurmInitialTopology", properties
        )
        resource.node.add_dependency(policy)
        return resource

    def _make_plan(self) -> CustomResource:
        topology, version = self._spec.topology, self._spec.slurm_version
        wanted = {
            "Groups": self._groups,
            "Topology": {
                "Kind": topology.kind.value if topology.kind else "auto",
                "BlockSizes": list(topology.block_sizes),
            },
            "Mode": topology.mode.value,
            **({} if version is None else {"SlurmVersion": version}),
        }
        # Not by the counts: the prefix is in every group's SourceS3Uri, so each scale would update all of them.
        lasting = {**wanted, "Groups": [{**group, "Count": None} for group in self._groups]}
        # Nodes may use the present key only, and S3 encrypts what is written from now on: with another key, elsewhere.
        key = self._bucket.encryption_key
        keyed = {"key": key.key_arn} if key is not None else {}
        content = fingerprint(self._scope, {"bundle": self._bundle.content_hash, **lasting, **keyed})
        self._prefix = f"{self.prefix_root}/{content[:16]}"
        bundle = (self._asset.s3_bucket_name, self._asset.s3_object_key)
        plans = _training_plans(self._spec)
        permissions.allow_handler(self._handler.role, bundle, self._bucket, self.prefix_root, plans)
        properties = {
            "BundleBucket": bundle[0],
            "BundleKey": bundle[1],
            "LifecycleBucket": self._bucket.bucket_name,
            "LifecyclePrefix": self._prefix,
            **wanted,
        }
        return self._handler.custom_resource(
            self._scope, "TopologyPlan", "Custom::HyperPodSlurmTopologyPlan", properties
        )


def _training_plans(spec: ClusterSpec) -> list[str]:
    arns = [group.capacity.training_plan_arn for group in spec.compute_groups]
    return list(dict.fromkeys(arn for arn in arns if arn is not None))
