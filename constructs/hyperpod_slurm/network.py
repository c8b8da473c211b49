"""The network of a cluster: a VPC made for EFA, or one that exists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import jsii
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from . import _security_group, permissions
from ._handler import Handler, HandlerOptions
from ._nag import acknowledge_look_up
from ._report import report
from ._rules_types import expect_types
from ._rules_vpc import block_fits
from ._vpc import NewVpc

if TYPE_CHECKING:
    from ._spec import Claim

__all__ = ["ClusterNetwork", "subnet_cidr", "subnet_zone"]

# What nodes call: lifecycle logs and Session Manager (HyperPod itself), and the APIs that the topology agent asks.
_ENDPOINTS = ("logs", "ssm", "ssmmessages", "ec2messages", "sagemaker.api", "monitoring", "sts")
_BLOCK = "10.0.0.0/16"
_S3 = ec2.GatewayVpcEndpointAwsService.S3
_PURPOSE = "Finds the prefix list of S3 for the network of a HyperPod Slurm cluster during deployments"


@jsii.implements(ec2.IConnectable)
class ClusterNetwork(Construct):
    """Where a cluster's nodes sit. Several clusters can share one.

    Made new (the default): one private subnet in one Availability Zone, because EFA does not cross zones, with room
    for the 32 addresses of each P5 instance; a gateway endpoint for S3 and interface endpoints for what else nodes
    call; no way to the internet unless ``internet_access`` asks for it; and a security group that allows all traffic
    to itself, as EFA needs, and HTTPS to S3. It has no open egress: rules know S3 by its prefix list, whose id a
    Lambda function asks EC2 for during the deployment: the cluster's, when the cluster makes its network, else one of
    the network's own.

    With ``vpc``: the subnets and security groups that are given, and a new security group when none is given. Nobody
    knows by which way nodes reach AWS there, so that one also lets HTTPS out to wherever the subnet has a route.

    To let nodes out to more, add a rule: ``network.connections.allow_to(…)``.
    """

    vpc: ec2.IVpc
    """The new one, or the one that was brought."""

    subnets: Sequence[ec2.ISubnet]
    """Where nodes go: one, unless more were given."""

    security_groups: Sequence[ec2.ISecurityGroup]
    """Those of the nodes."""

    owner_account: str | None
    """Of a shared VPC; None: this account."""

    def __init__(
        self,
        scope: Construct,
        id: str,  # noqa: A002 - CDK's name for it
        *,
        vpc: ec2.IVpc | None = None,
        subnets: Sequence[ec2.ISubnet] = (),
        security_groups: Sequence[ec2.ISecurityGroup] = (),
        cidr: str | None = None,
        availability_zone: str | None = None,
        availability_zone_id: str | None = None,
        internet_access: bool = False,
        s3_prefix_list_id: str | None = None,
        owner_account: str | None = None,
        handler: HandlerOptions | None = None,
        _shared_handler: Handler | None = None,
    ) -> None:
        """Make the network, or wrap one that exists.

        :param vpc: default: a new VPC.
        :param subnets: of ``vpc``, for the nodes; default: the first of its private subnets.
        :param security_groups: of the nodes, 1 to 5; each must allow all traffic to itself. Default: a new one.
        :param cidr: of the new VPC, /16 to /25, half of it for nodes; default: 10.0.0.0/16.
        :param availability_zone: of the new subnet, such as ``us-west-2d``; default: the first zone of the region.
        :param availability_zone_id: the same by its id, such as ``usw2-az4``: training plans name zones so.
        :param internet_access: adds a NAT gateway to the new VPC, and lets nodes reach the internet by HTTP and HTTPS.
        :param s3_prefix_list_id: the region's prefix list of S3 (``aws ec2 describe-managed-prefix-lists``), for HTTPS
            from the new security group. Default: a new VPC without ``internet_access`` finds it during the deployment;
            otherwise HTTPS is allowed to wherever the subnet has a route.
        :param owner_account: of a ``vpc`` that another account shares with this one; default: this account.
        :param handler: settings of that Lambda function of the network's own.
        """
        expect_types(ClusterNetwork.__init__, locals())
        super().__init__(scope, id)
        zones = {"availability_zone": availability_zone, "availability_zone_id": availability_zone_id}
        if vpc is None:
            _refuse("a vpc of your own", subnets=subnets, owner_account=owner_account)
        else:
            _refuse("a new VPC, got a vpc of your own", **zones, internet_access=internet_access, cidr=cidr)
        if availability_zone and availability_zone_id:
            got = f"{availability_zone} and {availability_zone_id}"
            raise ValueError(f"a zone is named by availability_zone or by availability_zone_id; got both: {got}")
        finds_s3 = vpc is None and not (internet_access or s3_prefix_list_id or security_groups)
        if not finds_s3:
            _refuse("a new VPC that has to find S3's prefix list", handler=handler)
        self.owner_account = owner_account
        self._has_own_security_groups = bool(security_groups)
        self._claims: list[Claim] = []
        self._endpoint_count = 0
        self._made: NewVpc | None = None
        if vpc is None:
            wrong = [] if cidr is None else list(block_fits(cidr))
            report(self, wrong, None)
            block = _BLOCK if cidr is None or wrong else cidr
            self._made = NewVpc(self, block, availability_zone, availability_zone_id, internet_access)
            vpc, subnets = self._made.vpc, [self._made.subnet]
        self.vpc = vpc
        acknowledge_look_up(self, vpc)
        self.subnets = list(subnets) or _first_private(vpc)
        if finds_s3:
            asked = _shared_handler or Handler(self, handler or HandlerOptions(), _PURPOSE)
            s3_prefix_list_id = self._find_s3_prefix_list(asked)
        self.security_groups = list(security_groups) or [
            _new_security_group(self, vpc, internet_access, s3_prefix_list_id)
        ]
        self._connections = ec2.Connections(security_groups=list(self.security_groups))
        self._has_endpoints = self._made is not None and not internet_access
        if self._made is not None:
            vpc.add_gateway_endpoint("S3", service=_S3)
        for name in _ENDPOINTS:
            self.add_endpoint(name)

    @property
    def connections(self) -> ec2.Connections:
        """The nodes' security groups."""
        return self._connections

    @property
    def subnet_cidrs(self) -> Sequence[str | None]:
        """CIDR blocks of ``subnets``; None for those of a brought VPC that do not tell."""
        return [self._made.compute_cidr] if self._made else [subnet_cidr(subnet) for subnet in self.subnets]

    def add_endpoint(self, service: str) -> None:
        """An interface endpoint for an AWS service, such as ``secretsmanager``, where nodes have no other way to it.

        Does nothing in a VPC that was brought, or one with a way to the internet, or when it is there already.
        """
        if not self._has_endpoints or self.node.try_find_child(service) is not None:
            return
        ec2.InterfaceVpcEndpoint(
            self,
            service,
            vpc=self.vpc,
            service=ec2.InterfaceVpcEndpointAwsService(service),
            open=False,
            private_dns_enabled=True,
            security_groups=list(self.security_groups),  # they allow all traffic among their members
            subnets=ec2.SubnetSelection(subnets=list(self.subnets)),
        )
        self._endpoint_count += 1

    def database_subnets(self) -> ec2.SubnetSelection:
        """Subnets in two zones: new ones in a new VPC, the private ones of a VPC that was brought."""
        if self._made is not None:
            return ec2.SubnetSelection(subnets=self._made.database_subnets())
        return ec2.SubnetSelection(subnets=self.vpc.private_subnets or self.vpc.isolated_subnets)

    def _find_s3_prefix_list(self, handler: Handler) -> str:
        """Its id, known at deploy time: no attribute of the endpoint has it, and AWS publishes no table."""
        permissions.allow_prefix_lists(handler.role)
        properties = {"ServiceName": _S3.name}
        found = handler.custom_resource(self, "S3PrefixList", "Custom::HyperPodSlurmS3PrefixList", properties)
        return found.get_att_string("PrefixListId")


