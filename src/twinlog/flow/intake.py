"""The beginning of an outbox: parcels become batches that wait to be sent. Pure of I/O; runs in the writer's loop.

    parcels ──gather──▶ shape ──▶ without what an older owner wrote already ──▶ waiting

A parcel that cannot be shaped, or that tells a fault, ends the intake: what lies before it is still sent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from twinlog.errors import LedgerDisagrees, OffsetGap, ParcelsMissing, PartitionFault
from twinlog.flow.left_out import LeftOut, Tally
from twinlog.flow.outgoing import Outgoing, Progress
from twinlog.flow.parcel import BATCHES, Parcel, unwrap
from twinlog.flow.reader_fault import ReaderFault
from twinlog.flow.shape import Piece, Shaper
from twinlog.flow.stopwatch import Passage
from twinlog.flow.unnoted import End, Place, Unnoted
from twinlog.model.ledger.records import Gap
from twinlog.model.names import TopicPartition
from twinlog.wire.batch import CutBatch
from twinlog.wire.codec import content_of


@dataclass
class Intake:
    """One partition's parcels, and what was made of them."""

    partition: TopicPartition
    shaper: Shaper
    unnoted: Unnoted  # our own records found at the take-over, still to be met on the source side
    shaped_to: int  # source offsets before this one are queued, sent or done
    now_ms: Callable[[], int]
    parcels: deque[Parcel] = field(default_factory=deque)
    waiting: deque[Outgoing] = field(default_factory=deque)
    returned: Tally = field(default_factory=Tally)  # offsets left out, ahead of the position
    dropped: Tally = field(default_factory=Tally)
    refused: Tally = field(default_factory=Tally)
    met_to: int = field(init=False)  # source offset behind the last record that was found on the target
    doom: PartitionFault | None = None  # becomes the fault when everything before it is acknowledged

    def __post_init__(self) -> None:
        self.met_to = self.shaped_to

    @property
    def holds_any(self) -> bool:
        """Whether anything is left to be sent."""
        return bool(self.parcels or self.waiting)

    def shape_more(self) -> bool:
        """Make batches of the next parcels. False: there are none, or none may follow."""
        if not self.parcels or self.doom is not None:
            return False
        self._shape(*self._gather())
        return True

    def drop(self) -> int:
        """Forget everything; returns its bytes."""
        held = sum(len(parcel.payload) for parcel in self.parcels) + sum(out.release for out in self.waiting)
        self.parcels.clear()
        self.waiting.clear()
        return held

    def _gather(self) -> tuple[Parcel, LeftOut, int]:
        """The next parcel, with the small ones that wait right behind it: their batches can then be merged.

        With it come the offsets that were left out, and the bytes that are done with when it is.
        """
        parts = [self.parcels.popleft()]
        size = release = len(parts[0].payload)
        while self.parcels and parts[-1].kind in BATCHES:
            after = self.parcels[0]
            size += len(after.payload)
            if after.kind not in BATCHES or (after.first, after.epoch) != (parts[-1].next, parts[-1].epoch):
                break
            if size > self.shaper.merge_bytes:
                break
            release = size
            parts.append(self.parcels.popleft())
        opened = [unwrap(part) for part in parts]
        parcel, left_out = opened[0]
        if len(opened) > 1:
            left_out = reduce(or_, (some for _, some in opened))
            parcel = parcel._replace(next=parts[-1].next, payload=b"".join(part.payload for part, _ in opened))
        return parcel, left_out, release

    def _shape(self, parcel: Parcel, left_out: LeftOut, release: int) -> None:
        before, start = len(self.waiting), self.shaped_to
        try:
            if parcel.first > self.shaped_to:
                raise ParcelsMissing(*parcel.partition, parcel.first, self.shaped_to)
            if parcel.kind == "fault":
                self._judge(parcel)
            elif parcel.kind == "gap":
                self._skip(parcel)
            else:
                pieces = self.shaper.shape(parcel.payload, self.shaped_to)
                for piece in self._without_unnoted(pieces, parcel) if self.unnoted else pieces:
                    passage = Passage(parcel.fetched_us, parcel.taken_us)
                    self.waiting.append(Outgoing(piece, piece.next_offset, parcel.epoch, passage=passage))
                    self.shaped_to = piece.next_offset
            self.shaped_to = max(self.shaped_to, parcel.next)
            if len(self.waiting) == before or self.waiting[-1].source_next < parcel.next:
                self.waiting.append(Outgoing(None, self._accounted_to, parcel.epoch))
        except PartitionFault as fault:
            self.doom = fault
            self.waiting.append(Outgoing(None, self._accounted_to, parcel.epoch))
        self.waiting[-1].release += release
        for tally, ranges in zip((self.returned, self.dropped, self.refused), left_out, strict=True):
            if ranges:
                tally.add(ranges, start)
        self.returned.add([(offset, offset + 1) for offset in self.shaper.take_returned()], start)

    def _judge(self, parcel: Parcel) -> None:
        """Raise what the reader found; a gap only where records are missing, which the reader cannot tell."""
        if parcel.next == parcel.first:
            raise ReaderFault(bytes(parcel.payload))
        if parcel.next > self._copied_to:
            raise OffsetGap(*parcel.partition, self._copied_to, parcel.next)

    @property
    def _copied_to(self) -> int:
        """Everything before this source offset was copied, by this owner or by an older one that did not note it."""
        return max(self.shaped_to, self.unnoted.least_next) if self.unnoted else self.shaped_to

    def _skip(self, parcel: Parcel) -> None:
        if parcel.next <= self._copied_to:
            return  # a reader that began too early: those offsets were copied before the source lost them
        gap = Gap(
            topic=parcel.partition.topic,
            partition=parcel.partition.partition,
            first=max(parcel.first, self._copied_to),
            next=parcel.next,
            reason=bytes(parcel.payload).decode(),
            at_ms=self.now_ms(),
        )
        self.shaped_to = parcel.next
        self.waiting.append(Outgoing(None, self._accounted_to, parcel.epoch, gap=gap))

    @property
    def _accounted_to(self) -> int:
        """Where the ledger's position may be: with it the next owner judges what is still to be met."""
        return self.met_to if self.unnoted else self.shaped_to

    def _without_unnoted(self, pieces: Iterator[Piece], parcel: Parcel) -> Iterator[Piece]:
        """Note where the records lie that an older owner wrote already; what is left is to be sent.

        The two owners may have cut the records differently:

            written   │  5  │  5  │          the first is met by 3 + 2, the rest of the second piece by 3 of the second;
            pieces    │ 3 │  5  │ 6  │       the remaining 2 by the front of the third, of which 4 are new
        """
        whole, fault = _take_whole(pieces)
        opened = [self.shaper.opened(piece) for piece in whole]
        met = self.unnoted.meet([(record.offset, content_of(record)) for records in opened for record in records])
        places, passed = deque(met.places), False
        for piece, records in zip(whole, opened, strict=True):
            count = min(len(places), len(records))
            self._note_written(piece, [places.popleft() for _ in range(count)], parcel.epoch)
            if count == len(records):
                continue
            if met.end is End.ODD:
                raise LedgerDisagrees(
                    *self.partition,
                    f"the target does not hold the record at source offset {records[count].offset}, though records "
                    f"behind it were copied: the source lost or changed records after they were copied",
                )
            if not passed:  # what was copied and has left the source since will never be met
                behind = Outgoing(None, self.met_to, target=self.unnoted.target_next, writing=self.unnoted.behind)
                self.waiting.append(behind)
                passed = True
            yield from self.shaper.behind(piece, count) if count else [piece]
        if fault is not None:
            raise fault

    def _note_written(self, piece: Piece, places: list[Place], epoch: int) -> None:
        """Some records at the front of a piece lie on the target, not always one behind the other."""
        offsets = piece.offsets if piece.offsets is not None else range(piece.first, piece.first + piece.records)
        head, begin = piece.batch.head, 0
        body = piece.batch.records
        for end in range(1, len(places) + 1):
            if end < len(places) and places[end].target == places[end - 1].target + 1:
                continue
            header = piece.header._replace(record_count=end - begin)
            batch = CutBatch(head, body, header)
            part = piece._replace(batch=batch, first=offsets[begin], offsets=offsets[begin:end])
            self.shaped_to = self.met_to = offsets[end - 1] + 1
            out = Outgoing(part, self.met_to, epoch, progress=Progress.ACKED, target=places[begin].target)
            out.writing = places[end - 1].writing
            self.waiting.append(out)
            head, body, begin = b"", b"", end  # its bytes count once


def _take_whole(pieces: Iterable[Piece]) -> tuple[list[Piece], PartitionFault | None]:
    """All pieces, and what is wrong behind them."""
    taken: list[Piece] = []
    try:
        taken.extend(pieces)
    except PartitionFault as fault:
        return taken, fault
    return taken, None
