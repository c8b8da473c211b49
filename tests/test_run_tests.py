"""`make test` runs each file's tests once, whatever group they are in."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def run_tests() -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_tests", ROOT / "scripts" / "run_tests.py")
    assert spec is not None and spec.loader is not None  # noqa: PT018
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_file_is_in_exactly_one_group(run_tests: ModuleType) -> None:
    files = {path.relative_to(ROOT) for path in (ROOT / "tests").rglob("test_*.py")}
    times: Counter[Path] = Counter()
    for _, command in run_tests.commands([]):
        paths = [Path(word) for word in command if word.startswith("tests")]
        left_out = [Path(word.partition("=")[2]) for word in command if word.startswith("--ignore=")]
        assert all((ROOT / path).exists() for path in paths), "a group names what isn't there"
        times.update(
            file
            for file in files
            if any(file.is_relative_to(path) for path in paths)
            and not any(file.is_relative_to(path) for path in left_out)
        )
    assert set(times) == files
    assert set(times.values()) == {1}


def test_a_group_that_fails_fails_the_run(
    run_tests: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And one in which nothing was chosen doesn't."""
    monkeypatch.setattr(run_tests, "GROUPS", {"docs": ("tests/test_run_tests.py",)})
    assert run_tests.main(["-k", "no_such_test"]) == 0
    assert run_tests.main(["--no-such-option"]) == 1
    assert "docs | " in capsys.readouterr().out


def test_it_ends_when_nobody_reads_it_any_more(tmp_path: Path) -> None:
    """As `make test | head` does: else each group would wait for ever for room in its pipe."""
    (tmp_path / "test_many.py").write_text(
        "import pytest\n@pytest.mark.parametrize('n', range(9000))\ndef test(n): pass\n"
    )
    groups = {"many": (str(tmp_path),)}
    code = f"import run_tests, sys; run_tests.GROUPS = {groups}; sys.exit(run_tests.main(['--co', '-s']))"
    argv = [sys.executable, "-c", code]
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "scripts")}
    reader, writer = os.pipe()
    process = subprocess.Popen(argv, stdout=writer, stderr=subprocess.DEVNULL, env=environ)
    os.close(writer)
    assert b"many | " in os.read(reader, 100)
    os.close(reader)
    assert process.wait(timeout=120) != 0
