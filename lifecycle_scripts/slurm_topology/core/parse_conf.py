"""topology.conf → topology, read as slurmctld reads it (src/common/parse_config.c; tried on 24.11.5 and 26.05.5).

* ``#`` starts a comment, ``\\#`` doesn't; a line that ends in ``\\`` goes on in the next; any other ``\\`` is dropped
* a line is ``Key=Value Key=Value …``: keys in any case, blanks around ``=`` allowed; ``+= -= *= /=`` mean ``=`` here
* ``"…"`` holds blanks, but only as a whole value; any other value runs to the next blank, quotes included
* the first key is SwitchName (then Nodes, Switches, LinkSpeed), BlockName (then Nodes) or BlockSizes (alone)
* the last of several equal keys wins, silently but for a line in the log
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from . import check_rules as rules
from .check_rules import Report, unit_subject
from .errors import HostListError
from .hostlist import Expander
from .model import Block, Blocks, ClusterTopology, NamedTopology, Switch, Tree
from .parsed import Parsed

__all__ = ["parse"]

_FILE = "topology.conf"
_BLANK = " \t\n\v\f\r"  # C's isspace
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)#.*", re.DOTALL)
_PAIR = re.compile(
    r"""[ \t\n\v\f\r]* ([A-Za-z0-9_.]+) [ \t\n\v\f\r]* [-*+/]?= [ \t\n\v\f\r]*
        (?: "([^"]*)" | ([^ \t\n\v\f\r]+) ) (?= [ \t\n\v\f\r] | \Z )""",
    re.VERBOSE,
)
_INCLUDE = re.compile(r"[ \t\n\v\f\r]*include[ \t\n\v\f\r]+(\S+)", re.IGNORECASE)
_LINK_SPEED = re.compile(r"(0x[0-9a-f]{1,8}|[0-9]{1,20})[km]?|infinite|unlimited", re.IGNORECASE)
_ATOI = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-9]{1,20})")

# first key of a line → what it defines, and the other keys that its line may have
_UNITS = {"switchname": "switch", "blockname": "block", "blocksizes": "BlockSizes"}
_OPTIONS = {"switchname": ("nodes", "switches", "linkspeed"), "blockname": ("nodes",), "blocksizes": ()}


class _Line(NamedTuple):
    """One definition: its first physical line, its first key in lower case, that key's value, the keys after it."""

    number: int
    key: str
    value: str
    options: Mapping[str, str]

    @property
    def subject(self) -> str:
        return unit_subject(_UNITS[self.key], self.value, "")


def parse(text: str) -> Parsed:
    """Read a topology.conf: ours, HyperPod's, or one that a person wrote.

    The topology has one entry, named "" (topology.conf doesn't name it, and Slurm ≥ 25.05 calls it "default"), or
    none when nothing is defined. The findings are all that makes slurmctld refuse the text or misread it.
    """
    report = Report()
    numbered = _logical_lines(_without_bad_bytes(text, report))
    definitions = [line for number, raw in numbered for line in _read_line(number, raw, report)]
    if not any(line.key != "blocksizes" for line in definitions):
        report.add(rules.NOTHING_DEFINED, _FILE, "no line defines a switch or a block")
        return Parsed(ClusterTopology(), report.findings)
    switches = [line for line in definitions if line.key == "switchname"]
    others = [line for line in definitions if line.key != "switchname"]
    if switches and others:
        report.add(rules.MIXED_KINDS, _place(others[0].number), "the file has lines of a tree and lines of blocks")
    expand = Expander()
    if switches:
        body: Tree | Blocks = Tree(tuple(_switch(line, expand, report) for line in switches))
    else:
        body = _blocks(others, expand, report)
    topology = ClusterTopology((NamedTopology("", body, cluster_default=True),))
    return Parsed(topology, report.findings, {line.subject: line.number for line in reversed(definitions)})


def _place(number: int) -> str:
    return f"{_FILE} line {number}"


# ---- text → definitions


