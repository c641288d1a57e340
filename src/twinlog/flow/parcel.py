"""The row: what travels from the reader through Spark to the writer.

A parcel is what one fetch brought for one partition: raw batches, and the range of source offsets it accounts for.
Offsets of that range without a batch were looked at and are not copied (markers, aborted transactions, compaction).

    first ─────────────── payload ────────────── next
      │ batch │ batch │ (aborted) │ batch │        │         first of a parcel = next of the one before

Rows without payload are notes from the reader to the writer: `begin` (a partition is read from here on), `fault` (it
cannot be read), `gap` (offsets that the source lost and the policy skips). A row without topic says nothing; it only
pushes the one before it through, because the JVM looks one row ahead.
"""

from __future__ import annotations

import struct
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import pyarrow as pa

from twinlog.model.names import TopicPartition

SQL_SCHEMA: Final = "topic string, partition int, first bigint, next bigint, kind string, payload binary"
_FIELDS: Final[list[pa.Field[Any]]] = [
    pa.field("topic", pa.string()),
    pa.field("partition", pa.int32()),
    pa.field("first", pa.int64()),
    pa.field("next", pa.int64()),
    pa.field("kind", pa.string()),
    pa.field("payload", pa.binary()),
]
ARROW_SCHEMA: Final = pa.schema(_FIELDS)

Kind: TypeAlias = Literal["data", "begin", "fault", "gap", "flush"]


class Parcel(NamedTuple):
    """One row."""

    partition: TopicPartition
    first: int
    next: int
    kind: Kind
    payload: bytes | memoryview


FLUSH: Final = Parcel(TopicPartition("", -1), 0, 0, "flush", b"")


def to_arrow(parcel: Parcel) -> pa.RecordBatch:
    """One row as one Arrow batch; the payload is not copied."""
    size = len(parcel.payload)
    offsets = pa.py_buffer(struct.pack("=ii", 0, size))
    payload = pa.Array.from_buffers(pa.binary(), 1, [None, offsets, pa.py_buffer(parcel.payload)])
    columns: list[Any] = [
        pa.array([parcel.partition.topic], pa.string()),
        pa.array([parcel.partition.partition], pa.int32()),
        pa.array([parcel.first], pa.int64()),
        pa.array([parcel.next], pa.int64()),
        pa.array([parcel.kind], pa.string()),
        payload,
    ]
    return pa.RecordBatch.from_arrays(columns, schema=ARROW_SCHEMA)


def from_arrow(batch: pa.RecordBatch) -> list[Parcel]:
    """The rows of an Arrow batch; payloads are views into it."""
    columns: list[list[Any]] = [batch.column(i).to_pylist() for i in range(5)]
    topics, partitions, firsts, nexts, kinds = columns
    payloads: Any = batch.column(5)
    return [
        Parcel(
            TopicPartition(topics[i], partitions[i]), firsts[i], nexts[i], kinds[i], memoryview(payloads[i].as_buffer())
        )
        for i in range(batch.num_rows)
    ]
