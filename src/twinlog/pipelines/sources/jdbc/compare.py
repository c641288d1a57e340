"""Compare a table with its copy: counts and hashes per key range on Spark, then the rows that differ. Changes nothing.

    ranges of keys ──▶ a Spark task each: read both sides, compare hashes, name the rows ──▶ look again at those rows

A pipeline runs on while it is verified. Rows that differ are read once more after a pause; what then differs, counts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from twinlog.pipelines.api import Retriable
from twinlog.pipelines.databases.addresses import Address
from twinlog.pipelines.schemas import Schema
from twinlog.pipelines.sources.jdbc.queries import Query
from twinlog.pipelines.sources.jdbc.reading import Reading, connected
from twinlog.pipelines.table_ranges import Comparison, Difference, KeyRange, differences, digest, ranges, rows_by_key
from twinlog.spark.formats import register_format
from twinlog.spark.session import Session

_OUT: Final = "source_rows long, target_rows long, kind string, row_key string, source string, target string"
_MOST: Final = 10_000
_NAME: Final = "twinlog_compare_tables"
_TROUBLE: Final = "trouble"
_KEY: Final = "\0key\0"
_NUMBERS: Final[list[Any]] = [pa.field(name, pa.int64()) for name in ("source_rows", "target_rows")]
_TEXTS: Final[list[Any]] = [pa.field(name, pa.string()) for name in ("kind", "row_key", "source", "target")]
_FOUND: Final = pa.schema([*_NUMBERS, *_TEXTS])
_AGAIN_AT_ONCE: Final = 500


@dataclass(frozen=True)
class TableSide:
    """One of the two tables."""

    address: Address
    table: str
    quote: bool = True


@dataclass(frozen=True)
class TablePair:
    """What a task needs."""

    source: TableSide
    target: TableSide
    key: str
    columns: tuple[str, ...]


def compare_tables(
    spark: Session, source: TableSide, target: TableSide, key: str, *, parts: int = 16, settle_s: float = 5.0
) -> Comparison:
    """Both tables, compared. Raises Retriable when a database does not answer, ValueError for a wrong key."""
    source_columns, target_columns = _columns(source), _columns(target)
    common = tuple(name for name in source_columns if name in target_columns)
    if key not in common:
        raise ValueError(f"the column {key} is not in both tables; name another with --key")
    lonely = tuple(sorted(set(source_columns) ^ set(target_columns)))
    pair = TablePair(source, target, key, common)
    wanted = ranges(*_bounds(source, key, source_columns[key]), parts)
    register_format(spark, _NAME, _OUT, reader=lambda: _Ranges(pair, wanted))
    rows = spark.read.format(_NAME).load().collect()
    for row in rows:
        if row["kind"] == _TROUBLE:
            raise Retriable(row["source"])
    counts = (sum(row["source_rows"] for row in rows), sum(row["target_rows"] for row in rows))
    open_ones = [
        Difference(row["kind"], row["row_key"], row["source"], row["target"]) for row in rows if row["kind"] is not None
    ]
    if open_ones and settle_s > 0:
        time.sleep(settle_s)
        open_ones = _still(pair, [difference.key for difference in open_ones])
    return Comparison(*counts, common, lonely, open_ones)


class _Part(InputPartition):
    """The keys of one task."""

    def __init__(self, keys: KeyRange) -> None:
        super().__init__(None)
        self.keys = keys


class _Ranges(DataSourceReader):
    """One task per range. Travels pickled, never as options: addresses hold passwords (R12)."""

    def __init__(self, pair: TablePair, ranges_of: Sequence[KeyRange]) -> None:
        self.pair = pair
        self.ranges = ranges_of

    def partitions(self) -> Sequence[InputPartition]:
        """On the driver's side."""
        return [_Part(keys) for keys in self.ranges]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """On an executor. A database that fails is told as a row: Spark would bury the reason in a stack trace."""
        if not isinstance(partition, _Part):
            raise TypeError(f"{partition!r} is not a range of this comparison")
        try:
            yield self._range(partition.keys)
        except (Retriable, ValueError) as error:
            row = {"source_rows": 0, "target_rows": 0, "kind": _TROUBLE, "row_key": "", "source": str(error),
                   "target": ""}  # fmt: skip
            yield pa.RecordBatch.from_pylist([row], _FOUND)

    def _range(self, keys: KeyRange) -> pa.RecordBatch:
        pair = self.pair
        condition = _between(keys)
        source, target = _rows(pair, pair.source, condition), _rows(pair, pair.target, condition)
        wrong: Sequence[Difference] = []
        if len(source) != len(target) or digest(source) != digest(target):
            wrong = differences(source, target, pair.columns)[:_MOST]
        lines: list[dict[str, Any]] = [
            {"source_rows": 0, "target_rows": 0, "kind": difference.kind, "row_key": difference.key,
             "source": difference.source, "target": difference.target}
            for difference in wrong
        ]  # fmt: skip
        lines.append({"source_rows": len(source), "target_rows": len(target), "kind": None, "row_key": None,
                      "source": None, "target": None})  # fmt: skip
        return pa.RecordBatch.from_pylist(lines, _FOUND)


def _between(keys: KeyRange) -> str:
    parts = []
    if keys.low is not None:
        parts.append(f"{_KEY} >= {keys.low:d}")
    if keys.high is not None:
        parts.append(f"{_KEY} <= {keys.high:d}")
    return " AND ".join(parts) or "1 = 1"


def _rows(pair: TablePair, side: TableSide, condition: str) -> dict[str, tuple[str | None, ...]]:
    db = connected(side.address, quote=side.quote)
    try:
        name = db.words.identifier(pair.key)
        query = Query(f"SELECT * FROM {db.words.name(side.table)} WHERE {condition.replace(_KEY, name)}")
        return rows_by_key(db.rows(query, _schema(db, side)).to_pylist(), pair.key, pair.columns)
    finally:
        db.close()


def _still(pair: TablePair, keys: list[str]) -> list[Difference]:
    """The rows that differ at a second look."""
    still: list[Difference] = []
    for start in range(0, len(keys), _AGAIN_AT_ONCE):
        listed = ", ".join("'" + key.replace("'", "''") + "'" for key in keys[start : start + _AGAIN_AT_ONCE])
        condition = f"CAST({_KEY} AS CHAR(255)) IN ({listed})"
        source, target = (_rows(pair, side, condition) for side in (pair.source, pair.target))
        still += differences(source, target, pair.columns)
    return still


def _schema(db: Reading, side: TableSide) -> Schema:
    return db.schema(Query(f"SELECT * FROM {db.words.name(side.table)}"), side.table, "none")


def _columns(side: TableSide) -> dict[str, Schema]:
    db = connected(side.address, quote=side.quote)
    try:
        columns = {field.name: field.schema for field in _schema(db, side).fields}
    finally:
        db.close()
    if not columns:
        raise ValueError(f"{side.address} has no table {side.table}")
    return columns


def _bounds(side: TableSide, key: str, schema: Schema) -> tuple[int | None, int | None]:
    """Smallest and largest key. A key that is no whole number makes one range of the whole table."""
    if not schema.type.startswith("int") or schema.name is not None:
        return None, None
    db = connected(side.address, quote=side.quote)
    try:
        name = db.words.identifier(key)
        query = Query(f"SELECT MIN({name}) AS low, MAX({name}) AS high FROM {db.words.name(side.table)}")
        (row,) = db.rows(query, db.schema(query, None, "none")).to_pylist()
    finally:
        db.close()
    low, high = row["low"], row["high"]
    return (None, None) if low is None or high is None else (int(low), int(high))
