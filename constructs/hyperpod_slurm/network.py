"""The network of a cluster: a VPC made for EFA, or one that exists."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

import jsii
from aws_cdk import Fn, Tags
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

__all__ = ["ClusterNetwork"]

_CIDR = "10.0.0.0/16"
# Half of the VPC: 32,763 addresses of a /16, enough for 1,023 P5 instances with 32 addresses each.
_COMPUTE_BITS = 1
# A /24 of a /16, the last one, for the NAT gateway.
_PUBLIC_BITS = 8
# What nodes call: lifecycle logs and Session Manager (HyperPod itself), and the APIs that the topology agent asks.
_ENDPOINTS = ("logs", "ssm", "ssmmessages", "ec2messages", "sagemaker.api", "ec2", "monitoring", "sts")


@jsii.implements(ec2.IConnectable)
class ClusterNetwork(Construct):
    """Where a cluster's nodes sit. Several clusters can share one.

    Made new (the default): one private subnet in one Availability Zone, because EFA does not cross zones, with room
    for the 32 addresses of each P5 instance; a gateway endpoint for S3 and interface endpoints for what else nodes
    call; no way to the internet unless ``internet_access`` asks for it; and a security group that allows all traffic
    to itself, as EFA needs. It has no open egress: only HTTPS, for S3.

    With ``vpc``: the subnets and security groups that are given, and a new security group when none is given.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,  # noqa: A002 - CDK's name for it
        *,
        vpc: ec2.IVpc | None = None,
        subnets: Sequence[ec2.ISubnet] = (),
        security_groups: Sequence[ec2.ISecurityGroup] = (),
        cidr: str = _CIDR,
        availability_zone: str | None = None,
        availability_zone_id: str | None = None,
        internet_access: bool = False,
        s3_prefix_list_id: str | None = None,
    ) -> None:
        """Make the network, or wrap one that exists.

        :param vpc: default: a new VPC.
        :param subnets: of ``vpc``, for the nodes; default: the first of its private subnets.
        :param security_groups: of the nodes, 1 to 5; each must allow all traffic to itself. Default: a new one.
        :param cidr: of the new VPC.
        :param availability_zone: of the new subnet, such as ``us-west-2d``; default: the first zone of the region.
        :param availability_zone_id: the same by its id, such as ``usw2-az4``: training plans name zones so.
        :param internet_access: adds a NAT gateway to the new VPC, and lets nodes reach the internet by HTTP and HTTPS.
        :param s3_prefix_list_id: the region's prefix list of S3 (``aws ec2 describe-managed-prefix-lists``). Given, the
            new security group allows HTTPS to S3 alone; by default to anywhere that the subnet has a route to.
        """
        super().__init__(scope, id)
        made = _NewVpc(self, cidr, availability_zone, availability_zone_id, internet_access) if vpc is None else None
        self.vpc: ec2.IVpc = made.vpc if made else vpc  # type: ignore[assignment]  # one of both is there
        self.subnets: Sequence[ec2.ISubnet] = [made.subnet] if made else list(subnets) or _first_private(self.vpc)
        self.security_groups: Sequence[ec2.ISecurityGroup] = list(security_groups) or [
            _new_security_group(self, self.vpc, internet_access, s3_prefix_list_id)
        ]
        self._connections = ec2.Connections(security_groups=list(self.security_groups))
        if made:
            self._add_endpoints(() if internet_access else _ENDPOINTS)

    @property
    def connections(self) -> ec2.Connections:
        """The nodes' security groups."""
        return self._connections

    def _add_endpoints(self, names: Sequence[str]) -> None:
        """The endpoints get the nodes' own security group, which already allows all traffic to itself."""
        self.vpc.add_gateway_endpoint("S3", service=ec2.GatewayVpcEndpointAwsService.S3)
        for name in names:
            ec2.InterfaceVpcEndpoint(
                self,
                name,
                vpc=self.vpc,
                service=ec2.InterfaceVpcEndpointAwsService(name),
                open=False,
                private_dns_enabled=True,
                security_groups=list(self.security_groups),
                subnets=ec2.SubnetSelection(subnets=list(self.subnets)),
            )


