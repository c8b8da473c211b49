"""Host lists; tests/slurmctld/test_hostlists.py asks Slurm itself about the same rules."""

from __future__ import annotations

import contextlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurm_topology.core.errors import HostListError
from slurm_topology.core.hostlist import MAX_RANGE, expand, fold
from topology_strategies import PROPERTY, node_names

FOLDED = [
    ([], ""),
    (["n"], "n"),
    (["n1"], "n1"),
    (["n3", "n1", "n2"], "n[1-3]"),
    (["n1", "n3", "n4", "n7"], "n[1,3-4,7]"),
    (["n1", "n1", "n2"], "n[1-2]"),
    (["n9", "n10", "n11"], "n[9-11]"),
    (["n09", "n10", "n11"], "n[09-11]"),
    (["n08", "n8", "n9"], "n[8-9,08]"),
    (["n008", "n009", "n010", "n11"], "n[11,008-010]"),
    (["n100", "n099", "n98"], "n[98,099-100]"),
    (["n0", "n00", "n000"], "n[0,00,000]"),
    (["n99", "n100"], "n[99-100]"),
    (["01", "02", "1"], "[1,01-02]"),
    (["r1n1", "r1n2", "r2n1"], "r1n[1-2],r2n1"),
    (["ip-10-0-10-1", "ip-10-0-9-2", "ip-10-0-9-1", "ip-10-0-100-1"], "ip-10-0-9-[1-2],ip-10-0-10-1,ip-10-0-100-1"),
    (["n1-x", "n2-x"], "n1-x,n2-x"),
    (["n", "n1", "n2", "n-3", "N5", "m"], "N5,m,n,n[1-2],n-3"),
    (["b10x", "b9x", "b010x", "b1"], "b1,b010x,b9x,b10x"),
    (["n18446744073709551614", "n18446744073709551613"], "n[18446744073709551613-18446744073709551614]"),
    (["é1", "é2", "n²"], "n²,é[1-2]"),
]

EXPANDED = [
    ("", []),
    ("a,b,,c,", ["a", "b", "c"]),
    ("a b\tc\nd", ["a", "b", "c", "d"]),
    ("n[01-3]", ["n01", "n02", "n03"]),
    ("n[1-03]", ["n1", "n2", "n3"]),
    ("n[8-11,15]", ["n8", "n9", "n10", "n11", "n15"]),
    ("n[001,2,03]", ["n001", "n2", "n03"]),
    ("n[1,1]", ["n1", "n1"]),
    ("[1-2]", ["1", "2"]),
    ("n[1-2]x", ["n1x", "n2x"]),
    ("r[1-2]n[01-02]", ["r1n01", "r1n02", "r2n01", "r2n02"]),
    ("n5[1-2],m", ["n51", "n52", "m"]),
    ("n[00000000000000000000000001-2]", ["n00000000000000000000000001", "n00000000000000000000000002"]),
]

REFUSED = [
    ("n[3-1]", "3-1"),
    ("n[1-10:2]", "1-10:2"),
    ("n[a-c]", "a-c"),
    ("n[]", ""),
    ("n[1,,2]", ""),
    ("n[1-]", "1-"),
    ("n[-3]", "-3"),
    ("n[ 1-3]", " 1-3"),
    ("n[+1-3]", "+1-3"),
    ("n[1_0]", "1_0"),
    ("n[\u0661-\u0663]", "\u0661-\u0663"),
    ("n[1-5-7]", "1-5-7"),
    ("n[1-3", "["),
    ("n1]", "]"),
    ("n[1-2]]", "]"),
    ("n[[1-2]", "["),
    ("n[0-65536]", "0-65536"),
    ("block{b1}", "{"),
    ("n}", "}"),
    ("n18446744073709551615", "18446744073709551615"),
    ("n[18446744073709551614-18446744073709551615]", "18446744073709551615"),
    ("n1844674407370955161[4-5]", "18446744073709551615"),
]


@pytest.mark.parametrize(("names", "text"), FOLDED)
def test_names_are_folded_as_slurm_does(names: list[str], text: str) -> None:
    assert fold(names) == text
    assert sorted(expand(text)) == sorted(set(names))


@pytest.mark.parametrize(("text", "names"), EXPANDED)
def test_expressions_are_expanded_as_slurm_does(text: str, names: list[str]) -> None:
    assert expand(text) == names


@pytest.mark.parametrize(("text", "part"), REFUSED)
def test_what_slurm_refuses_or_changes_is_refused(text: str, part: str) -> None:
    with pytest.raises(HostListError) as caught:
        expand(text)
    assert caught.value.part == part


@pytest.mark.parametrize("name", ["", "a,b", "a b", "a[1]", "a{b}", "n18446744073709551615", "n" + "9" * 5000])
def test_names_that_no_host_list_holds_are_refused(name: str) -> None:
    with pytest.raises(HostListError) as caught:
        fold(["n1", name])
    assert caught.value.part in (name, name[1:])


def test_a_range_is_cut_where_slurm_stops_reading() -> None:
    """Slurm reads at most 65,536 names in a range, so a longer one becomes two."""
    names = [f"n{number}" for number in range(MAX_RANGE + 2)]
    text = fold(names)
    assert text == "n[0-65535,65536-65537]"
    assert expand(text) == names


@pytest.mark.parametrize("text", ["n[1-11]", "n[1-6],m[1-5]", "a,b,c,d,e,f,g,h,i,j,k", "n[1-6]x[1-2]", "n[1-11]x"])
def test_expansion_stops_at_the_limit(text: str) -> None:
    assert len(expand(text, limit=12)) <= 12
    with pytest.raises(HostListError, match="expected at most"):
        expand(text, limit=10)


@pytest.mark.parametrize(
    "text", ["n[0-65535]x[0-65535]", "n" * 300 + "[0-65535]", f"n[{'0' * 300}-65535]", f"n[{'9' * 5000}]"]
)
def test_short_expressions_cannot_ask_for_much_memory(text: str) -> None:
    with pytest.raises(HostListError):
        expand(text)


@PROPERTY
@given(node_names(max_size=80), st.randoms(use_true_random=False))
def test_fold_and_expand_are_inverse(names: list[str], rng: random.Random) -> None:
    """Any names, in any order: the same text, and all of them come back."""
    text = fold(names)
    rng.shuffle(names)
    assert fold(names) == text
    assert sorted(expand(text)) == sorted(names)
    assert fold(expand(text)) == text


@PROPERTY
@given(st.text(alphabet="n01239-,[]{} \t+x", max_size=30))
def test_expansion_never_crashes(text: str) -> None:
    """Any text is a list of names that can be folded again, or a HostListError."""
    with contextlib.suppress(HostListError):
        names = expand(text, limit=10_000)
        assert sorted(expand(fold(names))) == sorted(set(names))
