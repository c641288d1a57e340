"""Columns of a batch as a database takes them: times instead of numbers, last row per key. Vectorised."""

from __future__ import annotations

from typing import Any, Final, cast

import pyarrow as pa
import pyarrow.compute

from twinlog.pipelines.api import SinkBatch
from twinlog.pipelines.schemas import DATE, TIME, TIMESTAMP, logical_name, unit_of
from twinlog.pipelines.sinks.jdbc.tables import ColumnPlan

pc: Any = pyarrow.compute
_ROW: Final = "__row"


def table_of(batch: SinkBatch, columns: list[ColumnPlan]) -> pa.Table:
    """The columns of all rows; a row without a value has nulls."""
    return pa.table({column.name: _column(batch, column) for column in columns})


def _column(batch: SinkBatch, column: ColumnPlan) -> Any:
    match column.place:
        case "kafka0":
            return batch.rows.column("topic")
        case "kafka1":
            return batch.rows.column("partition")
        case "kafka2":
            return batch.rows.column("offset")
        case "whole key":
            return _timed(batch.keys, column)
        case "key":
            return _timed(pc.struct_field(batch.keys, column.name), column)
        case _:
            return _timed(pc.struct_field(batch.values, column.name), column)


def _timed(array: Any, column: ColumnPlan) -> Any:
    unit = unit_of(column.schema)
    match logical_name(column.schema):
        case name if name == DATE:
            return array.cast(pa.int32()).cast(pa.date32())
        case name if name == TIMESTAMP:
            return array.cast(pa.int64()).cast(pa.timestamp(cast("Any", unit)))
        case name if name == TIME:
            return (
                array.cast(pa.int32()).cast(pa.time32("ms"))
                if unit == "ms"
                else array.cast(pa.time64(cast("Any", unit)))
            )
        case _:
            return array


def last_per_key(table: pa.Table, keys: list[str]) -> pa.Table:
    """Only the last row of each key, in their order: a statement cannot touch a row twice."""
    numbered = table.append_column(
        _ROW, pc.subtract(pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), table.num_rows)), 1)
    )
    last = numbered.group_by(keys).aggregate([(_ROW, "max")]).column(f"{_ROW}_max")
    if len(last) == table.num_rows:
        return table
    return table.take(last.sort())


def csv_bytes(table: pa.Table) -> bytes:
    """Rows for COPY: null is nothing, text is always quoted."""
    from pyarrow import csv  # noqa: PLC0415  only PostgreSQL needs it

    ready = pa.table({name: _printable(table.column(name)) for name in table.column_names})
    sink = pa.BufferOutputStream()
    csv.write_csv(ready, sink, csv.WriteOptions(include_header=False, quoting_style="all_valid"))
    return sink.getvalue().to_pybytes()


def _printable(column: Any) -> Any:
    if pa.types.is_binary(column.type):
        return pa.array([None if value is None else "\\x" + value.hex() for value in column.to_pylist()], pa.string())
    return column
