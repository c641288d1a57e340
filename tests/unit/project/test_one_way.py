"""What is done in one way only: time of day, pauses between attempts, errors of a connection, helpers of tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import twinlog

SOURCE = Path(twinlog.__file__).parent


def trees() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield str(path.relative_to(SOURCE)), ast.parse(path.read_text())


def test_the_time_of_day_comes_from_the_clock() -> None:
    found = {
        name
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node) in {"time.time", "time.time_ns"}
    }
    assert found == {"model/clock.py"}


def test_no_clause_unpacks_errors_of_others() -> None:
    found = [
        f"{name}:{node.lineno}"
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler)
        and isinstance(node.type, ast.Tuple)
        and any(isinstance(kind, ast.Starred) for kind in node.type.elts)
    ]
    assert found == []


OUTBOX = {"flow/outbox.py", "flow/intake.py"}
"""The intake is the part of an outbox that shapes what waits."""


def test_only_the_outbox_changes_the_state_of_a_batch() -> None:
    """Writer and lanes call methods of an outbox and read it; they assign none of its fields, and none of a batch's."""
    assigned = [
        f"{name}:{node.lineno}: {ast.unparse(node)}"
        for name, tree in trees()
        if name.startswith("flow/") and name not in OUTBOX
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and ast.unparse(node.value).split(".")[-1] in {"box", "outbox", "out", "outgoing", "passage"}
    ]
    assert assigned == []


def test_pauses_grow_by_the_rule_of_the_model() -> None:
    """`pause = min(pause * 2, 10.0)` and `pause *= 2` are what `Backoff` is for."""

    def doubles(node: ast.AST) -> bool:
        if isinstance(node, ast.AugAssign):
            return isinstance(node.op, ast.Mult) and "pause" in ast.unparse(node.target)
        if not isinstance(node, ast.Assign):
            return False
        name = ast.unparse(node.targets[0])
        return "pause" in name and any(
            isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult) and ast.unparse(part.left) == name
            for part in ast.walk(node.value)
        )

    assert [f"{name}:{node}" for name, tree in trees() for node in ast.walk(tree) if doubles(node)] == []


def test_no_test_imports_from_another_test() -> None:
    found = [
        f"{path}: {line.strip()}"
        for path in sorted(Path("tests").rglob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.match(r"\s*(?:from|import) tests\.\S*\btest_\w+", line)
    ]
    assert not found, "helpers of tests are in tests/kit: " + "; ".join(found)