def _refuse(needed: str, **given: object) -> None:
    """What would be ignored is an error."""
    names = [name for name, value in given.items() if value]
    if names:
        raise ValueError(f"{', '.join(names)} can be given with {needed} only")


def _first_private(vpc: ec2.IVpc) -> list[ec2.ISubnet]:
    """One subnet, so that all nodes share a zone: HyperPod picks any it is given. Without any: none (HPS060)."""
    return [*(vpc.private_subnets or vpc.isolated_subnets or vpc.public_subnets)][:1]


def subnet_cidr(subnet: ec2.ISubnet) -> str | None:
    """A subnet's CIDR block; None for an imported subnet that was not told it."""
    try:
        return subnet.ipv4_cidr_block
    except RuntimeError:
        return None


def subnet_zone(subnet: ec2.ISubnet) -> str | None:
    """A subnet's Availability Zone; None for an imported subnet that was not told it."""
    try:
        return subnet.availability_zone
    except RuntimeError:
        return None


def _new_security_group(
    scope: Construct, vpc: ec2.IVpc, internet_access: bool, s3_prefix_list_id: str | None
) -> ec2.SecurityGroup:
    group = _security_group.make_security_group(scope, vpc)
    if s3_prefix_list_id is not None:
        _security_group.allow_s3(group, s3_prefix_list_id)
    if internet_access or s3_prefix_list_id is None:
        _security_group.allow_https_anywhere(group)
    if internet_access:
        _security_group.allow_http_anywhere(group)
    return group
