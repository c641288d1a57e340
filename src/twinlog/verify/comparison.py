"""Comparing a stretch of the source with its copy by the ledger's map. Pure of I/O; hot.

    source batches ─┐                           equal as whole batches: the bytes behind the stamped header fields are
                    ├─▶ side by side by map ─▶  the same, nothing is opened
    target batches ─┘                           otherwise both are opened and compared record by record

The two logs may be cut into batches differently (merged, split, re-encoded). Batches gather on both sides until both
end at the same place, or too much has gathered; then they are settled. What does not match is kept and explained at
the end (model.differences).
"""

from __future__ import annotations

import marshal
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import Final, NamedTuple

import google_crc32c

from twinlog.model.ledger.runs import Run, RunMap
from twinlog.model.verify.differences import Content, Oddity, describe_change, explain
from twinlog.model.verify.verification import LISTED, Chunk, ChunkResult
from twinlog.wire.batch import HEADER_BYTES, LOG_APPEND_TIME, BatchHeader
from twinlog.wire.codec import OpenRecord, open_batch
from twinlog.wire.ranges import RawBatch

GATHERED_BYTES: Final = 16 << 20
"""So much may wait for the other side before it is opened and compared as far as it goes (R11)."""
KEPT: Final = 2_000
"""Oddities that are kept to be explained; more are counted."""
_TIMES: Final = 8


class Side(Enum):
    """One of the two logs that are compared."""

    SOURCE = auto()
    TARGET = auto()


class Absent(NamedTuple):
    """A record that is gone from a compacted target: right only if its key has a later one."""

    source: int
    target: int
    key: bytes


class _Fed(NamedTuple):
    """A source batch and the part of the map that it covers."""

    header: BatchHeader
    data: bytes
    runs: list[Run]


_Item = tuple[int, Content]
"""A record at its place on the target."""


