"""current.json: where it is, what it says, and what is refused."""

from __future__ import annotations

import json

import pytest

from slurm_topology.core.errors import InputError
from slurm_topology.core.plan_pointer import PlanPointer, dump, pointer_key, read, split_uri

POINTER = PlanPointer("hyperpod-slurm/c8/0123/topology_plan.json", "ab" * 32)


def test_what_is_dumped_is_read() -> None:
    assert read(dump(POINTER)) == POINTER


@pytest.mark.parametrize("prefix", ["hyperpod-slurm/c8/0123", "/hyperpod-slurm/c8/4567/"])
def test_all_prefixes_of_a_cluster_have_one_pointer(prefix: str) -> None:
    assert pointer_key(prefix) == "hyperpod-slurm/c8/current.json"


def test_a_prefix_at_the_top_of_its_bucket() -> None:
    assert pointer_key("0123") == "current.json"


@pytest.mark.parametrize(
    "change", [{"Format": 2}, {"PlanKey": None}, {"PlanSha256": "ab"}, {"PlanSha256": None}, {"PlanSha256": "XY" * 32}]
)
def test_anything_else_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(InputError, match="expected Format 1, PlanKey and a PlanSha256 of 64 digits"):
        read(json.dumps({**json.loads(dump(POINTER)), **change}))


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_no_document_at_all_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"current\.json"):
        read(text)


def test_s3_uris() -> None:
    assert split_uri("s3://b/a/c.json") == ("b", "a/c.json")
    for wrong in ("s3://b", "s3://b/", "https://b/k", ""):
        with pytest.raises(InputError, match="expected s3://bucket/key"):
            split_uri(wrong)
