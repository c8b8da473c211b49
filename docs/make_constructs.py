"""Writes docs/reference/constructs.md from the docstrings of hyperpod_slurm. A test compares the page with the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "constructs" / "hyperpod_slurm"
PAGE = ROOT / "docs" / "reference" / "constructs.md"

# Which names stand together, and what a reader should know before them.
SECTIONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("The cluster", "", ("SlurmCluster", "ClusterBase")),
    (
        "Instance groups",
        "Plain values, given to the cluster as a list. `name`, `instance_type` and `count` can be given by position.",
        ("ControllerGroup", "LoginGroup", "ComputeGroup", "InstanceGroup", "ClusterInstanceType", "Capacity",
         "DeepHealthCheck", "InterfaceType"),
    ),
    ("Network", "", ("ClusterNetwork",)),
    ("Topology", "", ("Topology", "TopologyMode")),
    (
        "Storage",
        "",
        ("EbsVolume", "SharedStorage", "NewLustre", "LustreThroughput", "NewOpenZfs", "LustreMount", "OpenZfsMount",
         "Mount"),
    ),
    ("Accounting", "", ("Accounting", "NewDatabase", "ExistingDatabase", "AccountingDatabase")),
    ("Lifecycle and provisioning", "",
     ("Lifecycle", "NodeProvisioningMode", "NodeRecovery", "PatchingStrategy", "SlurmConfigStrategy",
      "HandlerOptions")),
    ("Observability", "", ("TopologyAlarms", "TopologyDashboard")),
)  # fmt: skip

_HEAD = """\
# Constructs

Made from the docstrings by `make docs`; don't edit. All names are imported from `hyperpod_slurm`.
What is checked at synth: [validations.md](../validations.md).
"""


def page() -> str:
    """The whole page."""
    classes = dict(_classes())
    parts = [_HEAD]
    for title, introduction, names in SECTIONS:
        parts.append(f"## {title}\n")
        if introduction:
            parts.append(f"{introduction}\n")
        parts += [_describe(name, classes.get(name)) for name in names]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).rstrip() + "\n"


def _classes() -> Iterator[tuple[str, ast.ClassDef]]:
    for path in sorted(PACKAGE.glob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name, node


def _describe(name: str, node: ast.ClassDef | None) -> str:
    if node is None:  # a union: Mount
        return f"### {name}\n\n`LustreMount` or `OpenZfsMount`.\n"
    bases = [base for base in map(ast.unparse, node.bases) if base not in ("str, Enum", "Protocol", "Construct")]
    heading = f"### {name}\n"
    of = f"Has what `{bases[0]}` has, too.\n" if bases and bases[0] in ("InstanceGroup", "ClusterBase") else ""
    body = [heading, _text(ast.get_docstring(node) or ""), of, _fields(node), _members(node)]
    return "\n".join(part for part in body if part) + "\n"


def _fields(node: ast.ClassDef) -> str:
    """Attributes with a docstring below them, as a table; for long enumerations a sentence."""
    rows = []
    constants = 0
    for statement, following in zip(node.body, [*node.body[1:], None], strict=True):
        if not isinstance(statement, ast.AnnAssign | ast.Assign):
            continue
        target = statement.target if isinstance(statement, ast.AnnAssign) else statement.targets[0]
        name = ast.unparse(target)
        annotation = ast.unparse(statement.annotation) if isinstance(statement, ast.AnnAssign) else ""
        if name.startswith("_"):
            continue
        if "ClassVar" in annotation:
            constants += name.isupper()
            continue
        default = f"`{ast.unparse(statement.value)}`" if statement.value is not None else ""
        rows.append(f"| `{name}` | {_cell(annotation)} | {default} | {_literal(following)} |")
    table = "| attribute | type | value | |\n| --- | --- | --- | --- |\n" + "\n".join(rows) + "\n" if rows else ""
    return table or (f"{constants} constants, such as `P5_48XLARGE` for `ml.p5.48xlarge`.\n" if constants else "")


def _members(node: ast.ClassDef) -> str:
    """Constructor parameters, then methods and properties."""
    lines: list[str] = []
    for function in node.body:
        if not isinstance(function, ast.FunctionDef):
            continue
        text = ast.get_docstring(function) or ""
        if function.name == "__init__":
            lines += _parameters(function, text)
        elif not function.name.startswith("_") and text:
            lines.append(f"- **`{_signature(function)}`** {_inline(text)}")
    return "\n".join(lines) + "\n" if lines else ""


def _parameters(function: ast.FunctionDef, text: str) -> list[str]:
    told = dict(re.findall(r":param (\w+): (.*?)(?=\n:param|\Z)", text, re.DOTALL))
    rows = ["| argument | type | default | |", "| --- | --- | --- | --- |"]
    for argument, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        if argument.arg.startswith("_"):
            continue
        kind = _cell(ast.unparse(argument.annotation)) if argument.annotation else ""
        value = f"`{ast.unparse(default)}`" if default is not None else "required"
        rows.append(f"| `{argument.arg}` | {kind} | {value} | {_inline(told.get(argument.arg, ''))} |")
    return [*rows, ""]


def _signature(function: ast.FunctionDef) -> str:
    decorators = {ast.unparse(decorator) for decorator in function.decorator_list}
    if "property" in decorators:
        return function.name
    arguments = ast.unparse(function.args).removeprefix("self, ").removeprefix("cls, ")
    return f"{function.name}({'' if arguments in ('self', 'cls') else arguments})"


def _literal(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return _inline(node.value.value)
    return ""


def _cell(text: str) -> str:
    return f"`{text}`".replace("|", "\\|") if text else ""


def _text(text: str) -> str:
    """A docstring's own markup as Markdown: a literal block after ``::`` becomes a code block."""
    text = re.sub(r"\n*::\n\n((?:    .*\n?|\n)+)", _code, text)
    return re.sub(r"(?<!`)``([^`]+)``(?!`)", r"`\1`", text) + "\n"


def _code(match: re.Match[str]) -> str:
    lines = [line.removeprefix("    ") for line in match[1].rstrip().splitlines()]
    return "\n\n```python\n" + "\n".join(lines) + "\n```\n"


def _inline(text: str) -> str:
    text = re.sub(r"\s*:param (\w+): ", r" `\1`: ", " ".join(text.split()))
    return re.sub(r"``([^`]*)``", r"`\1`", text).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page())
    print(f"wrote {PAGE.relative_to(ROOT)}")