class Comparison:
    """One chunk. Feed it what it `wants` until that is None, then `finish`."""

    def __init__(self, chunk: Chunk, *, list_absent: bool = False) -> None:
        """Nothing is read here; `list_absent` keeps the records that compaction took, for who settles them."""
        self.chunk = chunk
        self.result = ChunkResult(chunk.partition, chunk.source_first, chunk.source_next)
        self.absent: list[Absent] = []
        self.source_start = self.target_start = 0  # where the logs begin now; whoever feeds keeps them true
        self._list_absent = list_absent
        self._map = _Cursor(chunk.runs(), chunk.target_next)
        self._lookup = RunMap(list(chunk.stretches))
        self._source: list[_Fed] = []
        self._target: list[RawBatch] = []
        self._source_items: list[_Item] = []
        self._origins: list[int] = []  # source offsets of the source items
        self._target_items: list[_Item] = []
        self._writers: list[tuple[int, int]] = []  # (base offset, producer id) of opened target batches
        self._source_to = self._target_to = chunk.target_first
        self._ended: set[Side] = set()
        self._gathered = 0
        self._oddities: list[Oddity] = []

    # --- feeding ------------------------------------------------------------------------------------------------------

    @property
    def wants(self) -> Side | None:
        """The side that is behind; None when both are at their end."""
        if Side.SOURCE not in self._ended and (self._source_to <= self._target_to or Side.TARGET in self._ended):
            return Side.SOURCE
        return None if Side.TARGET in self._ended else Side.TARGET

    def feed(self, side: Side, batch: RawBatch) -> None:
        """Take the next batch of one side."""
        header = batch.header
        if side is Side.SOURCE:
            self._source.append(_Fed(header, batch.data, self._map.take(header.next_offset)))
            self._source_to = self._map.place
        else:
            self._target.append(batch)
            self._target_to = max(self._target_to, min(header.next_offset, self.chunk.target_next))
        self._gathered += header.size
        if self._source_to == self._target_to or self._gathered > GATHERED_BYTES:
            self._settle()

    def end(self, side: Side) -> None:
        """Nothing more comes from this side."""
        self._ended.add(side)
        if side is Side.SOURCE:
            self._source_to = self.chunk.target_next
        else:
            self._target_to = self.chunk.target_next

    def finish(self) -> ChunkResult:
        """Settle what is left and name what differs."""
        self._settle()
        if self.chunk.lineage.changes:
            result = self.result
            result.transformed, result.equal = result.equal - result.unopened, result.unopened
        self.result.differences = explain(self._oddities)[:LISTED]
        return self.result

    # --- settling -----------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Compare everything before the place that both sides have reached."""
        reached = min(self._source_to, self._target_to)
        if not self._source_items and not self._target_items:
            self._settle_unopened()
        for fed in self._source:
            self._open_source(fed)
        for batch in self._target:
            self._open_target(batch)
        self._source.clear()
        self._target.clear()
        source_count = bisect_left(self._source_items, reached, key=_place)
        target_count = bisect_left(self._target_items, reached, key=_place)
        if source_count or target_count:
            self._compare(
                self._source_items[:source_count], self._origins[:source_count], self._target_items[:target_count]
            )
            del self._source_items[:source_count], self._origins[:source_count], self._target_items[:target_count]
            if not self._target_items:
                self._writers.clear()
        self._gathered = 0

    def _settle_unopened(self) -> None:
        """Batches in front whose records are the same bytes on both sides."""
        same = 0
        for fed, batch in zip(self._source, self._target, strict=False):
            if not _is_copy(fed, batch):
                break
            same += 1
            self.result.equal += fed.header.record_count
            self.result.unopened += fed.header.record_count
            records = fed.data[HEADER_BYTES:]
            self._digest(fed.header.base_timestamp.to_bytes(_TIMES, "big", signed=True) + records)
        del self._source[:same], self._target[:same]

    def _open_source(self, fed: _Fed) -> None:
        first, after = self.chunk.source_first, self.chunk.source_next
        add, note = self._source_items.append, self._origins.append
        changes, unchanged = self.chunk.lineage.changes, self.chunk.lineage.unchanged
        runs = iter(fed.runs)
        run = next(runs, None)
        for record in self._opened(fed.header, fed.data, Side.SOURCE):
            offset = record.offset
            if not first <= offset < after:
                continue
            while run is not None and offset >= run.source_end:
                run = next(runs, None)
            if run is None or offset < run.source:
                self._never_copied(record, fed.header.producer_id)
                continue
            content = (record.timestamp, record.key, record.value, record.headers)
            add((run.target + offset - run.source, unchanged(*content) if changes else content))
            note(offset)

    def _open_target(self, batch: RawBatch) -> None:
        first, after = self.chunk.target_first, self.chunk.target_next
        self._writers.append((batch.header.base_offset, batch.header.producer_id))
        records = self._opened(batch.header, batch.data, Side.TARGET)
        kept = [record for record in records if first <= record.offset < after]
        lineage, topic = self.chunk.lineage, self.chunk.partition.topic
        items: list[_Item] = [
            (record.offset, (record.timestamp, record.key, record.value, record.headers)) for record in kept
        ]
        if lineage.provenance.mode == "header":
            items = [(place, (*rest, lineage.unmarked(headers, topic))) for place, (*rest, headers) in items]  # type: ignore[misc]
        if lineage.changes:
            items = [(place, lineage.unchanged(*content)) for place, content in items]
        self._target_items += items

    def _opened(self, header: BatchHeader, data: bytes, side: Side) -> Sequence[OpenRecord]:
        try:
            return open_batch(data)
        except Exception as error:  # noqa: BLE001  the codec raises whatever its decompressor raises
            what = f"the {side.name.lower()}'s batch cannot be decoded: {error}"
            at = header.base_offset
            self._odd(Oddity(at, None, None, None, what) if side is Side.SOURCE else Oddity(None, at, None, None, what))
            return ()

    def _never_copied(self, record: OpenRecord, producer_id: int) -> None:
        chunk = self.chunk
        if any(first <= record.offset < after for first, after in chunk.gaps):
            self.result.skipped += 1
            return
        if chunk.lineage.comes_home(producer_id, record.headers, chunk.remote.topic):
            self.result.returned += 1
            return
        if chunk.lineage.drops:
            self.result.dropped += 1
            return
        content = (record.timestamp, record.key, record.value, record.headers)
        self._odd(Oddity(record.offset, None, _print(content), None, "it was never copied: the ledger has no place"))

    # --- record by record ---------------------------------------------------------------------------------------------

    def _compare(self, source: list[_Item], origins: list[int], target: list[_Item]) -> None:
        if source == target:
            self.result.equal += len(source)
            self._digest(marshal.dumps([content for _, content in source], 2))
            return
        result = self.result
        result.source_digest = _extended(result.source_digest, marshal.dumps([content for _, content in source], 2))
        result.target_digest = _extended(result.target_digest, marshal.dumps([content for _, content in target], 2))
        left, right = 0, 0
        while left < len(source) or right < len(target):
            mine = source[left][0] if left < len(source) else self.chunk.target_next
            yours = target[right][0] if right < len(target) else self.chunk.target_next
            if mine < yours:
                self._not_on_target(origins[left], *source[left])
                left += 1
            elif yours < mine:
                self._not_on_source(*target[right], source, origins)
                right += 1
            else:
                self._pair(origins[left], mine, source[left][1], target[right][1])
                left, right = left + 1, right + 1

    def _pair(self, origin: int, place: int, source: Content, target: Content) -> None:
        if source == target:
            self.result.equal += 1
            return
        what = describe_change(source, target) if len(self._oddities) < KEPT else ""
        self._odd(Oddity(origin, place, _print(source), _print(target), what))

    def _not_on_target(self, origin: int, place: int, content: Content) -> None:
        key, value = content[1], content[2]
        if place < self.target_start:
            self.result.deleted_target += 1
        elif self.chunk.target_compacted and (key is None or value is None):
            # Compaction drops records without a key, and tombstones after their time.
            self.result.compacted_target += 1
        elif self.chunk.target_compacted and key is not None:
            self.result.unsettled += 1
            if self._list_absent:
                self.absent.append(Absent(origin, place, key))
        else:
            self._odd(Oddity(origin, place, _print(content), None, "the target has no record there"))

    def _not_on_source(self, place: int, content: Content, source: list[_Item], origins: list[int]) -> None:
        run = self._lookup.first_at_or_behind(place, by_target=True)
        if run is None or place < run.target:
            producer = self._writer(place)
            lineage = self.chunk.lineage
            if lineage.shared and producer not in lineage.own:
                self.result.foreign += 1
                return
            what = self._stranger(producer, content, source, origins)
            self._odd(Oddity(None, place, None, _print(content), what))
            return
        origin = run.source + place - run.target
        if origin < self.source_start:
            self.result.deleted_source += 1
        elif self.chunk.source_compacted:
            self.result.compacted_source += 1
        else:
            what = "the source no longer has the record that was copied here"
            self._odd(Oddity(origin, place, None, _print(content), what))

    def _writer(self, place: int) -> int:
        at = bisect_right(self._writers, place, key=lambda writer: writer[0]) - 1
        return self._writers[at][1] if at >= 0 else -1

    def _stranger(self, producer: int, content: Content, source: list[_Item], origins: list[int]) -> str:
        if len(self._oddities) >= KEPT:
            return ""
        by = "this link" if producer in self.chunk.lineage.own else f"producer {producer}, not by this link"
        twin = next((o for (_, other), o in zip(source, origins, strict=True) if other == content), None)
        if twin is not None:
            return f"the record of source offset {twin} a second time, written by {by}"
        return f"no record of the source, written by {by}"

    def _odd(self, oddity: Oddity) -> None:
        self.result.differing += 1
        if len(self._oddities) < KEPT:
            self._oddities.append(oddity)

    def _digest(self, data: bytes) -> None:
        """The same on both sides; as long as all was the same it is computed once."""
        result = self.result
        same = result.source_digest == result.target_digest
        result.source_digest = _extended(result.source_digest, data)
        result.target_digest = result.source_digest if same else _extended(result.target_digest, data)