def _first_private(vpc: ec2.IVpc) -> list[ec2.ISubnet]:
    """One subnet, so that all nodes share a zone: HyperPod picks any of those it is given."""
    return [(vpc.private_subnets or vpc.isolated_subnets or vpc.public_subnets)[0]]


def _new_security_group(
    scope: Construct, vpc: ec2.IVpc, internet_access: bool, s3_prefix_list_id: str | None
) -> ec2.SecurityGroup:
    group = ec2.SecurityGroup(
        scope,
        "SecurityGroup",
        vpc=vpc,
        description="Nodes of a HyperPod Slurm cluster: all traffic among themselves, as EFA needs",
        allow_all_outbound=False,  # EFA health checks can fail beside an open egress rule (HyperPod's prerequisites)
    )
    group.add_ingress_rule(group, ec2.Port.all_traffic(), "EFA and Slurm between nodes")
    group.add_egress_rule(group, ec2.Port.all_traffic(), "EFA and Slurm between nodes")
    s3 = ec2.Peer.any_ipv4() if s3_prefix_list_id is None else ec2.Peer.prefix_list(s3_prefix_list_id)
    group.add_egress_rule(s3, ec2.Port.HTTPS, "S3, by way of the gateway endpoint")
    if internet_access:
        group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.HTTPS, "Internet")
        group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.HTTP, "Internet, for package mirrors")
    return group


class _NewVpc:
    """The resources of a new VPC. Not ``ec2.Vpc``: in a stack with an environment that looks the zones up."""

    def __init__(
        self, scope: Construct, cidr: str, zone: str | None, zone_id: str | None, internet_access: bool
    ) -> None:
        self._scope = scope
        self._block = ipaddress.IPv4Network(cidr)
        self._zone = zone or Fn.select(0, Fn.get_azs())
        self._zone_id = zone_id
        self._resource = ec2.CfnVPC(scope, "Vpc", cidr_block=cidr, enable_dns_hostnames=True, enable_dns_support=True)
        Tags.of(self._resource).add("Name", scope.node.path)
        first_half = next(self._block.subnets(prefixlen_diff=_COMPUTE_BITS))
        self.subnet = ec2.PrivateSubnet(
            scope, "Compute", availability_zone=self._zone, cidr_block=str(first_half), vpc_id=self._resource.ref
        )
        self._name_and_place(self.subnet)
        self.vpc = self._imported(str(first_half))
        if internet_access:
            self._open_to_internet()

    def _imported(self, compute_cidr: str) -> ec2.IVpc:
        return ec2.Vpc.from_vpc_attributes(
            self._scope,
            "Network",
            vpc_id=self._resource.ref,
            availability_zones=[self._zone],
            vpc_cidr_block=str(self._block),
            isolated_subnet_ids=[self.subnet.subnet_id],
            isolated_subnet_route_table_ids=[self.subnet.route_table.route_table_id],
            isolated_subnet_ipv4_cidr_blocks=[compute_cidr],
        )

    def _open_to_internet(self) -> None:
        last = list(self._block.subnets(prefixlen_diff=_PUBLIC_BITS))[-1]
        public = ec2.PublicSubnet(
            self._scope, "Public", availability_zone=self._zone, cidr_block=str(last), vpc_id=self._resource.ref
        )
        self._name_and_place(public)
        gateway = ec2.CfnInternetGateway(self._scope, "InternetGateway")
        attachment = ec2.CfnVPCGatewayAttachment(
            self._scope, "InternetAttachment", vpc_id=self._resource.ref, internet_gateway_id=gateway.ref
        )
        public.add_default_internet_route(gateway.ref, attachment)
        self.subnet.add_default_nat_route(public.add_nat_gateway().ref)

    def _name_and_place(self, subnet: ec2.Subnet) -> None:
        Tags.of(subnet).add("Name", subnet.node.path)
        resource = subnet.node.default_child
        if self._zone_id is not None and isinstance(resource, ec2.CfnSubnet):
            resource.availability_zone = None
            resource.availability_zone_id = self._zone_id
