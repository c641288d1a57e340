"""The row: how parcels travel through Spark. Packed in the reader's Python worker, unpacked in the writer's.

A row costs some 50 us on its way whatever its size, so there are as few as possible, of as few columns as possible:

    head                              payload
    one parcel: kind, offsets, name   its batches, not copied          a large one travels alone
    (empty)                           head, batches, head, batches, …  small ones that wait at the same moment: a crate

The busier Spark is, the fuller the crates. A row with a `flush` alone only pushes the one before it through, because
the JVM looks one row ahead.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa

from twinlog.flow.parcel import FLUSH, Kind, Parcel, now_us
from twinlog.model.names import TopicPartition

SQL_SCHEMA: Final = "head binary, payload binary"
_BINARY: Final = pa.binary()
_FIELDS: Final[list[pa.Field[Any]]] = [pa.field("head", _BINARY), pa.field("payload", _BINARY)]
_ARROW_SCHEMA: Final = pa.schema(_FIELDS)
_ENDS: Final = struct.Struct("=ii")

LARGE: Final = 262_144
"""Bytes from which on a parcel travels alone, uncopied."""
_KINDS: Final[tuple[Kind, ...]] = ("data", "returned", "begin", "fault", "gap", "flush", "records", "changed")
_CODES: Final = {kind: code for code, kind in enumerate(_KINDS)}
_HEAD: Final = struct.Struct(">BHiqqqiI")


class Row(NamedTuple):
    """One row, as both workers see it."""

    head: bytes
    payload: bytes | memoryview
    taken_us: int = 0  # when the writer got it


def pack(parcels: Sequence[Parcel]) -> Row:
    """One parcel as it is, several as a crate."""
    if len(parcels) == 1:
        return Row(_head(parcels[0]), parcels[0].payload)
    parts: list[bytes | memoryview] = []
    for parcel in parcels:
        parts += [_head(parcel), parcel.payload]
    return Row(b"", b"".join(parts))


def _head(parcel: Parcel) -> bytes:
    topic = parcel.partition.topic.encode()
    place = (parcel.partition.partition, parcel.first, parcel.next, parcel.fetched_us, parcel.epoch)
    return _HEAD.pack(_CODES[parcel.kind], len(topic), *place, len(parcel.payload)) + topic


def unpack(row: Row) -> list[Parcel]:
    """The parcels of a row, in order; payloads are views into it."""
    if row.head:
        parcel, _ = _parcel(memoryview(row.head), 0, row.taken_us)
        return [parcel._replace(payload=row.payload)]
    view, at = memoryview(row.payload), 0
    parcels: list[Parcel] = []
    while at < len(view):
        parcel, at = _parcel(view, at, row.taken_us)
        parcels.append(parcel)
    return parcels


def _parcel(view: memoryview, at: int, taken_us: int) -> tuple[Parcel, int]:
    """The parcel whose head is here, with what follows it as its payload; and where that ends."""
    kind, name, number, first, next_offset, fetched_us, epoch, size = _HEAD.unpack_from(view, at)
    topic = at + _HEAD.size
    payload = topic + name
    partition = TopicPartition(str(view[topic:payload], "utf-8"), number)
    behind = payload + size
    known = (fetched_us, epoch, taken_us)
    return Parcel(partition, first, next_offset, _KINDS[kind], view[payload:behind], *known), behind


def to_arrow(row: Row) -> pa.RecordBatch:
    """One row as one Arrow batch; nothing is copied."""
    return _PUSH if row is FLUSH_ROW else _batch(row)


def _batch(row: Row) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([_column(row.head), _column(row.payload)], schema=_ARROW_SCHEMA)


def _column(value: bytes | memoryview) -> pa.Array[Any]:
    return pa.Array.from_buffers(_BINARY, 1, [None, pa.py_buffer(_ENDS.pack(0, len(value))), pa.py_buffer(value)])


def from_arrow(batch: pa.RecordBatch) -> list[Row]:
    """The rows of an Arrow batch, as the writer gets them now; payloads are views into it."""
    heads: Any = batch.column(0)
    payloads: Any = batch.column(1)
    now = now_us()
    return [Row(heads[i].as_py(), memoryview(payloads[i].as_buffer()), now) for i in range(batch.num_rows)]


def is_flush(row: Row) -> bool:
    """Whether it only pushed the row before it through."""
    return row.head == FLUSH_ROW.head


FLUSH_ROW: Final = pack([FLUSH])
_PUSH: Final = _batch(FLUSH_ROW)
