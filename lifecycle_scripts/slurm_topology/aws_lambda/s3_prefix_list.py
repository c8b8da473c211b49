"""``Custom::HyperPodSlurmS3PrefixList``: the id of the region's prefix list of S3, for a security group rule.

A gateway endpoint for S3 leaves the addresses as they are, so a security group has to let nodes out to S3's public
addresses, and nothing but AWS's own prefix list names those and no others. CloudFormation has no attribute for its id,
which differs by region. The list has the name of the endpoint's service (VPC user guide, "AWS-managed prefix lists").
"""

from __future__ import annotations

from slurm_topology.aws import describe_aws_prefix_lists
from slurm_topology.core.errors import InputError

from .cfn_request import Request
from .cfn_response import Answer
from .properties import S3PrefixListProperties
from .work import Work

__all__ = ["create_or_update"]


def create_or_update(request: Request, work: Work) -> Answer:
    """Ask EC2. Raises InputError when the region has no such list: no rule is better than an open one."""
    work.step("reading the resource's properties")
    name = S3PrefixListProperties.read(request.properties).service_name
    work.step(f"asking EC2 for the prefix list {name}")
    listed = describe_aws_prefix_lists(work.client("ec2"), name, work.patience)["PrefixLists"]
    ids = sorted({str(one["PrefixListId"]) for one in listed if one.get("PrefixListName") == name})
    if len(ids) != 1:
        raise InputError(
            f"expected one prefix list of AWS named {name} in this region, got {', '.join(ids) or 'none'}: "
            "give ClusterNetwork the right one (s3_prefix_list_id)"
        )
    work.log.info("prefix list found", name=name, prefix_list_id=ids[0])
    return Answer(succeeded=True, reason=f"{name} is {ids[0]}", data={"PrefixListId": ids[0]})
