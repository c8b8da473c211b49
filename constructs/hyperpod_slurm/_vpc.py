"""A VPC made for EFA. Not ``ec2.Vpc``: in a stack with an environment, that looks the account's zones up."""

from __future__ import annotations

import ipaddress
from functools import cached_property

import jsii
from aws_cdk import Fn, IStableStringProducer, Lazy, RemovalPolicy, Tags
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_logs as logs
from constructs import Construct

from . import permissions

__all__ = ["NewVpc"]

# Compute gets the first half: 32,763 addresses of a /16, enough for 1,023 P5 instances with 32 addresses each.
_COMPUTE_BITS = 1
# The NAT gateway gets the last /24 of a /16; databases two /28, before it and in zones of their own. AWS has no smaller
# subnet than a /28 (VPC user guide, "Subnet CIDR blocks").
_PUBLIC_BITS = 8
_SMALLEST_PREFIX = 28


class NewVpc:
    """The VPC's resources, made in ``scope``.

    ``cidr`` is one that `block_fits` takes. ``zone`` is a zone's name, ``zone_id`` its id; without both it is the
    region's first.
    """

    def __init__(
        self, scope: Construct, cidr: str, zone: str | None, zone_id: str | None, internet_access: bool
    ) -> None:
        self._scope = scope
        self._block = ipaddress.IPv4Network(cidr)
        self._zone_id = zone_id
        self._zone = zone or (Lazy.string(_ZoneOf(self)) if zone_id else Fn.select(0, Fn.get_azs()))
        self._resource = ec2.CfnVPC(scope, "Vpc", cidr_block=cidr, enable_dns_hostnames=True, enable_dns_support=True)
        Tags.of(self._resource).add("Name", scope.node.path)
        self.compute_cidr = self._subnet_cidr(self._block.prefixlen + _COMPUTE_BITS, 0)
        self.subnet = ec2.PrivateSubnet(
            scope,
            "Compute",
            availability_zone=self._zone,
            cidr_block=self.compute_cidr,
            vpc_id=self._resource.ref,
        )
        self._finish(self.subnet)
        self._log_rejected_traffic()
        if internet_access:
            self._open_to_internet()

    @cached_property
    def vpc(self) -> ec2.IVpc:
        """The VPC as other constructs want it."""
        return ec2.Vpc.from_vpc_attributes(
            self._scope,
            "Network",
            vpc_id=self._resource.ref,
            availability_zones=[self._zone],
            vpc_cidr_block=str(self._block),
            isolated_subnet_ids=[self.subnet.subnet_id],
            isolated_subnet_route_table_ids=[self.subnet.route_table.route_table_id],
            isolated_subnet_ipv4_cidr_blocks=[self.compute_cidr],
        )

    def database_subnets(self) -> list[ec2.ISubnet]:
        """Two subnets in the region's first two zones, without a way out."""
        before_public = self._block.num_addresses - 2 ** (32 - self._public_prefix)
        size = 2 ** (32 - _SMALLEST_PREFIX)
        return [self._database_subnet(index, before_public - (2 - index) * size) for index in range(2)]

    def _database_subnet(self, index: int, start: int) -> ec2.ISubnet:
        name = f"Database{index + 1}"
        made = self._scope.node.try_find_child(name)
        if isinstance(made, ec2.PrivateSubnet):
            return made
        return ec2.PrivateSubnet(
            self._scope,
            name,
            availability_zone=Fn.select(index, Fn.get_azs()),
            cidr_block=self._subnet_cidr(_SMALLEST_PREFIX, start),
            vpc_id=self._resource.ref,
        )

    @property
    def _public_prefix(self) -> int:
        return min(self._block.prefixlen + _PUBLIC_BITS, _SMALLEST_PREFIX)

    def _subnet_cidr(self, prefix: int, start: int) -> str:
        """The block of that prefix length whose first address is the ``start``-th of the VPC's."""
        return f"{self._block[start]}/{prefix}"

    def _open_to_internet(self) -> None:
        public = ec2.PublicSubnet(
            self._scope,
            "Public",
            availability_zone=self._zone,
            cidr_block=self._subnet_cidr(self._public_prefix, -(2 ** (32 - self._public_prefix))),
            vpc_id=self._resource.ref,
        )
        self._finish(public)
        gateway = ec2.CfnInternetGateway(self._scope, "InternetGateway")
        attachment = ec2.CfnVPCGatewayAttachment(
            self._scope, "InternetAttachment", vpc_id=self._resource.ref, internet_gateway_id=gateway.ref
        )
        public.add_default_internet_route(gateway.ref, attachment)
        self.subnet.add_default_nat_route(public.add_nat_gateway().ref)

    def _log_rejected_traffic(self) -> None:
        """What is refused is rare and worth a look; logging what is accepted would cost a cluster a fortune."""
        log_group = logs.LogGroup(
            self._scope, "FlowLogs", retention=logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY
        )
        ec2.CfnFlowLog(
            self._scope,
            "FlowLog",
            resource_id=self._resource.ref,
            resource_type="VPC",
            traffic_type="REJECT",
            log_group_name=log_group.log_group_name,
            deliver_logs_permission_arn=permissions.make_flow_log_role(self._scope, log_group).role_arn,
        )

    def _finish(self, subnet: ec2.Subnet) -> None:
        Tags.of(subnet).add("Name", subnet.node.path)
        resource = subnet.node.default_child
        if self._zone_id is not None and isinstance(resource, ec2.CfnSubnet):
            resource.availability_zone = None
            resource.availability_zone_id = self._zone_id


@jsii.implements(IStableStringProducer)
class _ZoneOf:
    """The name of the zone that a VPC's subnet was put into by the zone's id: CloudFormation knows it."""

    def __init__(self, vpc: NewVpc) -> None:
        self._vpc = vpc

    def produce(self) -> str:
        resource = self._vpc.subnet.node.default_child
        assert isinstance(resource, ec2.CfnSubnet)  # noqa: S101 - a subnet's resource
        return resource.attr_availability_zone
