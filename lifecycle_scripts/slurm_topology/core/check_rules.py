"""The rules that a topology file is held to: one id, one severity, one meaning each.

``docs/findings.md`` explains every id with cause and remedy; a test compares the two. Where slurmctld takes a file
without a word and the rule is an error nevertheless, docs/findings.md says "stricter on purpose" and why.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from .errors import HostListError
from .hostlist import fold
from .model import Finding, Severity

__all__ = ["RULES", "Report", "Rule", "said", "shorten", "unit_subject"]

_SHOWN = 200  # characters of a host list in a message


class Rule(NamedTuple):
    """One rule of the checker."""

    id: str
    severity: Severity
    remedy: str


class Report:
    """Collects findings in the order in which they are met."""

    def __init__(self) -> None:
        self._findings: list[Finding] = []

    def add(self, rule: Rule, subject: str, message: str, line: int = 0) -> None:
        """``subject``: the switch, block, node, line or file; ``message``: what was got and what was expected.

        The finding's message begins with the subject, so that it can be shown alone. ``line`` 0 is unknown.
        """
        self._findings.append(Finding(rule.id, rule.severity, subject, said(subject, message, line), rule.remedy))

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(self._findings)


def _error(number: int, remedy: str) -> Rule:
    return Rule(f"TOPO{number:03d}", Severity.ERROR, remedy)


def _warning(number: int, remedy: str) -> Rule:
    return Rule(f"TOPO{number:03d}", Severity.WARNING, remedy)


def _info(number: int, remedy: str) -> Rule:
    return Rule(f"TOPO{number:03d}", Severity.INFO, remedy)


# ---- the text

BAD_BYTES = _error(1, "save the file as plain UTF-8 text, without byte order mark and NUL")
SYNTAX = _error(2, "correct the line")
UNKNOWN_KEYWORD = _error(3, "use only SwitchName, Nodes, Switches, LinkSpeed, or BlockName, Nodes, BlockSizes")
IGNORED_KEY = _warning(4, "correct the key's spelling, or remove it")
REPEATED_KEY = _error(5, "keep one of them")
BAD_VALUE = _error(6, "write the value as expected")
INCLUDE = _error(7, "put the included lines into the file itself")
BAD_HOST_LIST = _error(8, "write a host list such as ip-10-0-0-[1-16],ip-10-0-1-7")
NOTHING_DEFINED = _error(9, "define a tree, blocks or flat, or remove the file and set the flat plugin")
WRONG_SHAPE = _error(10, "write it as man topology.yaml shows it")
MIXED_KINDS = _error(11, "keep one kind of topology")
MORE_DOCUMENTS = _error(12, "put all topologies into the list of one document")
ALIAS = _error(13, "write the value out in each place")
OTHER_KIND = _error(14, "use tree, block or flat")
PAGE_SIZED = _error(15, "add or remove one character, for example a comment")
NOT_READ = _error(16, "write topology.conf for this version")
NOT_EXPRESSIBLE = _error(17, "give the cluster one tree, or one set of blocks")
TAG = _error(18, "take the tag away: values are text")

# ---- names

BAD_NAME = _error(20, "use letters, digits, dots, dashes and underscores")
LONG_NAME = _error(21, "shorten the name to 64 characters")
LARGE_NUMBER = _error(22, "end the name in a smaller number, or in a letter")
DEFINED_TWICE = _error(23, "keep one definition")
TOPOLOGY_TWICE = _error(24, "give each topology a name of its own")

# ---- which topology is for whom

UNDEFINED_TOPOLOGY = _error(30, "define the topology, or take Topology= off the partition's line")
TWO_DEFAULTS = _error(31, "set cluster_default on one topology only")
NO_DEFAULT = _warning(32, "set cluster_default on the topology that is meant")

# ---- trees

UNDEFINED_CHILD = _error(40, "define the switch, or take it out of the list of children")
LOOP = _error(41, "break the loop: a switch can't be above itself")
NODES_AND_CHILDREN = _error(42, "put the nodes under a leaf switch of their own")
EMPTY_SWITCH_FATAL = _error(43, "remove the switch, here and from its parent's children")
EMPTY_SWITCH = _info(44, "remove the switch, here and from its parent's children")
TWO_PARENTS = _error(45, "name the switch once, as a child of one parent")
TWO_LEAVES = _error(46, "put each node under one leaf switch")
SEVERAL_ROOTS = _warning(47, "put a switch above those whose nodes are in one Availability Zone; EFA can't cross zones")
MANY_SWITCHES = _warning(48, "merge switches, or leave out a level")

# ---- blocks

BAD_BLOCK_SIZES = _error(50, "use base, base·2, base·4, …, with a base of 1 to 65535 nodes")
SHORT_BLOCK = _error(51, "lower the base size, leave the block out, or pad it with nodes of State=FUTURE")
EMPTY_BLOCK = _error(52, "remove the block")
TWO_BLOCKS = _error(53, "put each node into one block")
NO_BLOCK_SIZES = _warning(54, "set the base size to the nodes of one UltraServer less its spares")
NO_BLOCK_NODES = _error(55, "correct the names of the nodes, or set the block sizes")
SMALL_BASE = _info(56, "if the blocks are one UltraServer each, raise the base size to an UltraServer less its spares")
POWERED_DOWN = _info(57, "reconfigure after nodes were powered up, or update Slurm to 25.11.3 or later")
JOBS_REFUSED = _warning(58, "use the one block size that the message names, or a smaller one")

# ---- nodes

UNKNOWN_NODES = _warning(60, "correct the names, or reconfigure once Slurm has the nodes")
UNPLACED_NODES = _error(61, "put them into a leaf switch or a block")
LISTED_TWICE = _warning(62, "name the node once")


def _all_rules() -> dict[str, Rule]:
    rules = [value for value in globals().values() if isinstance(value, Rule)]
    return {rule.id: rule for rule in rules}


RULES = _all_rules()


def said(subject: str, message: str, line: int = 0) -> str:
    """A finding's message: ``switch leaf1 (line 12): has neither nodes nor child switches``."""
    return f"{subject} (line {line}): {message}" if line else f"{subject}: {message}"


def unit_subject(kind: str, name: str, topology: str) -> str:
    """What a finding is about: ``switch leaf1``, or ``gpu: block b1`` in a file with named topologies."""
    return f"{topology}: {kind} {name}" if topology else f"{kind} {name}"


def shorten(names: Collection[str]) -> str:
    """Names for a message: how many, and their host list, cut when it is long."""
    try:
        folded = fold(names)
    except HostListError:
        folded = ",".join(sorted(names))
    shown = folded if len(folded) <= _SHOWN else folded[:_SHOWN].rpartition(",")[0] + ", …"
    return f"{len(names)} node{'' if len(names) == 1 else 's'} ({shown})"
