"""Does the real slurmctld start with this topology file? One throw-away slurmctld a case, about 0.05 s.

A ``Judge`` keeps one box for as many cases as wanted; ``judge()`` keeps one judge a version until the process ends.
"""

from __future__ import annotations

import atexit
import functools
import json
import re
import selectors
import signal
import subprocess
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from .box import Box, BoxError
from .roots import Root, find_root
from .slurm_conf import ALL, CGROUP_CONF, CONF_FOLDER, Level, Node, Partition, slurm_conf, topology_plugin

__all__ = ["Judge", "Verdict", "judge"]

BENCH = Path(__file__).with_name("bench.py")
REASON = re.compile(
    r"\bfatal:|\berror: (?:Invalid (?:node|partition) topology|.*opolog)|Failed to load topology", re.IGNORECASE
)
NOTE = re.compile(
    r"lack access|Invalid hostnames|Multiple leaf|no switch can reach|No switches configured|No blocks configured|"
    r"Ignoring|do not contain|more than once|warning",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Verdict:
    """What slurmctld did with a topology file."""

    accepted: bool  # it said "Running as primary controller" and lived
    reasons: tuple[str, ...] = ()  # why not, in its words; never empty when not accepted
    notes: tuple[str, ...] = ()  # warnings about the topology, in its words
    topology_shown: str = ""  # `scontrol show topology`, when asked for and accepted
    log: str = ""  # all that it said, without time stamps


class Judge:
    """Judges cases one after the other in a box of its own. Use as a context manager, or ``start`` and ``stop``."""

    def __init__(self, root: Root) -> None:
        self.root = root
        self._box = Box(root)
        self._bench: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Raises NotRunnable where a box can't be."""
        self._box.start()
        self._box.run(
            "sh",
            "-c",
            f"mkdir /var/log/slurm /run/slurmctld; rm -rf /etc/slurm; ln -s {CONF_FOLDER} /etc/slurm",
            check=True,
        )
        self._box.write_text("/run/bench.py", BENCH.read_text())
        bench = ("python3", "-I", "/run/bench.py")
        self._bench = self._box.popen(*bench, stdin=subprocess.PIPE, stderr=subprocess.STDOUT)

    def stop(self) -> None:
        if self._bench is not None:
            self._bench.kill()
            self._bench.communicate()
            self._bench = None
        self._box.stop()

    def __enter__(self) -> Judge:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def judge(
        self,
        text: str,
        file_name: str,
        nodes: Sequence[str],
        partitions: Iterable[Partition] = ALL,
        *,
        plugin: str | None = None,
        conf: str = "",
        show: bool = False,
        timeout: float = 60,
    ) -> Verdict:
        """Start slurmctld with this file.

        ``file_name`` is topology.conf or topology.yaml; ``nodes`` are the NodeNames of slurm.conf; ``plugin`` is found
        from the text when not given; ``conf`` are more lines of slurm.conf; ``show`` reads the topology back.
        Raises BoxError when slurmctld neither starts nor ends in time.
        """
        wanted_plugin = plugin or topology_plugin(text, file_name)
        configuration = slurm_conf(
            _listed(nodes), partitions, level=Level.CONTROLLER, plugin=wanted_plugin, extra=f"SlurmUser=root\n{conf}"
        )
        files = {"slurm.conf": configuration, "cgroup.conf": CGROUP_CONF, file_name: text}
        commands = [["scontrol", "show", "topology"]] if show else []
        answer = self._ask({"files": files, "commands": commands, "seconds": timeout}, timeout + 10)
        return _verdict(answer)

    def _ask(self, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        if self._bench is None or self._bench.stdin is None or self._bench.stdout is None:
            raise BoxError("the judge isn't running: start it first")
        with self._lock:
            self._bench.stdin.write(json.dumps(request) + "\n")
            self._bench.stdin.flush()
            with selectors.DefaultSelector() as selector:
                selector.register(self._bench.stdout, selectors.EVENT_READ)
                if not selector.select(timeout):
                    raise BoxError(f"the judge said nothing for {timeout} s")
            line = self._bench.stdout.readline()
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError:
            raise BoxError(f"the judge broke down: {line}{self._bench.stdout.read()}") from None
        return answer


def _listed(names: Sequence[str]) -> tuple[Node, ...]:
    """Nodes with addresses that nobody ever calls."""
    return tuple(Node(name, f"10.{2 + i // 65536}.{i // 256 % 256}.{i % 256}") for i, name in enumerate(names))


def _verdict(answer: dict[str, Any]) -> Verdict:
    log = answer["log"] + answer["errors"]
    # slurmctld in the foreground says everything twice: to its log and, marked differently, to standard error
    lines = list(dict.fromkeys(re.sub(r"^\[[^\]]*\]\s*|^slurmctld: ", "", line) for line in log.splitlines()))
    said = "\n".join(lines)
    notes = tuple(line for line in lines if NOTE.search(line))
    if answer["started"]:
        return Verdict(True, (), notes, "".join(answer["outputs"]), said)
    reasons = [line for line in lines if REASON.search(line)]
    return Verdict(False, (*reasons, *_how_it_ended(answer["returncode"], bool(reasons))), notes, "", said)


def _how_it_ended(returncode: int | None, explained: bool) -> tuple[str, ...]:
    if returncode is None:
        raise BoxError("slurmctld neither started nor ended in time")
    if returncode < 0:
        return (f"slurmctld crashed with {signal.Signals(-returncode).name}",)
    return () if explained else (f"slurmctld ended with status {returncode} and gave no reason",)


@functools.cache
def _kept_judge(version: str) -> Judge:
    kept = Judge(find_root(version))
    kept.start()
    atexit.register(kept.stop)
    return kept


def judge(
    version: str,
    text: str,
    file_name: str,
    nodes: Sequence[str],
    partitions: Iterable[Partition] = ALL,
    *,
    plugin: str | None = None,
    conf: str = "",
    show: bool = False,
) -> Verdict:
    """``Judge.judge`` by a judge that is kept until the process ends. Raises NotRunnable when the root isn't there."""
    return _kept_judge(version).judge(text, file_name, nodes, partitions, plugin=plugin, conf=conf, show=show)
