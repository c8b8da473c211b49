"""Names: legal for every Slurm version, stable, and never shared."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from slurm_topology.core.names import leaf_of_switch, legal_name, name_in_zone, unplaced, zone_root

LEGAL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def every_name(identifier: str) -> dict[tuple[str, str], str]:
    """All names that are made from one identifier."""
    return {
        ("id", identifier): legal_name(identifier),
        ("in zone", identifier): name_in_zone(identifier, "zone-a"),
        ("zone", identifier): zone_root(identifier),
        ("unplaced", identifier): unplaced(identifier),
        ("leaf", legal_name(identifier)): leaf_of_switch(legal_name(identifier)),
    }


@given(strategies.hostile_ids())
@settings(max_examples=200, deadline=None)
def test_every_name_is_legal(identifier: str) -> None:
    for name in every_name(identifier).values():
        assert LEGAL.fullmatch(name)
        assert int((re.search(r"[0-9]*\Z", name) or [""])[0] or "0") < 2**63
        assert name.lower() not in ("all", "default")


@given(st.lists(strategies.hostile_ids(), min_size=2, max_size=6, unique=True))
@settings(max_examples=200, deadline=None)
def test_no_two_things_share_a_name(identifiers: list[str]) -> None:
    names = {thing: name for identifier in identifiers for thing, name in every_name(identifier).items()}
    names |= {("zone", ""): zone_root(None), ("unplaced", ""): unplaced(None)}
    assert len(set(names.values())) == len(names)


def test_usual_ids_stay_as_they_are() -> None:
    assert legal_name("nn-1eaf000000000003") == "nn-1eaf000000000003"
    assert legal_name("us-000000abc000") == "us-000000abc000"
    assert legal_name("spine-1") == "spine-1"


def test_our_own_names_are_readable() -> None:
    assert (zone_root("usw2-az1"), zone_root(None)) == ("zone-usw2-az1", "zone")
    assert (unplaced("usw2-az1"), unplaced(None)) == ("unplaced-usw2-az1", "unplaced")
    assert leaf_of_switch("nn-2") == "leaf-of-nn-2"


def test_a_name_that_is_hashed_keeps_what_can_be_read() -> None:
    assert re.fullmatch(r"rack-7-switch-h[0-9a-f]{12}", legal_name("rack 7,switch"))
    assert re.fullmatch(r"nn-9+-h[0-9a-f]{12}", legal_name("nn-" + "9" * 80))
    assert re.fullmatch(r"h[0-9a-f]{12}", legal_name("é"))


def test_a_trailing_number_that_slurm_would_corrupt_is_hashed() -> None:
    """2^64 at a name's end comes back as another number (trials)."""
    assert legal_name(f"nn{2**64}") != f"nn{2**64}"
    assert legal_name("nn123456789012345678") == "nn123456789012345678"


def test_names_never_change_between_releases() -> None:
    """A changed hash would rename switches in every running cluster."""
    assert legal_name("a b") == "a-b-h5661c0af3067"
    assert name_in_zone("nn-1", "usw2-az1") == "nn-1-usw2-az1-hb4cfb86b741c"
    assert zone_root("a b") == "zone-a-b-hde8bb98274a0"
