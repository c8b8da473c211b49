"""The nodes' security group: all traffic to itself, and no more than what a network asks for.

Every rule to the outside is a resource of its own, never part of the group. An update that closes, opens or changes
one then never cuts a running cluster off: CloudFormation makes new resources first and deletes old ones last. Of a rule
inside of the group it "removes the existing rule and then adds a new rule", and traffic is dropped in between
(CloudFormation template reference, AWS::EC2::SecurityGroup).
"""

from __future__ import annotations

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

__all__ = ["allow_http_anywhere", "allow_https_anywhere", "allow_s3", "make_security_group"]

_HTTP, _HTTPS = 80, 443


def make_security_group(scope: Construct, vpc: ec2.IVpc) -> ec2.SecurityGroup:
    """A group whose members reach each other, and nobody else."""
    group = ec2.SecurityGroup(
        scope,
        "SecurityGroup",
        vpc=vpc,
        description="Nodes of a HyperPod Slurm cluster: all traffic among themselves, as EFA needs",
        allow_all_outbound=False,  # EFA health checks can fail beside an open egress rule (HyperPod's prerequisites)
    )
    # "If you do not add egress rules, we add egress rules that allow all outbound IPv4 and IPv6 traffic" (as above), to
    # a group that has none of its own: so it has one, to nowhere.
    group.add_egress_rule(ec2.Peer.ipv4("127.0.0.1/32"), ec2.Port.all_traffic(), "Nothing beyond the rules below")
    group.add_ingress_rule(group, ec2.Port.all_traffic(), "EFA and Slurm between nodes")
    group.add_egress_rule(group, ec2.Port.all_traffic(), "EFA and Slurm between nodes")
    return group


def allow_s3(group: ec2.SecurityGroup, prefix_list_id: str) -> None:
    """HTTPS to S3's addresses. One logical id, whoever found the list's: EC2 refuses a rule that is there already."""
    _allow(group, "ToS3", _HTTPS, "S3, by way of the gateway endpoint", prefix_list_id=prefix_list_id)


def allow_https_anywhere(group: ec2.SecurityGroup) -> None:
    """HTTPS to wherever the subnet has a route."""
    _allow(group, "HttpsToAnywhere", _HTTPS, "S3, the APIs of AWS, the internet where there is a way to it")


def allow_http_anywhere(group: ec2.SecurityGroup) -> None:
    """HTTP to the internet."""
    _allow(group, "HttpToAnywhere", _HTTP, "Internet, for package mirrors")


def _allow(group: ec2.SecurityGroup, id: str, port: int, description: str, prefix_list_id: str | None = None) -> None:  # noqa: A002
    ec2.CfnSecurityGroupEgress(
        group,
        id,
        group_id=group.security_group_id,
        ip_protocol="tcp",
        from_port=port,
        to_port=port,
        description=description,
        destination_prefix_list_id=prefix_list_id,
        cidr_ip=None if prefix_list_id else "0.0.0.0/0",
    )