def _without_bad_bytes(text: str, report: Report) -> str:
    """The text without what slurmctld stumbles over: a byte order mark is fatal, NUL hides the rest of its line."""
    if text.startswith("\ufeff"):
        report.add(rules.BAD_BYTES, _place(1), "begins with a byte order mark, which slurmctld takes for a key")
        text = text[1:]
    if "\0" in text:
        number = text[: text.index("\0")].count("\n") + 1
        report.add(rules.BAD_BYTES, _place(number), "has a NUL, and slurmctld reads the line only up to there")
        text = re.sub(r"\0[^\n]*", "", text)
    return text


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with comments and continuations resolved, blank ones left out; the number is that of the first line."""
    whole, first = "", 0
    for number, raw in enumerate([*text.split("\n"), ""], 1):
        line = (_COMMENT.sub(r"\1", raw) if "#" in raw else raw).rstrip(_BLANK)
        first = first or number
        if (len(line) - len(line.rstrip("\\"))) % 2:
            whole += line[:-1]
            continue
        whole += line
        if whole.strip(_BLANK):
            yield first, re.sub(r"\\(.)", r"\1", whole) if "\\" in whole else whole
        whole, first = "", 0


def _read_line(number: int, line: str, report: Report) -> Iterator[_Line]:
    """The line's definition; nothing when it has none that slurmctld could read."""
    include = _INCLUDE.match(line)
    if include:
        report.add(rules.INCLUDE, _place(number), f"includes {include[1]}, which can't be checked from here")
        return
    pairs, rest = _pairs(line)
    if rest:
        report.add(rules.SYNTAX, _place(number), f"expected Key=Value, got {rest[:60]!r}")
    if not pairs:
        return
    (key, value), *options = pairs
    if key not in _OPTIONS:
        report.add(rules.UNKNOWN_KEYWORD, _place(number), f"{key!r} begins the line, slurmctld refuses it")
        return
    for option, count in Counter(option for option, _ in options).items():
        if option not in _OPTIONS[key]:
            report.add(rules.UNKNOWN_KEYWORD, _place(number), f"{option!r} follows {key!r}, slurmctld refuses it")
        elif count > 1:
            report.add(rules.REPEATED_KEY, _place(number), f"{option!r} is given {count} times, the last one wins")
    yield _Line(number, key, value, dict(options))


def _pairs(line: str) -> tuple[list[tuple[str, str]], str]:
    """(keys in lower case with values, what could not be read)."""
    pairs = []
    position = 0
    while match := _PAIR.match(line, position):
        pairs.append((match[1].lower(), match[3] if match[2] is None else match[2]))
        position = match.end()
    return pairs, line[position:].strip(_BLANK)


# ---- definitions → topology


def _switch(line: _Line, expand: Expander, report: Report) -> Switch:
    options = line.options
    if "nodes" in options and "switches" in options:
        report.add(rules.NODES_AND_CHILDREN, line.subject, "has both Nodes and Switches", line.number)
    children = _names(line, "switches", expand, report)
    if "switches" in options and not options["switches"].strip(_BLANK + ","):
        report.add(rules.BAD_HOST_LIST, line.subject, "Switches names none, slurmctld crashes on it", line.number)
    speed = _LINK_SPEED.fullmatch(options.get("linkspeed", "1"))
    if speed is None or (speed[1] and int(speed[1], 16 if speed[1][:2].lower() == "0x" else 10) >= 2**32):
        message = f"LinkSpeed={options['linkspeed']} is no number below 2^32"
        report.add(rules.BAD_VALUE, line.subject, message, line.number)
    return Switch(line.value, children, _names(line, "nodes", expand, report))


def _names(line: _Line, key: str, expand: Expander, report: Report) -> tuple[str, ...]:
    try:
        return expand(line.options.get(key, ""))
    except HostListError as error:
        report.add(rules.BAD_HOST_LIST, line.subject, str(error), line.number)
        return ()


def _blocks(lines: list[_Line], expand: Expander, report: Report) -> Blocks:
    given = [line for line in lines if line.key == "blocksizes"]
    if len(given) > 1:
        message = f"BlockSizes is given {len(given)} times, the last one wins"
        report.add(rules.REPEATED_KEY, _place(given[-1].number), message)
    blocks = tuple(
        Block(line.value, _names(line, "nodes", expand, report)) for line in lines if line.key == "blockname"
    )
    return Blocks(_sizes(given[-1], report) if given else (), blocks)


def _sizes(line: _Line, report: Report) -> tuple[int, ...]:
    """As slurmctld reads them: atoi of each part between commas, so that "4-16" is 4."""
    sizes = []
    for part in filter(None, line.value.split(",")):
        match = _ATOI.match(part)
        size = int(match[1]) if match else 0
        sizes.append(size)
        if match is None or match.end() != len(part):
            report.add(rules.BAD_VALUE, _place(line.number), f"BlockSizes has {part[:60]!r}, slurmctld reads {size}")
    return tuple(sizes)
