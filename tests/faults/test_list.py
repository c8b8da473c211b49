"""docs/design/faults.md names a test for each fault, and every one of them exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
LIST = TESTS.parent / "docs" / "design" / "faults.md"
NAMED = re.compile(r"`([\w/]+\.py)::(test_\w+)(?:\[([^\]`]+)\])?`")


def rows() -> list[list[str]]:
    """Cells of each row of the tables, headings left out."""
    lines = [line for line in LIST.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    return [each for each in cells if each[0] != "fault" and not each[0].startswith("---")]


def named() -> list[tuple[str, str, str]]:
    """(file below tests/, test, case or "") of every test in the list."""
    return NAMED.findall(LIST.read_text(encoding="utf-8"))


@cache
def tree(file: str) -> ast.Module:
    return ast.parse((TESTS / file).read_text(encoding="utf-8"))


def functions_of(file: str) -> set[str]:
    """Names of the test functions of a file, without importing it."""
    return {
        node.name for node in ast.walk(tree(file)) if isinstance(node, ast.FunctionDef) and node.name[:5] == "test_"
    }


def is_case(file: str, case: str) -> bool:
    """A folder of tests/cases/topology, or a word in the file itself, or in a table that it imports."""
    imported = [node.module for node in ast.walk(tree(file)) if isinstance(node, ast.ImportFrom) and node.module]
    tables = [name for name in (f"{module.replace('.', '/')}.py" for module in imported) if (TESTS / name).exists()]
    words = {node.value for one in (file, *tables) for node in ast.walk(tree(one)) if isinstance(node, ast.Constant)}
    return (TESTS / "cases" / "topology" / case).is_dir() or case in words


def test_every_fault_has_a_way_to_prevent_it_and_a_test() -> None:
    assert len(rows()) > 60
    assert [row[0] for row in rows() if len(row) != 3 or not row[1] or not NAMED.search(row[2])] == []


def test_every_named_test_exists() -> None:
    assert len(named()) > 100
    missing = [
        (file, test) for file, test, _ in named() if not (TESTS / file).exists() or test not in functions_of(file)
    ]
    assert missing == []


def test_every_named_case_exists() -> None:
    assert [(file, case) for file, _, case in named() if case and not is_case(file, case)] == []


def test_every_test_of_this_folder_is_in_the_list() -> None:
    listed = {(file, test) for file, test, _ in named()}
    files = [path.relative_to(TESTS).as_posix() for path in sorted(Path(__file__).parent.glob("test_*.py"))]
    here = {(file, test) for file in files for test in functions_of(file)} - {
        (Path(__file__).relative_to(TESTS).as_posix(), test) for test in functions_of("faults/test_list.py")
    }
    assert len(here) > 25
    assert here - listed == set()


def test_no_fault_is_listed_twice() -> None:
    faults = [row[0] for row in rows()]
    assert len(set(faults)) == len(faults)