class _Cursor:
    """The map read from its beginning to its end, batch by batch."""

    def __init__(self, runs: Iterator[Run], end: int) -> None:
        self._runs, self._end = runs, end
        self._run = next(runs, None)

    def take(self, until: int) -> list[Run]:
        """What lies before the source offset `until`, cut there."""
        taken: list[Run] = []
        while (run := self._run) is not None and run.source < until:
            if run.source_end > until:
                cut = until - run.source
                self._run = Run(run.source + cut, run.target + cut, run.length - cut)
                run = Run(run.source, run.target, cut)
            else:
                self._run = next(self._runs, None)
            taken.append(run)
        return taken

    @property
    def place(self) -> int:
        """Where the next copied record lies on the target; the chunk's end when there is none."""
        return self._end if self._run is None else self._run.target


def _is_copy(fed: _Fed, batch: RawBatch) -> bool:
    """Whether two batches hold the same records at their places, seen without opening them."""
    mine, copy = fed.header, batch.header
    if len(fed.runs) != 1 or fed.runs[0] != (mine.base_offset, copy.base_offset, mine.record_count):
        return False
    return (
        mine.magic == copy.magic == 2
        and mine.is_dense
        and copy.is_dense
        and mine.codec == copy.codec
        and not (mine.attributes | copy.attributes) & LOG_APPEND_TIME
        and mine.length == copy.length
        and mine.record_count == copy.record_count
        and mine.base_timestamp == copy.base_timestamp
        and mine.max_timestamp == copy.max_timestamp
        and fed.data.startswith(batch.data[HEADER_BYTES:], HEADER_BYTES)
    )


def _place(item: _Item) -> int:
    return item[0]


def _print(content: Content) -> int:
    timestamp, key, value, headers = content
    return hash((timestamp, key, value, tuple(headers)))


def _extended(digest: int, data: bytes) -> int:
    return int(google_crc32c.extend(digest, data))
