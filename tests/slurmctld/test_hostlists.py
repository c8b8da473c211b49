"""Host lists against Slurm's own: `scontrol show hostlistsorted` and `hostnames`."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from slurm_lab.box import Box
from slurm_lab.roots import Root
from slurm_lab.slurm_conf import Level, Node, slurm_conf
from slurm_topology.core.errors import HostListError
from slurm_topology.core.hostlist import expand, fold

pytestmark = pytest.mark.slurm


def random_names(rng: random.Random) -> list[str]:
    """Up to 25 names of ASCII that share prefixes and differ in numbers and widths; no two alike."""
    stems = ["n", "N", "ip-10-0-1-", "ip-10-0-12-", "ip-10-01-2-", "rack9-", "rack10-", "rack010-", "", "a.b_", "n2x"]
    few = rng.sample(stems, 3)
    names = {f"{rng.choice(few)}{rng.randrange(120):0{rng.randint(1, 3)}d}" for _ in range(rng.randint(1, 25))}
    return sorted(names | set(rng.sample(["n", "n-x", "9x"], rng.randint(0, 2))), key=lambda _: rng.random())


@pytest.fixture(scope="module")
def slurm(slurm_root: Root) -> Iterator[Box]:
    """A box in which scontrol has a slurm.conf; folding needs no slurmctld."""
    with Box(slurm_root) as box:
        nobody = (Node("nobody", "127.0.0.1"),)
        box.write_text("/etc/slurm/slurm.conf", slurm_conf(nobody, level=Level.CONTROLLER))
        yield box


def asked(slurm: Box, command: str, arguments: list[str]) -> list[str]:
    """Slurm's answers, a line each; scontrol's lines of one answer are joined by commas."""
    script = f'while read -r each; do scontrol show {command} "$each" 2>&1 | paste -sd, -; done'
    return slurm.run("sh", "-c", script, input="\n".join(arguments) + "\n", check=True).stdout.splitlines()


def test_names_are_folded_as_slurm_sorts_and_folds_them(slurm: Box) -> None:
    rng = random.Random(11)  # noqa: S311 (a test wants the same names each time)
    lists = [random_names(rng) for _ in range(60)]
    assert [fold(names) for names in lists] == asked(slurm, "hostlistsorted", [",".join(names) for names in lists])


def test_expressions_are_expanded_as_slurm_does(slurm: Box) -> None:
    """The order of names with more than two brackets is Slurm's own, so names are compared in order of the alphabet."""
    rng = random.Random(12)  # noqa: S311 (a test wants the same names each time)
    expressions = [fold(random_names(rng)) for _ in range(20)]
    expressions += ["n[08-11,3]", "r[1-2]n[01-02]", "a[1-2]b[3-4]c[5-6]", "n5[1-2]3", "x,,y,", "[1-3]", "n[1,1]"]
    answers = asked(slurm, "hostnames", expressions)
    assert [sorted(expand(each)) for each in expressions] == [sorted(answer.split(",")) for answer in answers]


def test_what_slurm_refuses_is_refused(slurm: Box) -> None:
    expressions = [
        "n[3-1]",
        "n[1-9:2]",
        "n[a-c]",
        "n[]",
        "n[1,,2]",
        "n[-3]",
        "n[1-5-7]",
        "n[1-3",
        "n[0-65536]",
        "n[1_0]",
    ]
    for expression, answer in zip(expressions, asked(slurm, "hostnames", expressions), strict=True):
        assert "Invalid hostlist" in answer
        with pytest.raises(HostListError):
            expand(expression)


PIECES = (
    *("n", "n1", "n01", "a.b", "-", "[", "]", "[", "]", ",", ",", "0", "1", "09", "99", "x", "_", ".", " ", "ip-10-0-"),
    *("[1-3]", "[01-03]", "[1,3]", "[08-11]", "[1-1]", "[2-1]", "[1-", "[99-101]", "[099-101]", "[0-70000]", "[a-c]"),
    *("(", "+", "=", "18446744073709551615", "18446744073709551616"),
)


def test_random_expressions_never_mean_something_else_to_slurm(slurm: Box) -> None:
    """We may refuse more; what we take, Slurm takes, and for the same names."""
    rng = random.Random(13)  # noqa: S311 (a test wants the same expressions each time)
    drawn = ("".join(rng.choices(PIECES, k=rng.randint(1, 6))).strip() for _ in range(120))
    expressions = [each for each in drawn if each and not each.startswith("-")]  # that would be an option
    taken = {each: names for each in expressions if (names := _expanded(each)) is not None}
    assert len(taken) > 30
    answers = asked(slurm, "hostnames", list(taken))
    assert {each: sorted(answer.split(",")) for each, answer in zip(taken, answers, strict=True)} == taken


def _expanded(expression: str) -> list[str] | None:
    """The names, sorted; None when there are none or it is refused."""
    try:
        return sorted(expand(expression)) or None
    except HostListError:
        return None
