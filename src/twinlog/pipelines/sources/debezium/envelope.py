"""Debezium's record shape: before, after, source, op, and times. Pure; runs where a source runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import version
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from twinlog.pipelines.api import Chunk, Offset, SourcePartition
from twinlog.pipelines.arrow_schemas import arrow_type
from twinlog.pipelines.schemas import Field, Schema

ENUM: Final = "io.debezium.data.Enum"
_SNAPSHOTS: Final = "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"
_STRING, _LONG = Schema("string"), Schema("int64")
_MAYBE_STRING, _MAYBE_LONG = Schema("string", optional=True), Schema("int64", optional=True)
_KEY: Final = "key."


@dataclass(frozen=True)
class Table:
    """A table as a stream of records: topic, columns with their schemas, and which of them are the key."""

    topic: str
    columns: tuple[Field, ...]
    key: tuple[str, ...]
    source: Schema  # of the member `source`

    @property
    def row(self) -> Schema:
        return Schema("struct", optional=True, name=f"{self.topic}.Value", fields=self.columns)

    @property
    def value(self) -> Schema:
        return envelope(self.topic, self.columns, self.source)

    @property
    def key_schema(self) -> Schema | None:
        if not self.key:
            return None
        fields = tuple(Field(name, self._column(name)) for name in self.key)
        return Schema("struct", name=f"{self.topic}.Key", fields=fields)

    def _column(self, name: str) -> Schema:
        return next(replace(column.schema, optional=False) for column in self.columns if column.name == name)

    def place(self, name: str) -> int:
        return next(n for n, column in enumerate(self.columns) if column.name == name)


@lru_cache(maxsize=1000)
def envelope(topic: str, columns: tuple[Field, ...], source: Schema) -> Schema:
    row = Schema("struct", optional=True, name=f"{topic}.Value", fields=columns)
    block = Schema(
        "struct", optional=True, name="event.block", version=1,
        fields=(Field("id", _STRING), Field("total_order", _LONG), Field("data_collection_order", _LONG)),
    )  # fmt: skip
    fields = (
        Field("before", row), Field("after", row), Field("source", source), Field("transaction", block),
        Field("op", _STRING), Field("ts_ms", _MAYBE_LONG), Field("ts_us", _MAYBE_LONG), Field("ts_ns", _MAYBE_LONG),
    )  # fmt: skip
    return Schema("struct", name=f"{topic}.Envelope", version=2, fields=fields)


def source_schema(name: str, *more: tuple[str, Schema]) -> Schema:
    """The member `source`: what all connectors have, then the connector's own."""
    snapshot = Schema("string", optional=True, name=ENUM, version=1, parameters=(("allowed", _SNAPSHOTS),),
                      default="false")  # fmt: skip
    shared = (
        Field("version", _STRING), Field("connector", _STRING), Field("name", _STRING), Field("ts_ms", _LONG),
        Field("snapshot", snapshot), Field("db", _STRING), Field("sequence", _MAYBE_STRING),
        Field("ts_us", _MAYBE_LONG), Field("ts_ns", _MAYBE_LONG),
    )  # fmt: skip
    return Schema("struct", name=name, version=1, fields=(*shared, *(Field(*extra) for extra in more)))


@dataclass(frozen=True)
class Change:
    """One change of a row. `before` and `after` are in the order of the table's columns."""

    op: str  # c, u, d, r
    before: Sequence[Any] | None
    after: Sequence[Any] | None
    source: dict[str, Any]
    at_us: int  # when the database made it


def chunk_of(
    table: Table, columns: Sequence[Any], changes: Sequence[Change], at: SourcePartition, then: Offset,
    *, now_us: int, tombstones: bool,
) -> Chunk:  # fmt: skip
    """A chunk of changes. `columns` turn raw values of a column into an Arrow array."""
    return chunk_of_columns(
        table,
        at,
        then,
        ops=pa.array([change.op for change in changes], pa.string()),
        before=_rows(table, columns, [change.before for change in changes]),
        after=_rows(table, columns, [change.after for change in changes]),
        source=pa.array([_told(change) for change in changes], arrow_type(table.source)),
        now_us=now_us,
        tombstones=tombstones,
    )


def chunk_of_columns(
    table: Table, at: SourcePartition, then: Offset, *, ops: Any, before: Any, after: Any, source: Any, now_us: int,
    tombstones: bool,
) -> Chunk:  # fmt: skip
    """A chunk of changes that are Arrow arrays already: operations, old rows, new rows, and the members `source`."""
    count = len(ops)
    deleted: Any = pc.equal(ops, pa.scalar("d"))
    some = bool(pc.any(deleted).as_py())
    block = arrow_type(next(field.schema for field in table.value.fields if field.name == "transaction"))
    arrays: dict[str, Any] = {}
    for name in table.key:
        old, new = (pc.struct_field(rows, table.place(name)) for rows in (before, after))
        arrays[_KEY + name] = pc.if_else(deleted, old, new) if some else new
    arrays |= {
        "before": before,
        "after": after,
        "source": source,
        "transaction": pa.nulls(count, block),
        "op": ops,
        "ts_ms": pa.repeat(now_us // 1000, count),
        "ts_us": pa.repeat(now_us, count),
        "ts_ns": pa.repeat(now_us * 1000, count),
    }
    return Chunk(
        table.topic,
        pa.RecordBatch.from_pydict(arrays),
        at,
        then,
        key=tuple(_KEY + name for name in table.key),
        key_apart=True,
        schema=table.value,
        key_schema=table.key_schema,
        tombstones=deleted if tombstones and some else False,
    )


def _told(change: Change) -> dict[str, Any]:
    us = change.at_us
    return {"version": own_version(), "ts_ms": us // 1000, "ts_us": us, "ts_ns": us * 1000, **change.source}


@lru_cache
def own_version() -> str:
    return version("twinlog")


def _rows(table: Table, columns: Sequence[Any], rows: Sequence[Sequence[Any] | None]) -> Any:
    kind = arrow_type(table.row)
    if all(row is None for row in rows):
        return pa.nulls(len(rows), kind)
    arrays = []
    for place, make in enumerate(columns):
        made = make([None if row is None else row[place] for row in rows])
        want = kind.field(place).type
        arrays.append(made if made.type == want else made.cast(want))
    fields = [kind.field(n) for n in range(kind.num_fields)]
    gone = pa.array([row is None for row in rows])
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=gone)


HEARTBEAT_KEY: Final = Schema("struct", name="io.debezium.connector.common.ServerNameKey",
                              fields=(Field("serverName", _STRING),))  # fmt: skip
HEARTBEAT: Final = Schema("struct", name="io.debezium.connector.common.Heartbeat", fields=(Field("ts_ms", _LONG),))


def heartbeat(topic: str, server: str, at: SourcePartition, then: Offset, now_us: int) -> Chunk:
    """A record that says: the connector lives, and has read so far."""
    rows = pa.RecordBatch.from_pydict(
        {_KEY + "serverName": pa.array([server]), "ts_ms": pa.array([now_us // 1000], pa.int64())}
    )
    return Chunk(topic, rows, at, then, key=(_KEY + "serverName",), key_apart=True, schema=HEARTBEAT,
                 key_schema=HEARTBEAT_KEY)  # fmt: skip


def position_only(topic: str, at: SourcePartition, then: Offset) -> Chunk:
    """No record: the position moves because others' changes were read."""
    return Chunk(topic, pa.RecordBatch.from_pydict({"": pa.array([], pa.string())}), at, then)
