"""Records behind the transforms become batches of their source again. Runs in the writer's Python worker.

    records 4 | 4711 4712 4713 4714 |  ─▶  one batch with the offsets 4711, 4712, 4714; 4713 was dropped

The batches have the source's offsets, with holes, so the data path treats them as the source's own: it resumes amid
them, splits them, meets them at a take-over and notes where each record lies.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from twinlog.errors import TransformFailed
from twinlog.flow.left_out import LeftOut, ranges_of
from twinlog.flow.parcel import Parcel, changed_parcel, now_us
from twinlog.flow.pieces import MORE
from twinlog.flow.reader_fault import fault_note
from twinlog.flow.row import Row, pack, unpack
from twinlog.wire.codec import OpenRecord, PlainRecord, seal_in_place

CHANGED_COLUMNS: Final = (
    "head", "payload", "offset", "timestamp", "key", "value", "headers", "drop", "error",
)  # fmt: skip
"""What the writer gets for each row: `drop` leaves a record out, `error` says why a step could not handle it."""
_HEADERS: Final = CHANGED_COLUMNS.index("headers") - 2


class _Columns:
    """Records of one parcel, column by column: an object for each record would cost as much as its encoding."""

    def __init__(self) -> None:
        self.lists: tuple[list[Any], ...] = tuple([] for _ in CHANGED_COLUMNS[2:])

    def __len__(self) -> int:
        return len(self.lists[0])

    def add(self, others: Sequence[list[Any]], first: int, behind: int) -> None:
        for mine, yours in zip(self.lists, others, strict=True):
            mine.extend(yours[first:behind])


@dataclass
class Resealing:
    """The rows of one task."""

    tolerant: bool  # records that a step cannot handle are left out
    merge_bytes: int
    _parcel: Parcel | None = None
    _note: dict[str, Any] = field(default_factory=dict)
    _wanted: int = 0  # records of the parcel
    _records: _Columns = field(default_factory=_Columns)

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        """The rows that the writer of any link takes."""
        for batch in batches:
            heads, payloads, *columns = [batch.column(name) for name in CHANGED_COLUMNS]
            lists: list[list[Any]] = [column.to_pylist() for column in columns]
            lists[_HEADERS] = _headers(columns[_HEADERS])
            offsets, now = lists[0], now_us()
            marks, at = heads.to_pylist(), 0
            while at < len(marks):
                head = marks[at]
                if head is not None:
                    yield from self._raw(Row(head, memoryview(payloads[at].as_buffer()), now))
                    at += 1
                elif offsets[at] is None:
                    at += 1
                else:
                    behind = min(at + self._wanted - len(self._records), _behind(offsets, at))
                    self._records.add(lists, at, behind)
                    at = behind
                    if len(self._records) == self._wanted:
                        yield from self._finished()

    def _raw(self, row: Row) -> Iterator[Row]:
        if not row.head or row.head == MORE:
            yield row
            return
        (parcel,) = unpack(row)
        if parcel.kind != "records":
            yield row
            return
        self._parcel, self._note = parcel, json.loads(bytes(parcel.payload))
        self._wanted = sum(count for count, _ in self._note["batches"])
        if not self._wanted:
            yield from self._finished()

    def _finished(self) -> Iterator[Row]:
        """All records of a parcel are there."""
        parcel, records = self._parcel, self._records
        if parcel is None:
            raise AssertionError("records without a parcel")
        self._parcel, self._records = None, _Columns()
        offsets, *_, drops, errors = records.lists
        bad = [n for n, error in enumerate(errors) if error is not None] if any(errors) else []
        stops = bool(bad) and not self.tolerant
        next_offset = offsets[bad[0]] if stops else parcel.next
        payload = b"".join(self._sealed(records, next_offset))
        known = list(zip(offsets, drops, errors, strict=True)) if any(drops) or any(errors) else []
        left_out = LeftOut(
            [(first, min(behind, next_offset)) for first, behind in self._note["returned"] if first < next_offset],
            ranges_of(offset for offset, drop, error in known if drop and error is None and offset < next_offset),
            ranges_of(offset for offset, _, error in known if error is not None and offset < next_offset),
        )
        yield _row(changed_parcel(parcel, next_offset, payload, left_out))
        if stops:
            note = fault_note(TransformFailed(*parcel.partition, next_offset, errors[bad[0]]))
            yield _row(parcel._replace(first=next_offset, next=next_offset, kind="fault", payload=note))

    def _sealed(self, records: _Columns, until: int) -> Iterator[bytes]:
        """Neighbours of one compression together, up to a size."""
        *content, drops, errors = records.lists
        rows: Iterable[tuple[Any, ...]] = zip(*content, strict=True)
        if any(drops) or any(errors):
            rows = ((-1,) if drop or error is not None else row
                    for row, drop, error in zip(rows, drops, errors, strict=True))  # fmt: skip
        rows = iter(rows)
        kept: list[OpenRecord] = []
        codec = held = 0
        for count, its_codec in self._note["batches"]:
            if kept and (its_codec != codec or held > self.merge_bytes):
                yield seal_in_place(kept, codec)
                kept, held = [], 0
            codec = its_codec
            some = [PlainRecord._make(row) for row in itertools.islice(rows, count) if 0 <= row[0] < until]
            held += sum(len(record.value or b"") for record in some)
            kept += some
        yield seal_in_place(kept, codec)


def _behind(offsets: list[Any], at: int) -> int:
    """Where the records that begin here end: at a row without a record."""
    try:
        return offsets.index(None, at)
    except ValueError:
        return len(offsets)


def _row(parcel: Parcel) -> Row:
    return pack([parcel])._replace(taken_us=parcel.taken_us)


def _headers(column: Any) -> list[list[tuple[str, bytes | None]]]:
    """The headers of each row, without an object of Arrow per pair."""
    if not len(column.flatten()):
        return [[] for _ in range(len(column))]
    inner = column.flatten()
    pairs = list(zip(inner.field("key").to_pylist(), inner.field("value").to_pylist(), strict=True))
    made, at = [], 0
    for size in column.value_lengths().to_pylist():
        count = size or 0
        made.append(pairs[at : at + count])
        at += count
    return made
