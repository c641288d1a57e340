"""The layout: short files, no circles of imports, and the layers that CONTRIBUTING.md names."""

from __future__ import annotations

import ast
import statistics
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "src" / "twinlog"
LONGEST, MEDIAN = 450, 150


def modules() -> dict[str, Path]:
    """Each module of the package by its name."""
    names = {".".join(file.relative_to(SOURCE.parent).with_suffix("").parts): file for file in SOURCE.rglob("*.py")}
    return {name.removesuffix(".__init__"): file for name, file in names.items()}


def imports_of(tree: ast.AST) -> Iterator[str]:
    """Yield what a module imports, also inside of functions and for types only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def circles(imported: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of modules that import each other, directly or through others (Tarjan)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_, groups = list[str](), list[list[str]]()

    def visit(name: str) -> None:
        order[name] = lowest[name] = len(order)
        open_.append(name)
        for other in sorted(imported[name]):
            if other not in order:
                visit(other)
                lowest[name] = min(lowest[name], lowest[other])
            elif other in open_:
                lowest[name] = min(lowest[name], order[other])
        if lowest[name] == order[name]:
            at = open_.index(name)
            group = open_[at:]
            del open_[at:]
            if len(group) > 1:
                groups.append(sorted(group))

    for name in sorted(imported):
        if name not in order:
            visit(name)
    return groups


def test_no_modules_import_each_other_in_a_circle() -> None:
    known = modules()
    imported = {
        name: set(imports_of(ast.parse(file.read_text()))) & known.keys() - {name} for name, file in known.items()
    }
    assert circles(imported) == []


def test_a_circle_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


@pytest.mark.parametrize("folder", ["src", "tests", "bench", "docgen"])
def test_files_are_short(folder: str) -> None:
    files = [file for file in (ROOT / folder).rglob("*.py") if file.stat().st_size]
    lengths = {file: len(file.read_text().splitlines()) for file in files}
    assert {str(file): length for file, length in lengths.items() if length > LONGEST} == {}
    assert statistics.median(lengths.values()) < MEDIAN


def test_contributors_read_the_true_layers() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    assert " > ".join(layers) in (ROOT / "CONTRIBUTING.md").read_text()
