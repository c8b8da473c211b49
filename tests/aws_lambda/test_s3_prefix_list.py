"""The region's prefix list of S3: found by the name of the endpoint's service, among many others."""

from __future__ import annotations

from typing import Any

import pytest

from aws_lambda.lab import Lab
from aws_lambda.service_fake import Refusal

NAME = "com.amazonaws.us-west-2.s3"
CHINA = "com.amazonaws.cn-north-1.s3"


def prefix_list(number: int, name: str, owner: str = "AWS") -> dict[str, Any]:
    return {"PrefixListId": f"pl-{number:08x}", "PrefixListName": name, "OwnerId": owner}


LISTS = [
    prefix_list(1, "com.amazonaws.us-west-2.dynamodb"),
    prefix_list(2, "com.amazonaws.us-west-2.s3express"),
    prefix_list(3, "com.amazonaws.us-west-2.ipv6.s3"),
    prefix_list(4, NAME, owner="123456789012"),
    prefix_list(5, NAME),
    prefix_list(6, CHINA),
]


@pytest.mark.parametrize(("name", "expected"), [(NAME, "pl-00000005"), (CHINA, "pl-00000006")])
@pytest.mark.parametrize("kind", ["Create", "Update"])
def test_the_one_of_that_name_that_is_awss(kind: str, name: str, expected: str) -> None:
    """Not S3 Express's, not the one of IPv6, not a customer's of the same name."""
    answer = Lab(prefix_lists=LISTS).s3_prefix_list(kind, ServiceName=name)
    assert (answer["Status"], answer["Data"]) == ("SUCCESS", {"PrefixListId": expected})


@pytest.mark.parametrize(
    ("lists", "got"),
    [(LISTS[:4], "got none"), ([*LISTS, prefix_list(7, NAME)], "got pl-00000005, pl-00000007")],
    ids=["none", "two"],
)
def test_no_rule_rather_than_a_wrong_one(lists: list[dict[str, Any]], got: str) -> None:
    answer = Lab(prefix_lists=lists).s3_prefix_list()
    assert answer["Status"] == "FAILED"
    assert answer["Reason"].startswith(f"While asking EC2 for the prefix list {NAME}: expected one prefix list of AWS")
    assert f"{got}: give ClusterNetwork the right one (s3_prefix_list_id). " in answer["Reason"]


def test_without_a_name_nothing_is_asked() -> None:
    lab = Lab(prefix_lists=LISTS)
    answer = lab.s3_prefix_list(ServiceName="")
    assert "ServiceName: got '', expected a text" in answer["Reason"]
    assert lab.ec2.calls == []


def test_a_denial_names_the_action() -> None:
    lab = Lab(prefix_lists=LISTS)

    def denied(**_: object) -> dict[str, Any]:
        raise Refusal("UnauthorizedOperation", "You are not authorized to perform this operation.", 403)

    lab.ec2.handlers["DescribeManagedPrefixLists"] = denied
    answer = lab.s3_prefix_list()
    assert answer["Status"] == "FAILED"
    assert "Allow ec2:DescribeManagedPrefixLists to the role that called." in answer["Reason"]
    assert lab.ec2.count("DescribeManagedPrefixLists") == 7, "a policy that is as new as the resource takes seconds"
