"""A model of SageMaker HyperPod: clusters, instance groups, nodes, training plans; no network, no clock, no chance.

`HyperPod.call(operation, request)` takes and gives what the SageMaker API does. What a real account would answer about
the world around the cluster (subnets, S3 objects, roles) comes from a `World`. Everything settles within the call: a
created cluster is InService when the call returns, or Failed with a reason.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

from local_cloud.cluster import Cluster, Node
from local_cloud.errors import Fault, HyperPodError
from local_cloud.launch import Launcher, World
from local_cloud.racks import Fabric, NoRoomError, Racks
from local_cloud.rules import cluster_problems, update_problems
from local_cloud.shapes import problems, service_model
from local_cloud.training_plans import TrainingPlan, TrainingPlans

__all__ = ["HyperPod"]

Json = dict[str, Any]


class HyperPod:
    """All HyperPod clusters of one account and region."""

    def __init__(self, world: World, account: str, region: str, racks: Racks | None = None) -> None:
        self.account, self.region = account, region
        self.clusters: dict[str, Cluster] = {}  # by ARN, in the order of creation
        self.fabric = Fabric(racks or Racks())
        self.plans = TrainingPlans(account, region)
        self.faults: list[Fault] = []
        self._launcher = Launcher(self.fabric, self.plans, world, region)
        self._world = world
        self._created = 0

    # -- the API ---------------------------------------------------------------------------------------------------
    def call(self, operation: str, request: Json) -> Json:
        """Answer one API call.

        Raises HyperPodError with the service's own code: ValidationException, ResourceNotFound, ResourceInUse, …
        """
        handlers: dict[str, Callable[[Json], Json]] = {
            "CreateCluster": self._create_cluster,
            "UpdateCluster": self._update_cluster,
            "UpdateClusterSoftware": self._update_software,
            "DeleteCluster": self._delete_cluster,
            "DescribeCluster": lambda r: self.cluster(r["ClusterName"]).describe(),
            "ListClusters": self._list_clusters,
            "ListClusterNodes": self._list_nodes,
            "DescribeClusterNode": self._describe_node,
            "BatchReplaceClusterNodes": self._replace_nodes,
            "BatchRebootClusterNodes": lambda r: self._each_node(r, lambda *_: None),
            "BatchAddClusterNodes": self._add_nodes,
            "BatchDeleteClusterNodes": self._delete_nodes,
            "DescribeTrainingPlan": lambda r: self.plans.describe(r["TrainingPlanName"]),
            "ListUltraServersByReservedCapacity": self._list_ultraservers,
        }
        if operation not in handlers:
            raise HyperPodError("UnknownOperationException", f"the loopback cloud has no SageMaker {operation}")
        shape = service_model().operation_model(operation).input_shape
        if shape is not None and (found := problems(request, shape)):
            plural = "error" if len(found) == 1 else "errors"
            raise HyperPodError("ValidationException", f"{len(found)} validation {plural} detected: {'; '.join(found)}")
        if fault := self._due_fault(operation, "reject"):
            raise HyperPodError("ValidationException", fault.message)
        return handlers[operation](request)

    def cluster(self, name_or_arn: str) -> Cluster:
        """The cluster of that name or ARN; HyperPodError ResourceNotFound."""
        for cluster in self.clusters.values():
            if name_or_arn in (cluster.name, cluster.arn):
                return cluster
        raise HyperPodError("ResourceNotFound", f"Cluster with name or ARN {name_or_arn} not found.")

    def nodes(self) -> Iterator[Node]:
        for cluster in self.clusters.values():
            yield from cluster.nodes

    # -- what only this model can do -------------------------------------------------------------------------------
    def replace(self, cluster_name: str, node_name: str, leaf: int | None = None) -> Node:
        """Replace one node, choosing the leaf (0-based, within its kind and zone) its new instance stands under."""
        cluster = self.cluster(cluster_name)
        for node in cluster.nodes:
            if node.name == node_name:
                return cluster.swap(node, self._launcher.replacement(node, leaf))
        names = ", ".join(node.name for node in cluster.nodes)
        raise HyperPodError("ResourceNotFound", f"cluster {cluster.name} has no node {node_name}; it has: {names}")

    # -- clusters --------------------------------------------------------------------------------------------------
    def _create_cluster(self, request: Json) -> Json:
        if any(cluster.name == request["ClusterName"] for cluster in self.clusters.values()):
            raise HyperPodError("ResourceInUse", f"Cluster with name {request['ClusterName']} already exists.")
        self._refuse(cluster_problems(request) + self._world_problems(request))
        self._created += 1
        cluster = Cluster(self._new_arn(request["ClusterName"]), request, created=self._launcher.tick())
        self.clusters[cluster.arn] = cluster
        self._settle(cluster, "CreateCluster", request)
        return {"ClusterArn": cluster.arn}

    def _update_cluster(self, request: Json) -> Json:
        cluster = self.cluster(request["ClusterName"])
        wanted = cluster.merged(request)
        self._refuse(update_problems(cluster.groups, request.get("InstanceGroups", ())))
        self._refuse(cluster_problems(wanted) + self._world_problems(wanted))
        self._settle(cluster, "UpdateCluster", wanted)
        return {"ClusterArn": cluster.arn}

    def _settle(self, cluster: Cluster, operation: str, wanted: Json) -> None:
        """Bring the nodes to what is wanted, or back to what was when that fails."""
        before, nodes = cluster.request, cluster.nodes
        try:
            if fault := self._due_fault(operation, "fail"):
                raise NoRoomError(fault.message)
            cluster.nodes = self._launcher.nodes_for(cluster.arn, nodes, wanted)
        except NoRoomError as error:
            cluster.fail(str(error), gone=operation == "CreateCluster", request=before)
        else:
            cluster.succeed(wanted)

    def _update_software(self, request: Json) -> Json:
        cluster = self.cluster(request["ClusterName"])
        names = {group["InstanceGroupName"] for group in request.get("InstanceGroups", ())} or set(cluster.groups)
        if unknown := names - set(cluster.groups):
            raise HyperPodError("ValidationException", f"Instance groups not found: {', '.join(sorted(unknown))}")
        cluster.software_updated(names, self._launcher.tick())
        return {"ClusterArn": cluster.arn}

    def _delete_cluster(self, request: Json) -> Json:
        cluster = self.cluster(request["ClusterName"])
        self._launcher.release(cluster.nodes)
        del self.clusters[cluster.arn]
        return {"ClusterArn": cluster.arn}

    def _list_clusters(self, request: Json) -> Json:
        found = [c for c in self.clusters.values() if request.get("NameContains", "") in c.name]
        if plan := request.get("TrainingPlanArn"):
            found = [c for c in found if plan in c.training_plans()]
        key: Callable[[Cluster], Any] = (lambda c: c.name) if request.get("SortBy") == "NAME" else lambda c: c.created
        ordered = sorted(found, key=key, reverse=request.get("SortOrder") == "Descending")
        return _page([cluster.summary() for cluster in ordered], request, "ClusterSummaries")

    # -- nodes -----------------------------------------------------------------------------------------------------
    def _list_nodes(self, request: Json) -> Json:
        cluster = self.cluster(request["ClusterName"])
        wanted = request.get("InstanceGroupNameContains", "")
        nodes = [node for node in cluster.nodes if wanted in node.group]
        key: Callable[[Node], Any] = (
            (lambda n: (n.group, n.number)) if request.get("SortBy") == "NAME" else lambda n: (n.launched, n.number)
        )
        nodes.sort(key=key, reverse=request.get("SortOrder") == "Descending")
        with_ids = bool(request.get("IncludeNodeLogicalIds")) and cluster.continuous
        return _page([node.summary(with_ids) for node in nodes], request, "ClusterNodeSummaries")

    def _describe_node(self, request: Json) -> Json:
        cluster = self.cluster(request["ClusterName"])
        if ("NodeId" in request) == ("NodeLogicalId" in request):
            raise HyperPodError("ValidationException", "Specify exactly one of NodeId and NodeLogicalId.")
        wanted = request.get("NodeId") or request.get("NodeLogicalId")
        for node in cluster.nodes:
            if wanted in (node.instance_id, node.logical_id):
                return {"NodeDetails": node.details(cluster.groups[node.group], cluster.continuous)}
        raise HyperPodError("ResourceNotFound", f"Node {wanted} not found in cluster {cluster.name}.")

    def _replace_nodes(self, request: Json) -> Json:
        return self._each_node(request, lambda cluster, node: cluster.swap(node, self._launcher.replacement(node)))

    def _add_nodes(self, request: Json) -> Json:
        cluster = self.cluster(request["ClusterName"])
        self._only_continuous(cluster, "BatchAddClusterNodes")
        answer: Json = {"Successful": [], "Failed": []}
        for wanted in request["NodesToAdd"]:
            name, count = wanted["InstanceGroupName"], wanted["IncrementTargetCountBy"]
            if name not in cluster.groups:
                answer["Failed"].append(
                    {"InstanceGroupName": name, "ErrorCode": "InstanceGroupNotFound", "FailedCount": count}
                )
                continue
            before = set(cluster.nodes)
            request_now = cluster.with_count(name, cluster.groups[name]["InstanceCount"] + count)
            self._settle(cluster, "BatchAddClusterNodes", request_now)
            answer["Successful"] += [
                {"NodeLogicalId": node.logical_id, "InstanceGroupName": name, "Status": "Pending"}
                for node in cluster.nodes
                if node not in before
            ]
        return answer

    def _delete_nodes(self, request: Json) -> Json:
        def delete(cluster: Cluster, node: Node) -> None:
            self._launcher.release([node])
            cluster.remove(node)

        return self._each_node(request, delete, "Code", "NodeIdNotFound")

    def _each_node(
        self,
        request: Json,
        act: Callable[[Cluster, Node], object],
        code_member: str = "ErrorCode",
        not_found: str = "InstanceIdNotFound",
    ) -> Json:
        """The Batch… calls: act on each node named by instance id or logical id; name those that aren't there."""
        cluster = self.cluster(request["ClusterName"])
        answer: Json = {}
        for member, suffix, id_member in (
            ("NodeIds", "", "NodeId"),
            ("NodeLogicalIds", "NodeLogicalIds", "NodeLogicalId"),
        ):
            for wanted in request.get(member, ()):
                node = next((n for n in cluster.nodes if wanted in (n.instance_id, n.logical_id)), None)
                if node is None:
                    failure = {id_member: wanted, code_member: not_found, "Message": f"Node {wanted} not found."}
                    answer.setdefault(f"Failed{suffix}", []).append(failure)
                else:
                    act(cluster, node)
                    answer.setdefault(f"Successful{suffix}", []).append(wanted)
        return answer

    # -- training plans --------------------------------------------------------------------------------------------
    def add_training_plan(self, plan: TrainingPlan) -> str:
        return self.plans.add(plan)

    def _list_ultraservers(self, request: Json) -> Json:
        plan = self.plans.by_reserved_capacity(request["ReservedCapacityArn"])
        return _page(self.plans.ultraservers(plan, self.nodes()), request, "UltraServers")

    # -- helpers ---------------------------------------------------------------------------------------------------
    def _world_problems(self, request: Json) -> list[str]:
        found = list(self._world.problems(request))
        for group in request.get("InstanceGroups", ()):
            arn = group.get("TrainingPlanArn")
            if arn and (problem := self.plans.problem(arn, group.get("InstanceType", ""))):
                found.append(f"Instance group '{group['InstanceGroupName']}': {problem}")
        return found

    def _only_continuous(self, cluster: Cluster, operation: str) -> None:
        if not cluster.continuous:
            raise HyperPodError(
                "ValidationException",
                f"{operation} is only supported for clusters with NodeProvisioningMode Continuous.",
            )

    def _refuse(self, messages: list[str]) -> None:
        if messages:
            raise HyperPodError("ValidationException", " ".join(messages))

    def _due_fault(self, operation: str, kind: str) -> Fault | None:
        for number, fault in enumerate(self.faults):
            if (fault.operation, fault.kind) == (operation, kind):
                self.faults[number : number + 1] = [fault.used()] if fault.times > 1 else []
                return fault
        return None

    def _new_arn(self, name: str) -> str:
        digest = hashlib.sha256(f"{self.account}/{name}/{self._created}".encode()).hexdigest()
        return f"arn:aws:sagemaker:{self.region}:{self.account}:cluster/{digest[:12]}"


def _page(items: list[Json], request: Json, member: str) -> Json:
    """One page: MaxResults of them (10 unless told), NextToken = where the next page starts."""
    token = request.get("NextToken", "0")
    if not token.isdigit() or int(token) > len(items):
        raise HyperPodError("ValidationException", f"Invalid NextToken: {token}")
    start, size = int(token), request.get("MaxResults", 10)
    page: Json = {member: items[start : start + size]}
    if start + size < len(items):
        page["NextToken"] = str(start + size)
    return page
