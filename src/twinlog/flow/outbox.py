"""One partition on its way to the target: what waits, what is under way, what is acknowledged. Pure of I/O.

    parcels ──shape──▶ waiting ──stamp──▶ under way ──ack──▶ runs, position (for the ledger)

Acknowledgements are applied in order only, so the position never passes a batch that is not on the target (R1). At most
`DEPTH` batches of a partition are under way: that is how many the broker remembers, so a repeated one is recognised
and not appended again (R2), and a batch can never overtake another (R3).

A broker checks sequence numbers only against a producer that the partition knows: of one it never met, or forgot, it
takes any first number (KIP-360). So the first batch travels alone. Were it refused while others were under way, those
would be appended in its place.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final

from twinlog.errors import LedgerDisagrees, ParcelsMissing, PartitionFault, TargetLogShrunk
from twinlog.flow.parcel import Parcel, Ranges, now_us, unwrap
from twinlog.flow.shape import Piece, Shaper
from twinlog.flow.stopwatch import Acknowledged, Passage
from twinlog.flow.takeover import Opened, ShardOwner, fault_entry
from twinlog.flow.unnoted import End, Place, Unnoted, Writing
from twinlog.model.ledger.packed_runs import Packer
from twinlog.model.ledger.records import SEAL_AT, Entry, Gap, SealedRuns
from twinlog.model.ledger.runs import Run, RunMap
from twinlog.model.names import TopicPartition
from twinlog.wire.batch import Stamp, readdress
from twinlog.wire.codec import content_of

DEPTH: Final = 5
_REMEMBERED_S: Final = 60.0
"""How long a partition surely remembers a producer that is silent: brokers forget after a day, unless configured."""
_BATCHES: Final = frozenset({"data", "returned"})


class ReaderFault(PartitionFault):
    """A fault that the reader found, as it came in the row."""

    def __init__(self, note: dict[str, Any]) -> None:
        super().__init__(note["facts"]["topic"], note["facts"]["partition"])
        self.note = note
        self.code = note["code"]  # type: ignore[misc]

    def __str__(self) -> str:
        return str(self.note["says"])

    def way_out(self) -> str:
        """As the reader worded it."""
        return str(self.note["remedy"])

    def facts(self) -> dict[str, Any]:
        """As the reader found them."""
        facts: dict[str, Any] = self.note["facts"]
        return facts


class Progress(Enum):
    """How far one batch has come."""

    WAITING = auto()
    SENT = auto()
    FAILED = auto()  # to be sent again, with the same sequence number
    ACKED = auto()


@dataclass(slots=True)
class Outgoing:
    """One batch, or a stretch of source offsets without records (piece None)."""

    piece: Piece | None
    source_next: int
    epoch: int = -1  # the source's leader epoch before `source_next`
    release: int = 0  # bytes of the parcel that this one, being its last, gives back
    gap: Gap | None = None
    stamped: bytes = b""
    progress: Progress = Progress.WAITING
    target: int = -1  # where it lies; of a stretch: nothing of ours before this target offset is unknown any more
    sequence_next: int = -1
    writing: Writing | None = None  # an older owner wrote it
    passage: Passage | None = None  # when it passed which stage; None: nobody sent it now


@dataclass
class Outbox:
    """One partition's queue."""

    owner: ShardOwner
    remote: TopicPartition
    shaper: Shaper
    opened: Opened
    parcels: deque[Parcel] = field(default_factory=deque)
    waiting: deque[Outgoing] = field(default_factory=deque)
    under_way: deque[Outgoing] = field(default_factory=deque)
    returned: deque[tuple[int, int]] = field(default_factory=deque)  # offsets left out, ahead of the position
    runs: RunMap = field(default_factory=RunMap)
    packer: Packer = field(default_factory=Packer)  # of `runs`
    sequence: int = 0
    shaped_to: int = 0  # source offsets before this one are queued, sent or done
    met_to: int = 0  # source offset behind the last record that was found on the target
    freed: int = 0  # bytes done with, for the writer to collect
    dirty: bool = False
    doom: PartitionFault | None = None  # becomes the fault when everything before it is acknowledged
    stopped: bool = False  # faulted: takes nothing until the partition begins anew
    resting: bool = False  # the target said "later"
    missing_since: float | None = None
    hindered_since: float | None = None  # the target says "later", or has nobody to say it, since then …
    hindrance: str = ""  # … and why
    awaited_since: float | None = None  # an answer is outstanding since then
    unsaved: list[Entry] = field(default_factory=list)
    unheard: list[Acknowledged] = field(default_factory=list)  # batches whose position the ledger has not heard
    clock: Callable[[], float] = time.monotonic
    known_at: float = float("-inf")  # when the partition last acknowledged a batch, or a marker, of this owner

    def __post_init__(self) -> None:
        if self.opened.fenced:
            self.known_at = self.clock()
        self.sequence = self.owner.sequences[self.remote] = self.opened.sequence
        self.runs = self.opened.state.run_map()
        self.shaped_to = self.met_to = self.opened.state.source_next

    @property
    def unnoted(self) -> Unnoted:
        """Our own records found at the take-over, still to be met on the source side."""
        return self.opened.unnoted

    @property
    def idle(self) -> bool:
        """Nothing left to do."""
        return not (self.parcels or self.waiting or self.under_way)

    @property
    def has_more(self) -> bool:
        """Something waits that was not sent yet; what is under way comes home by itself."""
        return bool(self.parcels or self.waiting)

    def next_to_send(self) -> Outgoing | None:
        """The next batch that may go out now."""
        if self.resting or self.stopped:
            return None
        if any(out.progress is Progress.FAILED for out in self.under_way):
            return self._next_repeat()
        if len(self.under_way) >= DEPTH or self._first_is_alone():
            return None
        while True:
            while self.waiting and (self.waiting[0].piece is None or self.waiting[0].progress is Progress.ACKED):
                self.under_way.append(self.waiting.popleft())
                self.under_way[-1].progress = Progress.ACKED
            if self.waiting or not self.parcels or self.doom is not None:
                break
            self._shape(*self._gather())
        self.settle()
        if not self.waiting or len(self.under_way) >= DEPTH:
            return None
        out = self.waiting.popleft()
        self._stamp(out)
        self.under_way.append(out)
        self.awaited_since = self.awaited_since or self.clock()
        return out

    def _first_is_alone(self) -> bool:
        """A batch is under way to a partition that may not know this producer: nothing may be sent behind it (R3)."""
        if self.clock() - self.known_at < _REMEMBERED_S:
            return False
        return any(out.progress is Progress.SENT for out in self.under_way)

    def _gather(self) -> tuple[Parcel, Ranges, int]:
        """The next parcel, with the small ones that wait right behind it: their batches can then be merged.

        With it come the offsets that were left out, and the bytes that are done with when it is.
        """
        parts = [self.parcels.popleft()]
        size = release = len(parts[0].payload)
        while self.parcels and parts[-1].kind in _BATCHES:
            after = self.parcels[0]
            size += len(after.payload)
            if after.kind not in _BATCHES or (after.first, after.epoch) != (parts[-1].next, parts[-1].epoch):
                break
            if size > self.shaper.merge_bytes:
                break
            release = size
            parts.append(self.parcels.popleft())
        opened = [unwrap(part) for part in parts]
        returned = [one for _, ranges in opened for one in ranges]
        parcel = opened[0][0]
        if len(opened) > 1:
            parcel = parcel._replace(next=parts[-1].next, payload=b"".join(part.payload for part, _ in opened))
        return parcel, returned, release

    def _next_repeat(self) -> Outgoing | None:
        """Repeat in order, and only when no answer is outstanding: the broker must meet them in sequence."""
        for out in self.under_way:
            if out.progress is Progress.SENT:
                return None
            if out.progress is Progress.FAILED:
                out.progress = Progress.SENT
                self.awaited_since = self.awaited_since or self.clock()
                return out
        return None

    def _stamp(self, out: Outgoing) -> None:
        piece = out.piece
        if piece is None:
            return
        producer = self.owner.producer
        out.stamped = readdress(piece.data, piece.header, Stamp(producer.producer_id, producer.epoch, self.sequence))
        out.progress = Progress.SENT
        if out.passage is not None:
            out.passage.sent_us = now_us()
        out.sequence_next = self.sequence = (self.sequence + piece.records) & 0x7FFFFFFF

    def _shape(self, parcel: Parcel, left_out: Ranges, release: int) -> None:
        before, start = len(self.waiting), self.shaped_to
        try:
            if parcel.first > self.shaped_to:
                raise ParcelsMissing(*parcel.partition, parcel.first, self.shaped_to)
            if parcel.kind == "fault":
                raise ReaderFault(json.loads(bytes(parcel.payload)))
            if parcel.kind == "gap":
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
        # What lies before `start` was counted when it first came by.
        self.returned += ((max(first, start), behind) for first, behind in left_out if behind > start)
        self.returned += ((offset, offset + 1) for offset in self.shaper.take_returned())

    def _skip(self, parcel: Parcel) -> None:
        if parcel.next <= self.shaped_to:
            return  # a reader that began too early: those offsets were copied before the source lost them
        gap = Gap(
            topic=parcel.partition.topic,
            partition=parcel.partition.partition,
            first=max(parcel.first, self.shaped_to),
            next=parcel.next,
            reason=bytes(parcel.payload).decode(),
            at_ms=int(time.time() * 1000),
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
                    *self.opened.begin.partition,
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
        data, begin = piece.data, 0
        for end in range(1, len(places) + 1):
            if end < len(places) and places[end].target == places[end - 1].target + 1:
                continue
            header = piece.header._replace(record_count=end - begin)
            part = piece._replace(data=data, header=header, first=offsets[begin], offsets=offsets[begin:end])
            self.shaped_to = self.met_to = offsets[end - 1] + 1
            out = Outgoing(part, self.met_to, epoch, progress=Progress.ACKED, target=places[begin].target)
            out.writing = places[end - 1].writing
            self.waiting.append(out)
            data, begin = b"", end  # its bytes count once

    # --- answers ------------------------------------------------------------------------------------------------------

    def hinder(self, why: str) -> None:
        """The target takes nothing for this partition just now."""
        self.hindered_since, self.hindrance = self.hindered_since or self.clock(), why

    def answered(self, *, taken: bool) -> None:
        """An answer came."""
        self.awaited_since = self.clock() if any(o.progress is Progress.SENT for o in self.under_way) else None
        if taken:
            self.missing_since = self.hindered_since = None

    def settle(self) -> None:
        """Apply acknowledged batches, in order."""
        while self.under_way and self.under_way[0].progress is Progress.ACKED:
            out = self.under_way.popleft()
            self.freed += out.release
            expected = self.opened.state.target_next
            if out.piece is not None and out.target < expected:
                # By name a batch may reach a topic that was created anew a moment ago (brokers before 4.0).
                self.fault(TargetLogShrunk(*self.opened.begin.partition, expected, out.target))
                return
            self._apply(out)

    def _apply(self, out: Outgoing) -> None:
        state = self.opened.state
        if out.piece is not None:
            for run in out.piece.runs(out.target):
                self._add_run(run)
            state.target_next = max(state.target_next, out.target + out.piece.records)
            state.records += out.piece.records
            state.bytes += len(out.piece.data)
            state.newest_ms = max(state.newest_ms, out.piece.header.max_timestamp)
            if out.sequence_next >= 0:
                self.known_at = self.clock()
                self.owner.sequences[self.remote] = state.sequence = out.sequence_next
                state.producer_id, state.producer_epoch = self.owner.producer.producer_id, self.owner.producer.epoch
            if out.passage is not None:
                made_ms = out.piece.header.max_timestamp
                known_ms = made_ms if made_ms >= max(1, state.since_ms) else None
                self.unheard.append(self.owner.watch.acknowledged(out.passage, known_ms, out.piece.records))
        state.target_next = max(state.target_next, out.target)
        if out.writing is not None:
            state.producer_id, state.producer_epoch, state.sequence = out.writing
        if out.gap is not None:
            state.skipped += out.gap.next - out.gap.first
            self.unsaved.append(out.gap)
        if out.source_next > state.source_next:
            state.source_next, state.source_epoch = out.source_next, out.epoch
            self.recovered()
        state.returned += self._returned_before(state.source_next)
        self.dirty = True

    def _returned_before(self, position: int) -> int:
        """Count what was left out before the position that the ledger is about to hear, so that each counts once."""
        count = 0
        while self.returned and self.returned[0][0] < position:
            first, behind = self.returned.popleft()
            count += min(behind, position) - first
            if behind > position:
                self.returned.appendleft((position, behind))
        return count

    def _add_run(self, run: Run) -> None:
        if len(self.runs) >= SEAL_AT:
            state = self.opened.state
            self.unsaved.append(
                SealedRuns(
                    topic=state.topic,
                    partition=state.partition,
                    incarnation=state.incarnation,
                    first=state.map_first,
                    next=run.source,
                    packed=self.packer.pack(self.runs),
                )
            )
            self.runs, self.packer = RunMap(), Packer()
            state.map_first = run.source
        self.runs.add(run)

    def fault(self, fault: PartitionFault) -> None:
        """Stop this partition. What is acknowledged stays; the rest is dropped and read again after the next begin."""
        state = self.opened.state
        since = state.fault.since_ms if state.fault and state.fault.code == fault.code else None
        state.phase, state.fault = "faulted", fault_entry(fault, since)
        self.dirty = self.stopped = True
        self.doom = None
        self.drop()

    def recovered(self) -> None:
        """What was a fault is none any more."""
        state = self.opened.state
        if state.phase == "faulted":
            state.phase, state.fault = "copying", None
            self.dirty = True

    def drop(self) -> None:
        """Forget what is not acknowledged."""
        if any(out.progress in {Progress.SENT, Progress.FAILED} for out in self.under_way):
            self.owner.adrift.add(self.remote)
        self.freed += sum(len(parcel.payload) for parcel in self.parcels)
        self.freed += sum(out.release for out in (*self.waiting, *self.under_way))
        self.parcels.clear()
        self.waiting.clear()
        self.under_way.clear()

    def close(self) -> None:
        """The epoch ends with nothing left to do: the next owner needs no fence, unless something may still arrive."""
        state = self.opened.state
        if state.phase == "copying" and not self.unnoted and self.remote not in self.owner.adrift:
            state.phase = "closed"
            self.dirty = True

    def doom_if_done(self) -> None:
        """Everything before the fault is acknowledged: now it counts."""
        if self.doom is not None and not self.waiting and not self.under_way:
            self.fault(self.doom)

    def entries(self) -> list[Entry]:
        """What the ledger should hear now."""
        state = self.opened.state
        state.at_ms = int(time.time() * 1000)
        state.open_map = self.packer.pack(self.runs)
        self.dirty = False
        entries: list[Entry] = [*self.unsaved, state.model_copy()]
        self.unsaved = []
        return entries


def _take_whole(pieces: Iterable[Piece]) -> tuple[list[Piece], PartitionFault | None]:
    """All pieces, and what is wrong behind them."""
    taken: list[Piece] = []
    try:
        taken.extend(pieces)
    except PartitionFault as fault:
        return taken, fault
    return taken, None
