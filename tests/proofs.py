"""Which test proves which promise: `make proofs` prints the table and fails on a promise that nobody proves.

DESIGN.md defines the promises, one per line (`- **R1 No loss.** ...`); `(planned)` in that line excuses one for now.
Tests claim them with `@pytest.mark.proves("R1", ...)`, on a function, a class or a whole file (`pytestmark = ...`).
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

_PROMISE = re.compile(r"^[-*] \*\*(R\d+) (.+?)\.?\*\*(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Promise:
    name: str
    title: str
    planned: bool


def promises_of(design: str) -> list[Promise]:
    """Read the promises from the text of DESIGN.md."""
    return [Promise(name, title, planned="(planned)" in title + rest) for name, title, rest in _PROMISE.findall(design)]


def claims_of(source: str, file: str) -> dict[str, list[str]]:
    """Return promise -> tests of one file that claim it. Nothing is imported, so it takes no time."""
    claims: dict[str, list[str]] = defaultdict(list)
    tree = ast.parse(source, file)
    whole_file = [
        name
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in statement.targets)
        for name in _marks(statement.value)
    ]
    for test, marks in _tests(tree.body, ()):
        for name in {*whole_file, *marks}:
            claims[name].append(f"{file}::{test}")
    return claims


def judge(promises: Sequence[Promise], claims: Mapping[str, Sequence[str]]) -> list[str]:
    """Return what is wrong: promises without proof, and proofs of promises that do not exist."""
    known = {promise.name for promise in promises}
    unproven = [f"{p.name} {p.title}: no test proves it" for p in promises if not p.planned and not claims.get(p.name)]
    unknown = [f"{name}: claimed by {claims[name][0]}, unknown to DESIGN.md" for name in claims.keys() - known]
    return unproven + sorted(unknown)


def _tests(body: Sequence[ast.stmt], outer: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            marks = (*outer, *_decorations(node))
            yield from ((f"{node.name}::{test}", inner) for test, inner in _tests(node.body, marks))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield node.name, (*outer, *_decorations(node))


def _decorations(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    return [name for decorator in node.decorator_list for name in _marks(decorator)]


def _marks(expression: ast.expr) -> list[str]:
    return [
        argument.value
        for call in ast.walk(expression)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.proves"
        for argument in call.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]


def main(root: Path, *, quiet: bool = False) -> int:
    """Print the table for the project in this folder; 1 if a promise is unproven or unknown."""
    design = root / "DESIGN.md"
    promises = promises_of(design.read_text(encoding="utf-8")) if design.exists() else []
    if not promises:
        print(f"{design}: no promises found")
        return 1
    claims: dict[str, list[str]] = defaultdict(list)
    for file in sorted((root / "tests").rglob("test_*.py")):
        for name, tests in claims_of(file.read_text(encoding="utf-8"), str(file.relative_to(root))).items():
            claims[name] += tests
    table = Table("promise", "proved by", title="Promises of DESIGN.md", title_justify="left", show_lines=True)
    for promise in promises:
        proofs = "\n".join(claims.get(promise.name, ())) or ("(planned)" if promise.planned else "NOBODY")
        table.add_row(f"{promise.name} {promise.title}", proofs)
    if not quiet:
        Console(soft_wrap=True).print(table)
    problems = judge(promises, claims)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parent.parent, quiet="--check" in sys.argv))
