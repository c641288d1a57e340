"""A snapshot that is interrupted again and again while its tables change, and what was handed on of each row."""

# ruff: noqa: S608  statements of tests

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.kit.changes import plain
from tests.kit.waiting import wait_until

from twinlog.pipelines.api import Offset, Retriable

ROWS = 24
_CHANGING, _ALL = 20, 1_000_000
Keys = Mapping[str, tuple[tuple[str, ...], Callable[[int], str]]]
"""By the table's name: the columns of its key, and the key of a row as SQL."""


@dataclass
class Rows:
    """The rows of a table as the test writes them: number, and what `n` each has; None: deleted."""

    name: str
    key: Callable[[int], str]
    now: dict[int, int | None] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)

    def change(self, dice: random.Random) -> str:
        """One change of a row adds one to its `n`; a deleted row continues with the next number."""
        row = dice.randrange(ROWS)
        if self.now.get(row) is None:
            self.now[row] = self.last[row] = self.last.get(row, 0) + 1
            return f"INSERT INTO {self.name} VALUES ({self.key(row)}, {row}, {self.last[row]})"
        if dice.random() < 0.2:
            self.now[row] = None
            return f"DELETE FROM {self.name} WHERE a = {row}"
        self.now[row] = self.last[row] = self.last[row] + 1
        return f"UPDATE {self.name} SET n = {self.last[row]} WHERE a = {row}"


def tables_of(keys: Keys) -> tuple[list[Rows], list[str]]:
    """Tables without rows, and the statements that make them."""
    statements = []
    for name, (columns, _) in keys.items():
        key = ", ".join(column.split()[0] for column in columns)
        statements.append(f"DROP TABLE IF EXISTS {name}")
        statements.append(f"CREATE TABLE {name} ({', '.join(columns)}, a INT, n INT, PRIMARY KEY ({key}))")
    return [Rows(name, key) for name, (_, key) in keys.items()], statements


def transactions(tables: list[Rows], dice: random.Random) -> Iterable[list[str]]:
    """Some transactions over all tables."""
    for _ in range(dice.randint(1, 4)):
        yield [dice.choice(tables).change(dice) for _ in range(dice.randint(1, 30))]


def read_and_interrupt(
    make: Callable[[], Any], tables: list[Rows], write: Callable[[], None], dice: random.Random
) -> dict[tuple[str, int], list[int | None]]:
    """What was handed on of each row, until all of it was."""
    seen: dict[tuple[str, int], list[int | None]] = {}
    start: Offset | None = None
    snapshots = 0

    def wrong() -> dict[tuple[str, int], Any]:
        now = {(rows.name, row): n for rows in tables for row, n in rows.now.items()}
        late = {key: (numbers[-1], now.get(key)) for key, numbers in seen.items() if numbers[-1] != now.get(key)}
        return late | {key: (None, n) for key, n in now.items() if n is not None and key not in seen}

    def read() -> Any:
        """With a new connection from the last position. At first the tables change, and readings are broken off."""
        nonlocal start, snapshots
        if start is None or start.get("snapshot"):
            snapshots += 1
            if snapshots < _CHANGING:
                write()
        source = make()
        (place,) = source.partitions()
        left = dice.randint(1, 6) if snapshots < _CHANGING else _ALL
        try:
            for chunk in source.read(place, start, lambda: False):
                for topic, op, key, before, after in plain(chunk):
                    if op != "tombstone":
                        row = (before if after is None else after)["a"]
                        name = topic.rpartition(".")[2]
                        where = (name, row if row is not None else by_key[name, key])
                        by_key[name, key] = where[1]
                        seen.setdefault(where, []).append(None if after is None else after["n"])
                start = json.loads(json.dumps(dict(chunk.next)))
                left -= 1
                if not left:
                    break
        except Retriable as error:  # a connection that was broken off is not gone yet
            return str(error)
        finally:
            source.close()
        return wrong()

    by_key: dict[tuple[str, Any], int] = {}  # a deleted row may have its key only
    wait_until(
        read, lambda left: left == {} and start is not None and not start.get("snapshot"), within_s=250,
        what="all changes",
    )  # fmt: skip
    assert snapshots >= 5
    return seen


def assert_each_follows(seen: dict[tuple[str, int], list[int | None]]) -> None:
    """No gap, no repeat, nothing older behind something newer."""
    for key, numbers in seen.items():
        there = [n for n in numbers if n is not None]
        assert there == list(range(there[0], there[0] + len(there))), (key, numbers)
        deleted = [n for n, number in enumerate(numbers) if number is None]
        assert all(n and numbers[n - 1] is not None for n in deleted), (key, numbers)
