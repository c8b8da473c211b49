"""The commands that the documentation names: they exist with these options, and are run, here or where it is said."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from slurm_topology.cli.main import COMMANDS, make_parser, run

ROOT = Path(__file__).parents[2]
EXAMPLE = "docs/example"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCED = re.compile(r"(<!-- run -->\n)?^```[a-z]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MENTION = re.compile(r"`slurm-topology ([^`]+)`")
LIVE = "needs the running Slurm of a controller: tests/view/test_live.py, tests/agent"

# Commands on pages that are not run there: why, and what runs them.
NOT_RUN = {
    "status": LIVE,
    "history": LIVE,
    "show": LIVE,
    "doctor": LIVE,
    "explain 42": LIVE,
    "render --resource-config F --slurm-version 25.11 --output-dir D": "run with real files in getting-started.md",
    "plan --template cdk.out/Training.template.json": "run in how-to/pull-request.md (README.md isn't a page)",
}
# Without Slurm, without files, away from the system's folders: command → exit code. Those with None touch the system,
# or are run with the example's files.
EACH = {
    "plan": None,
    "render": None,
    "check": None,
    "diff": None,
    "show": 3,
    "explain 42": 3,
    "simulate --group ml.p5.48xlarge:4 --jobs 3 --scheduler model": 0,
    "doctor": 1,
    "status": 0,
    "reconcile": 0,
    "notify": 0,
    "history": 0,
    "rollback 1": 2,
    "pause testing": 0,
    "resume": 0,
    f"rehearse {EXAMPLE}/topology.yaml": 2,
    "install": None,  # tests/agent/test_install_real.py
    "uninstall": None,  # tests/agent/test_uninstall.py
}


def in_blocks() -> Iterator[tuple[str, bool]]:
    """Each command in a block of code, and whether tests/docs/test_docs.py runs the block."""
    for page in PAGES:
        for marked, block in FENCED.findall(page.read_text()):
            for line in block.splitlines():
                found = re.match(r"(?:\$ )?slurm-topology ([a-z][^#]*)", line)
                if found:
                    yield found[1].strip(), bool(marked)


def mentioned() -> Iterator[tuple[str, str]]:
    """Each command in a sentence or a cell."""
    for page in PAGES:
        for words in MENTION.findall(page.read_text()):
            yield page.name, words


def options_of(command: str) -> set[str]:
    commands = next(each for each in make_parser(command)._actions if isinstance(each, argparse._SubParsersAction))
    return set(commands.choices[command]._option_string_actions)


def test_every_command_in_a_block_is_run_or_says_why_not() -> None:
    left_out = {command for command, is_run in in_blocks() if not is_run}
    assert left_out == set(NOT_RUN)


@pytest.mark.parametrize("words", sorted({command for command, _ in in_blocks()}))
def test_commands_in_blocks_are_complete(words: str) -> None:
    """All arguments are there, and none that the command doesn't know; argparse would leave."""
    argv = shlex.split(words)
    assert make_parser(argv[0]).parse_args(argv).command == argv[0]


def test_commands_in_sentences_exist_with_their_options() -> None:
    names = [(page, words.split()[0], words) for page, words in mentioned()]
    assert len(names) > 20
    assert [each for each in names if each[1] not in COMMANDS] == []
    for page, name, words in names:
        strange = set(re.findall(r"(?<![\w-])--[a-z-]+", words)) - options_of(name)
        assert strange == set(), f"{page}: slurm-topology {words}"


def test_each_command_is_tried() -> None:
    assert [words.split()[0] for words in EACH] == list(COMMANDS)


@pytest.mark.parametrize(("words", "code"), [(words, code) for words, code in EACH.items() if code is not None])
def test_each_command_works_without_slurm(
    words: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a machine that has nothing: an answer, or one line that says what to do; never a traceback."""
    settings = tmp_path / "agent.json"
    places = {"resource_config": "rc.json", "plan": "state/plan.json", "state_folder": "state", "run_folder": "run"}
    chosen = {name: str(tmp_path / place) for name, place in places.items()}
    settings.write_text(json.dumps({**chosen, "metrics_textfile": None, "ask_aws": False}))
    monkeypatch.setattr("slurm_topology.agent.shell.SEARCH_PATH", "/nowhere")
    monkeypatch.chdir(ROOT)
    assert run([*words.split(), "--settings", str(settings)]) == code
    printed = capsys.readouterr()
    assert "None" not in printed.out
    if code > 1:
        assert printed.out == ""
        assert re.fullmatch(r"slurm-topology: [^\n]+\n", printed.err)


def test_the_doctor_says_what_to_do_and_never_in_vain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a slurm.conf, being root changes nothing."""
    settings = tmp_path / "agent.json"
    settings.write_text(json.dumps({"state_folder": str(tmp_path), "run_folder": str(tmp_path / "run")}))
    monkeypatch.setattr("slurm_topology.agent.shell.SEARCH_PATH", "/nowhere")
    run(["doctor", "--json", "--settings", str(settings)])
    checks = {check["id"]: check for check in json.loads(capsys.readouterr().out)}
    assert checks["DOC010"]["remedy"] == checks["DOC002"]["remedy"] != ""
