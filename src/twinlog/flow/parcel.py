"""The row: what travels from the reader through Spark to the writer.

A parcel is what one fetch brought for one partition: raw batches, and the range of source offsets it accounts for.
Offsets of that range without a batch were looked at and are not copied (markers, aborted transactions, compaction).

    first ─────────────── payload ────────────── next
      │ batch │ batch │ (aborted) │ batch │        │         first of a parcel = next of the one before

A `returned` parcel is a data parcel of which the reader left out what came from the target: before its batches it says
which offsets those are.

Parcels without batches are notes from the reader to the writer: `begin` (a partition is read from here on), `fault` (it
cannot be read), `gap` (offsets that the source lost and the policy skips).

A large parcel is a row of its own and is not copied. Small ones that wait at the same moment share a row (a crate),
because a row costs some 100 us on its way whatever its size: the busier Spark is, the fuller the crates. A `flush` row
says nothing; it only pushes the one before it through, because the JVM looks one row ahead.

A parcel carries the time at which it was fetched, and gets the time at which the writer has it: both run on one
machine, so one clock tells both.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import pyarrow as pa

from twinlog.model.names import TopicPartition

SQL_SCHEMA: Final = (
    "topic string, partition int, first bigint, next bigint, kind string, fetched_us bigint, payload binary"
)
_FIELDS: Final[list[pa.Field[Any]]] = [
    pa.field("topic", pa.string()),
    pa.field("partition", pa.int32()),
    pa.field("first", pa.int64()),
    pa.field("next", pa.int64()),
    pa.field("kind", pa.string()),
    pa.field("fetched_us", pa.int64()),
    pa.field("payload", pa.binary()),
]
ARROW_SCHEMA: Final = pa.schema(_FIELDS)

Kind: TypeAlias = Literal["data", "returned", "begin", "fault", "gap", "flush", "crate"]
Ranges: TypeAlias = Sequence[tuple[int, int]]
"""Offsets, each range from its first to behind its last."""


class Parcel(NamedTuple):
    """One row."""

    partition: TopicPartition
    first: int
    next: int
    kind: Kind
    payload: bytes | memoryview
    fetched_us: int = 0
    taken_us: int = 0  # not carried: known to the writer only


FLUSH: Final = Parcel(TopicPartition("", -1), 0, 0, "flush", b"")


LARGE: Final = 262_144
"""Bytes from which on a parcel travels alone, uncopied."""
_KINDS: Final[tuple[Kind, ...]] = ("data", "returned", "begin", "fault", "gap", "flush")
_CRATED: Final = struct.Struct(">BHiqqqI")
_COUNT: Final = struct.Struct(">I")
_RANGE: Final = struct.Struct(">qq")


def data_parcel(
    partition: TopicPartition,
    first: int,
    next_offset: int,
    payload: bytes | memoryview,
    returned: Ranges,
    *,
    fetched_us: int = 0,
) -> Parcel:
    """Batches, and the offsets of those that were left out because they came from the target."""
    if not returned:
        return Parcel(partition, first, next_offset, "data", payload, fetched_us)
    head = _COUNT.pack(len(returned)), *(_RANGE.pack(*part) for part in returned)
    return Parcel(partition, first, next_offset, "returned", b"".join((*head, payload)), fetched_us)


def unwrap(parcel: Parcel) -> tuple[Parcel, Ranges]:
    """A data parcel without what it says of offsets that were left out, and that."""
    if parcel.kind != "returned":
        return parcel, ()
    view = memoryview(parcel.payload)
    (count,) = _COUNT.unpack_from(view)
    end = _COUNT.size + count * _RANGE.size
    ranges = [(first, behind) for first, behind in _RANGE.iter_unpack(view[_COUNT.size : end])]
    return parcel._replace(kind="data", payload=view[end:]), ranges


def pack(parcels: Sequence[Parcel]) -> Parcel:
    """One parcel as it is, several as a crate."""
    if len(parcels) == 1:
        return parcels[0]
    parts: list[bytes | memoryview] = []
    for parcel in parcels:
        topic = parcel.partition.topic.encode()
        size = len(parcel.payload)
        offsets = (parcel.partition.partition, parcel.first, parcel.next)
        head = _CRATED.pack(_KINDS.index(parcel.kind), len(topic), *offsets, parcel.fetched_us, size)
        parts += [head, topic, parcel.payload]
    return Parcel(TopicPartition("", -1), 0, 0, "crate", b"".join(parts))


def unpack(row: Parcel) -> list[Parcel]:
    """The parcels of a row, in order; payloads are views into it."""
    if row.kind != "crate":
        return [row]
    view, at = memoryview(row.payload), 0
    parcels: list[Parcel] = []
    while at < len(view):
        kind, name, number, first, next_offset, fetched_us, size = _CRATED.unpack_from(view, at)
        at += _CRATED.size
        partition = TopicPartition(bytes(view[at : at + name]).decode(), number)
        at += name
        payload = view[at : at + size]
        parcels.append(Parcel(partition, first, next_offset, _KINDS[kind], payload, fetched_us, row.taken_us))
        at += size
    return parcels


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
        pa.array([parcel.fetched_us], pa.int64()),
        payload,
    ]
    return pa.RecordBatch.from_arrays(columns, schema=ARROW_SCHEMA)


def from_arrow(batch: pa.RecordBatch) -> list[Parcel]:
    """The rows of an Arrow batch, as the writer gets them now; payloads are views into it."""
    columns: list[list[Any]] = [batch.column(i).to_pylist() for i in range(6)]
    topics, partitions, firsts, nexts, kinds, times = columns
    payloads: Any = batch.column(6)
    now = now_us()
    return [
        Parcel(
            TopicPartition(topics[i], partitions[i]),
            firsts[i],
            nexts[i],
            kinds[i],
            memoryview(payloads[i].as_buffer()),
            times[i],
            now,
        )
        for i in range(batch.num_rows)
    ]


def now_us() -> int:
    """Microseconds since 1970, the clock of all stages."""
    return time.time_ns() // 1000
