"""Shaping: from the source's batches to batches the target will take. Runs on an executor, in the writer's worker.

A batch passes unopened whenever nothing in it must change. It is opened for exactly these reasons:

    straddle      it begins before the position at which we resume
    holes         compaction removed records: the broker refuses a batch whose count and last offset disagree
    append time   all records carry the batch's time, which only re-encoding makes true on a create-time topic
    too large     for the target topic: split; one record that is too large alone is a fault
    tiny          several small batches in line: a request takes one batch per partition, so they are merged
    old format    magic 0 or 1
    provenance    headers tell where a record has been: all batches of such a link are opened

Whatever it was, the compression stays what the producer chose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from twinlog.errors import CorruptBatch, PartitionFault, RecordTooLarge
from twinlog.flow.marks import HopMarks
from twinlog.flow.opening import check_batch, codec_of, records_of
from twinlog.model.ledger.runs import Run
from twinlog.model.names import TopicPartition
from twinlog.wire.batch import LOG_APPEND_TIME, BatchHeader, CutBatch, cut, read_header, scan_tiny, walk
from twinlog.wire.codec import (
    OpenRecord,
    PlainRecord,
    SealedBatch,
    merge,
    seal,
)

TINY_RECORDS: Final = 64
TINY_BYTES: Final = 8_192
"""Up to here a batch in a queue is merged: re-encoding costs about 1 us a record, a request takes one batch only."""


class Piece(NamedTuple):
    """One batch for the target. `offsets` are the source offsets of its records; None: dense from `first`."""

    batch: CutBatch
    first: int
    offsets: Sequence[int] | None
    passed: bool  # unopened: its bytes are the source's

    @property
    def header(self) -> BatchHeader:
        """Of the batch, before it gets our stamp."""
        return self.batch.header

    @property
    def data(self) -> bytes:
        """The batch in one piece."""
        return self.batch.data

    @property
    def size(self) -> int:
        """Bytes of the batch."""
        return len(self.batch.head) + len(self.batch.records)

    @property
    def records(self) -> int:
        """How many records it carries."""
        return self.header.record_count

    @property
    def next_offset(self) -> int:
        """The source offset behind its last record."""
        return (self.offsets[-1] if self.offsets is not None else self.first + self.records - 1) + 1

    def runs(self, target: int) -> Iterator[Run]:
        """Where its records are when its first one got target offset `target`."""
        if self.offsets is None:
            yield Run(self.first, target, self.records)
            return
        start = 0
        for index in range(1, len(self.offsets) + 1):
            if index == len(self.offsets) or self.offsets[index] != self.offsets[index - 1] + 1:
                yield Run(self.offsets[start], target + start, index - start)
                start = index


@dataclass
class Shaper:
    """The rules for one partition."""

    partition: TopicPartition
    limit: int  # max.message.bytes of the target topic
    merge_bytes: int
    marks: HopMarks | None = None
    _returned: list[int] = field(default_factory=list)

    def shape(self, payload: bytes | memoryview, resume: int) -> Iterator[Piece]:
        """The pieces of one parcel, in order, without anything before `resume`. Raises PartitionFault."""
        if self.marks is not None:
            yield from self._shape_marked(payload, resume, self.marks)
            return
        merged_to = 0
        while (end := self._tiny_group(payload, merged_to, resume)) > merged_to:
            group = bytes(payload[merged_to:end])
            sealed = merge(group, read_header(group).codec)
            if sealed is None or len(sealed.data) > self.limit:
                break
            merged_to = end
            yield self._sealed(sealed)
        yield from self._shape_one_by_one(payload[merged_to:], resume)

    def take_returned(self) -> list[int]:
        """The offsets of records that were left out since the last call, because they have been on the target."""
        returned, self._returned = self._returned, []
        return returned

    def _shape_marked(self, payload: bytes | memoryview, resume: int, marks: HopMarks) -> Iterator[Piece]:
        """Every batch opened, its records marked; neighbours of one compression are sealed together up to a size."""
        records: list[OpenRecord] = []
        codec = held = 0
        try:
            for at, header in walk(payload):
                batch = cut(payload, at, header)
                self._check(batch)
                its_codec = codec_of(batch)
                if records and (its_codec != codec or held + header.size > self.merge_bytes):
                    yield from self._seal(records, codec)
                    records, held = [], 0
                codec = its_codec
                wanted = [record for record in self._open(batch) if record.offset >= resume]
                kept, returned = marks.mark(wanted)
                records += kept
                held += header.size
                self._returned += returned
        except PartitionFault:
            yield from self._seal(records, codec)  # what lies before the bad batch is sound
            raise
        yield from self._seal(records, codec)

    def _tiny_group(self, payload: bytes | memoryview, at: int, resume: int) -> int:
        """Where several tiny batches in line end; `at` when there are not several, or the position is amid them."""
        end = scan_tiny(payload, at, TINY_RECORDS, min(TINY_BYTES, self.limit), self.merge_bytes)
        if end == at:
            return at
        first = read_header(payload, at)
        alone = first.size == end - at
        return at if alone or first.base_offset < resume else end

    def _shape_one_by_one(self, payload: bytes | memoryview, resume: int) -> Iterator[Piece]:
        """The same with every batch looked at by itself; merges what stands between others, and names what is wrong."""
        tiny: list[CutBatch] = []
        held = 0
        for at, header in walk(payload):
            batch = cut(payload, at, header)
            try:
                self._check(batch)
            except PartitionFault:
                if tiny:  # what lies before the bad batch is sound
                    yield from self._merge(tiny)
                raise
            if header.next_offset <= resume:
                continue
            if self._is_tiny(header, resume):
                if tiny and (header.codec != tiny[0].header.codec or held + header.size > self.merge_bytes):
                    yield from self._merge(tiny)
                    tiny, held = [], 0
                tiny.append(batch)
                held += header.size
                continue
            if tiny:
                yield from self._merge(tiny)
                tiny, held = [], 0
            yield from self._one(batch, resume)
        if tiny:
            yield from self._merge(tiny)

    def _check(self, batch: CutBatch) -> None:
        check_batch(self.partition, batch)

    def _is_tiny(self, header: BatchHeader, resume: int) -> bool:
        return (
            header.magic == 2
            and header.record_count <= TINY_RECORDS
            and header.size <= min(TINY_BYTES, self.limit)
            and header.base_offset >= resume
            and header.record_count > 0
        )

    def _merge(self, batches: list[CutBatch]) -> Iterator[Piece]:
        if len(batches) == 1:
            yield from self._one(batches[0], resume=0)
            return
        records: list[OpenRecord] = []
        try:
            for batch in batches:
                records += self._open(batch)
        except CorruptBatch:
            yield from self._seal(records, batches[0].header.codec)
            raise
        yield from self._seal(records, batches[0].header.codec)

    def _one(self, batch: CutBatch, resume: int) -> Iterator[Piece]:
        header = batch.header
        passes = (
            header.magic == 2
            and header.is_dense
            and header.base_offset >= resume
            and not header.attributes & LOG_APPEND_TIME
            and header.size <= self.limit
        )
        if passes:
            yield Piece(batch, header.base_offset, None, passed=True)
            return
        records = [record for record in self._open(batch) if record.offset >= resume]
        yield from self._seal(records, codec_of(batch))

    def _open(self, batch: CutBatch) -> list[OpenRecord]:
        return records_of(self.partition, batch)

    def _seal(self, records: Sequence[OpenRecord], codec: int) -> Iterator[Piece]:
        if not records:
            return
        for sealed in seal(records, codec, self.limit):
            if len(sealed.data) > self.limit:
                raise RecordTooLarge(*self.partition, sealed.offsets[0], len(sealed.data), self.limit)
            yield self._sealed(sealed)

    def _sealed(self, sealed: SealedBatch) -> Piece:
        first, last = sealed.offsets[0], sealed.offsets[-1]
        dense = last - first + 1 == len(sealed.offsets)
        batch = cut(sealed.data, 0, sealed.header)
        return Piece(batch, first, None if dense else sealed.offsets, passed=False)

    def opened(self, piece: Piece) -> list[OpenRecord]:
        """The records of a piece with their source offsets."""
        offsets = piece.offsets if piece.offsets is not None else range(piece.first, piece.first + piece.records)
        records = self._open(piece.batch)
        return [_at(record, offset) for record, offset in zip(records, offsets, strict=True)]

    def behind(self, piece: Piece, records: int) -> Iterator[Piece]:
        """The rest of a piece of which the first `records` are on the target already."""
        yield from self._seal(self.opened(piece)[records:], piece.header.codec)


def _at(record: OpenRecord, offset: int) -> OpenRecord:
    """A record of a re-encoded batch counts from 0: give it its source offset back."""
    return PlainRecord(offset, record.timestamp, record.key, record.value, record.headers)
