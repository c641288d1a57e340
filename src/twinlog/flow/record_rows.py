"""Rows of single records: how batches travel through Spark where a step looks into them. Runs in the reader's worker.

    head     payload   offset  timestamp  key  value  headers
    head     batches                                            a row as on any link: topics without a step, notes
    records  which                                              the beginning of a parcel: so many records follow
                       4711    …          …    {…}    []        one record
                                                                nothing: it fills a group of Spark

Spark hands rows to the writer in groups of GROUP_ROWS. A group is filled up with empty rows behind each answer of a
broker, and where it holds many bytes (R11), so that no record waits for others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from twinlog.errors import PartitionFault, TransformFailed
from twinlog.flow.opening import check_batch, codec_of, records_of
from twinlog.flow.parcel import Parcel, unwrap
from twinlog.flow.pieces import PIECE_BYTES, in_pieces
from twinlog.flow.reader_fault import fault_note
from twinlog.flow.row import Row, is_flush, pack, unpack
from twinlog.model.names import TopicPartition
from twinlog.spark.groups import empty_rows
from twinlog.wire.batch import cut, walk
from twinlog.wire.codec import OpenRecord

GROUP_ROWS: Final = 512
LARGEST: Final = 16 << 20
"""Bytes of a record that a step may look into: the JVM holds it several times, and without memory it ends."""
_TOGETHER: Final = 1_000
_TOGETHER_BYTES: Final = 65_536
_PAIR: Final[Any] = pa.struct([("key", pa.string()), ("value", pa.binary())])
_COLUMNS: Final[list[tuple[str, Any]]] = [
    ("head", pa.binary()),
    ("payload", pa.binary()),
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("offset", pa.int64()),
    ("timestamp", pa.int64()),
    ("key", pa.binary()),
    ("value", pa.binary()),
    ("headers", pa.list_(_PAIR)),
]
_SCHEMA: Final = pa.schema(_COLUMNS)
RECORDS_SQL: Final = (
    "head binary, payload binary, topic string, partition int, offset bigint, timestamp bigint, key binary, "
    "value binary, headers array<struct<key: string, value: binary>>"
)


def records_note(batches: Iterable[list[int]], returned: Iterable[tuple[int, int]]) -> bytes:
    """The payload of a `records` parcel: per batch how many records and which compression, and what was left out."""
    return json.dumps({"batches": [batch[:2] for batch in batches], "returned": [*returned]}).encode()


def _count(batches: list[list[int]], records: int, codec: int, size: int) -> None:
    """Add a batch; small ones of one compression count as one, or the note of many tiny ones would be large."""
    last = batches[-1] if batches else [0, -1, 0]
    if last[1] == codec and last[0] + records <= _TOGETHER and last[2] + size <= _TOGETHER_BYTES:
        last[0], last[2] = last[0] + records, last[2] + size
    else:
        batches.append([records, codec, size])


@dataclass
class RecordRows:
    """The rows of one task."""

    takes: Callable[[str], bool]  # whether records of a topic go through the steps
    _rows: list[tuple[Any, ...]] = field(default_factory=list)
    _bytes: int = 0
    _sent: int = 0
    _in_group: int = 0

    def batches(self, rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
        """Arrow batches for Spark."""
        for row in rows:
            if is_flush(row):
                self._raw(row)
                yield from self._handed()
                yield self._filled()
                continue
            raw: list[Parcel] = []
            for parcel in unpack(row):
                if parcel.kind not in {"data", "returned"} or not self.takes(parcel.partition.topic):
                    raw.append(parcel)
                    continue
                self._pack(raw)
                raw = []
                yield from self._opened(parcel)
            self._pack(raw)
            yield from self._handed()
        yield from self._handed()

    def _pack(self, parcels: list[Parcel]) -> None:
        if parcels:
            self._raw(pack(parcels))

    def _raw(self, row: Row) -> None:
        for piece in in_pieces([row]):
            self._rows.append((piece.head, piece.payload, None, None, None, None, None, None, None))
            self._bytes += len(piece.payload)

    def _opened(self, parcel: Parcel) -> Iterator[pa.RecordBatch]:
        """A parcel as rows of records; what cannot be opened ends it with a fault."""
        data, left_out = unwrap(parcel)
        where = parcel.partition
        counts: list[list[int]] = []
        records: list[OpenRecord] = []
        fault: PartitionFault | None = None
        next_offset = parcel.next
        try:
            for at, header in walk(data.payload):
                batch = cut(data.payload, at, header)
                next_offset = header.base_offset
                check_batch(where, batch)
                opened = records_of(where, batch)
                if any(_size(record) > LARGEST for record in opened):
                    opened, fault, next_offset = _before_the_largest(where, opened)
                _count(counts, len(opened), codec_of(batch), header.size)
                records += opened
                if fault is not None:
                    break
            else:
                next_offset = parcel.next
        except PartitionFault as raised:
            fault = raised
        self._raw(pack([parcel._replace(
            next=next_offset, kind="records", payload=records_note(counts, left_out.returned)
        )]))  # fmt: skip
        for record in records:
            self._rows.append(
                (None, None, *where, record.offset, record.timestamp, record.key, record.value, record.headers)
            )
            self._bytes += _size(record)
            if self._bytes > PIECE_BYTES:
                yield from self._handed()
        if fault is not None:
            self._raw(pack([parcel._replace(
                first=next_offset, next=next_offset, kind="fault", payload=fault_note(fault)
            )]))  # fmt: skip

    def _handed(self) -> Iterator[pa.RecordBatch]:
        """What has gathered; a group with many bytes is filled up."""
        if not self._rows:
            return
        batch = _batch(self._rows)
        self._sent += batch.num_rows
        self._in_group += self._bytes
        self._rows, self._bytes = [], 0
        yield batch
        if self._in_group > PIECE_BYTES:
            yield self._filled()

    def _filled(self) -> pa.RecordBatch:
        count = empty_rows(self._sent, GROUP_ROWS)
        self._sent += count
        self._in_group = 0
        return pa.RecordBatch.from_arrays([pa.nulls(count, field.type) for field in _SCHEMA], schema=_SCHEMA)


def _size(record: OpenRecord) -> int:
    return len(record.value or b"") + len(record.key or b"")


def _before_the_largest(
    where: TopicPartition, records: list[OpenRecord]
) -> tuple[list[OpenRecord], TransformFailed, int]:
    number = next(number for number, record in enumerate(records) if _size(record) > LARGEST)
    at = records[number].offset
    problem = f"it has {_size(records[number])} bytes; a transform takes at most {LARGEST}"
    return records[:number], TransformFailed(*where, at, problem), at


def _batch(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True))
    arrays = [pa.array(column, kind) for column, kind in zip(columns[:-1], _SCHEMA.types[:-1], strict=True)]
    return pa.RecordBatch.from_arrays([*arrays, _headers(columns[-1])], schema=_SCHEMA)


def _headers(lists: tuple[list[tuple[str, bytes | None]] | None, ...]) -> Any:
    """Lists of pairs, without an object per pair; rows without a record have an empty list."""
    if not any(lists):
        pairs: list[tuple[str, bytes | None]] = []
        ends = [0] * (len(lists) + 1)
    else:
        pairs = [pair for some in lists for pair in some or ()]
        ends = [0]
        for some in lists:
            ends.append(ends[-1] + len(some or ()))
    inner = pa.StructArray.from_arrays(
        [pa.array([name for name, _ in pairs], pa.string()), pa.array([value for _, value in pairs], pa.binary())],
        fields=list(_PAIR),
    )
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), inner)
