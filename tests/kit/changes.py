"""What a source of changes hands on, read by hand without Spark."""

from __future__ import annotations

from typing import Any

from tests.kit.waiting import wait_until

from twinlog.pipelines.api import Chunk, Offset, Source
from twinlog.pipelines.plugins import connector

Record = tuple[str, Any, Any, Any, Any]


def source_of(config: dict[str, str]) -> Any:
    made = connector(config["connector.class"], config)
    assert isinstance(made, Source)
    return made


def plain(chunk: Chunk) -> list[Record]:
    """Topic, op, key, before, after of each record, tombstones too; those of chunks with the same position follow."""
    made: list[Record] = []
    rows: list[Any] = chunk.rows.to_pylist() if len(chunk.rows) and "op" in chunk.rows.schema.names else []  # type: ignore[union-attr]
    follows = [chunk.tombstones] * len(rows) if isinstance(chunk.tombstones, bool) else chunk.tombstones.to_pylist()
    for row, tombstone in zip(rows, follows, strict=True):
        key = tuple(row[name] for name in chunk.key)
        made.append((chunk.topic, row["op"], key, row["before"], row["after"]))
        made += [(chunk.topic, "tombstone", key, None, None)] if tombstone else []
    for other in chunk.others:
        made += plain(other)
    return made


def drained(source: Any, start: Offset | None, count: int | None = None) -> tuple[list[Record], Offset | None]:
    """So many records; without a number: the rows that are there before changes. And the position behind them."""
    found: list[Record] = []
    (at,) = source.partitions()

    def go_on() -> int:
        nonlocal start
        for chunk in source.read(at, start, lambda: False):
            found.extend(plain(chunk))
            start = dict(chunk.next)
        return len(found)

    def is_enough(seen: int) -> bool:
        return (start is not None and not start.get("snapshot")) if count is None else seen >= count

    wait_until(go_on, is_enough, within_s=60, what=f"{count} records")
    return found, start
