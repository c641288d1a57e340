"""One partition on its way to the target: what waits, what is under way, what is acknowledged. Pure of I/O.

    add ──▶ intake ──next_to_send──▶ under way ──acknowledge──▶ runs, position (for the ledger)
                                       ▲ └── refuse, recall
                                       └─────── (repeated with the same sequence number)

Only the outbox changes its fields and those of its batches. Writer and lanes call its methods, and read where it
stands (`stopped`, `position`, `hindrance`).

Acknowledgements are applied in order only, so the position never passes a batch that is not on the target (R1). The
broker takes batches in the order of their sequence numbers only: none can overtake another (R3), and a repeated one is
never appended again (R2). Of the last `FEW` it remembers where they lie and answers with that. An older one it refuses
as out of order: a long line holds many, so what lies in the log is then looked up there (`recall`).

A broker checks sequence numbers only against a producer that the partition knows: of one it never met, or forgot, it
takes any first number (KIP-360). So the first batch travels alone. Were it refused while others were under way, those
would be appended in its place.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from twinlog.errors import PartitionFault, TargetLogShrunk, TargetUnwritable
from twinlog.flow.intake import Intake
from twinlog.flow.outgoing import SEQUENCES, Outgoing, Progress
from twinlog.flow.ownership import Ownership
from twinlog.flow.parcel import Parcel, now_us
from twinlog.flow.shape import Shaper
from twinlog.flow.stopwatch import Acknowledged
from twinlog.flow.takeover import Opened, fault_entry
from twinlog.flow.unnoted import Unnoted
from twinlog.flow.window import FEW
from twinlog.model.ledger.packed_runs import Packer
from twinlog.model.ledger.records import SEAL_AT, Entry, SealedRuns
from twinlog.model.ledger.runs import Run, RunMap
from twinlog.model.names import TopicPartition
from twinlog.wire.batch import Stamp, stamped_head

_REMEMBERED_S: Final = 60.0
"""How long a partition surely remembers a producer that is silent: brokers forget after a day, unless configured."""
_IN_DOUBT_S: Final = 3_600.0
"""Brokers forget a producer after a day without a word of it, and then take a repeated batch a second time."""
_LOOKED_FOR: Final = "it did not answer for an hour; what was sent before is looked for"


@dataclass
class Outbox:
    """The queue and the state machine of one partition."""

    ownership: Ownership
    remote: TopicPartition
    shaper: Shaper
    opened: Opened
    intake: Intake = field(init=False)
    under_way: deque[Outgoing] = field(default_factory=deque)
    runs: RunMap = field(default_factory=RunMap)
    packer: Packer = field(default_factory=Packer)  # of `runs`
    sequence: int = 0
    freed: int = 0  # bytes done with, for the writer to collect
    dirty: bool = False
    stopped: bool = False  # faulted: takes nothing until the partition begins anew
    resting: bool = False  # the target said "later"
    missing_since: float | None = None
    hindered_since: float | None = None  # the target says "later", or has nobody to say it, since then …
    hindrance: str = ""  # … and why
    awaited_since: float | None = None  # an answer is outstanding since then
    unsaved: list[Entry] = field(default_factory=list)
    unheard: list[Acknowledged] = field(default_factory=list)  # batches whose position the ledger has not heard
    repeats_flow: bool = False  # a repeated batch was taken: those behind it may follow without waiting for each
    clock: Callable[[], float] = time.monotonic
    now_ms: Callable[[], int] = lambda: now_us() // 1000
    known_at: float = float("-inf")  # when the partition last acknowledged a batch, or a marker, of this owner
    opened_at: float = field(init=False)

    def __post_init__(self) -> None:
        self.opened_at = self.clock()
        if self.opened.fenced:
            self.known_at = self.opened_at
        self.sequence = self.ownership.sequences[self.remote] = self.opened.sequence
        self.runs = self.opened.state.run_map()
        self.intake = Intake(self.partition, self.shaper, self.unnoted, self.position, self.now_ms)

    @property
    def unnoted(self) -> Unnoted:
        """Our own records found at the take-over, still to be met on the source side."""
        return self.opened.unnoted

    @property
    def partition(self) -> TopicPartition:
        """On the source."""
        return self.opened.begin.partition

    @property
    def shard(self) -> int:
        """Whose part of the ledger notes it."""
        return self.opened.begin.shard

    @property
    def target_id(self) -> str:
        """The id of the topic on the target."""
        return self.opened.begin.roster.target_id

    @property
    def position(self) -> int:
        """The source offset up to which everything is on the target."""
        return self.opened.state.source_next

    @property
    def target_position(self) -> int:
        """The target offset up to which everything of ours is known."""
        return self.opened.state.target_next

    @property
    def has_news(self) -> bool:
        """The ledger has not heard everything."""
        return self.dirty or bool(self.unsaved)

    @property
    def idle(self) -> bool:
        """Nothing left to do."""
        return not (self.intake.holds_any or self.under_way)

    @property
    def has_more(self) -> bool:
        """Something waits that was not sent yet; what is under way comes home by itself."""
        return self.intake.holds_any or (self.repeats_flow and self._repeats)

    @property
    def awaits_answers(self) -> bool:
        """Batches are on the wire."""
        return any(out.progress is Progress.SENT for out in self.under_way)

    @property
    def _repeats(self) -> bool:
        return any(out.progress is Progress.FAILED for out in self.under_way)

    def add(self, parcel: Parcel) -> None:
        """The reader brought something."""
        self.intake.parcels.append(parcel)

    def next_to_send(self, depth: int = FEW) -> Outgoing | None:
        """The next batch that may go out now, with at most `depth` under way."""
        if self.resting or self.stopped:
            return None
        if self._doubts_last_too_long():
            self.fault(TargetUnwritable(*self.partition, str(self.remote), _LOOKED_FOR))
            return None
        if self._repeats:
            return self._next_repeat()
        if len(self.under_way) >= depth or self._first_is_alone():
            return None
        waiting = self.intake.waiting
        while True:
            while waiting and (waiting[0].piece is None or waiting[0].progress is Progress.ACKED):
                self.under_way.append(waiting.popleft())
                self.under_way[-1].progress = Progress.ACKED
            if waiting or not self.intake.shape_more():
                break
        self.settle()
        if not waiting or len(self.under_way) >= depth:
            return None
        out = waiting.popleft()
        self._stamp(out)
        self.under_way.append(out)
        self.awaited_since = self.awaited_since or self.clock()
        return out

    def _doubts_last_too_long(self) -> bool:
        """A batch may have arrived unanswered so long ago that the target would not know it again (R2).

        The partition begins anew: what has arrived is then found in its log.
        """
        if self.clock() - max(self.known_at, self.opened_at) < _IN_DOUBT_S:
            return False
        return self.remote in self.ownership.adrift or self._repeats

    def _first_is_alone(self) -> bool:
        """A batch is under way to a partition that may not know this producer: nothing may be sent behind it (R3)."""
        if self.clock() - self.known_at < _REMEMBERED_S:
            return False
        return self.awaits_answers

    def _next_repeat(self) -> Outgoing | None:
        """Repeat in order, and only when no older answer is outstanding: the broker must meet them in sequence.

        The first one travels alone. When it is taken, the others follow without waiting for each other's answer.
        """
        outstanding = False
        for out in self.under_way:
            if out.progress is Progress.SENT:
                if not self.repeats_flow:
                    return None
                outstanding = True
            elif out.progress is Progress.FAILED:
                behind = itertools.dropwhile(lambda other: other is not out, self.under_way)  # noqa: B023  used at once
                if any(other.progress is Progress.SENT for other in behind):
                    return None
                out.progress, out.repeated = Progress.SENT, True
                self.awaited_since = (self.awaited_since if outstanding else None) or self.clock()
                return out
        return None

    def _stamp(self, out: Outgoing) -> None:
        piece = out.piece
        if piece is None:
            return
        producer = self.ownership.producer
        stamp = Stamp(producer.producer_id, producer.epoch, self.sequence)
        out.head = stamped_head(piece.batch.records, piece.header, stamp)
        out.progress = Progress.SENT
        if out.passage is not None:
            out.passage.sent_us = now_us()
        out.sequence_next = self.sequence = (self.sequence + piece.records) & SEQUENCES

    # --- answers ------------------------------------------------------------------------------------------------------

    def hinder(self, why: str) -> None:
        """The target takes nothing for this partition just now."""
        self.hindered_since, self.hindrance = self.hindered_since or self.clock(), why

    def acknowledge(self, out: Outgoing, base_offset: int) -> None:
        """The target has the batch, from this offset on."""
        self._take_note(out, base_offset)
        self.missing_since = self.hindered_since = None
        self.repeats_flow = self.repeats_flow or out.repeated
        self._await_others()
        self.settle()

    def refuse(self, out: Outgoing) -> bool:
        """The target did not take the batch, or nobody knows; it is sent again. False: it was dropped meanwhile."""
        if out not in self.under_way:
            return False
        out.progress = Progress.FAILED
        self.repeats_flow = False
        self._await_others()
        return True

    def is_first(self, out: Outgoing) -> bool:
        """Whether everything before this batch is on the target."""
        return bool(self.under_way) and self.under_way[0] is out

    def recall(self, offsets: Mapping[tuple[int, int], int]) -> bool:
        """Batches were found in the target's log, by first and last sequence number: they are acknowledged.

        The first number alone does not tell. A request of a connection that was given up may arrive late, with a batch
        that begins with the same record and is shorter: the records behind it would be lost. Tells whether the first
        batch that waits for an answer is among them.
        """
        first = self.under_way[0] if self.under_way else None
        for out in self.under_way:
            if out.progress is Progress.FAILED and out.piece is not None and out.sequences in offsets:
                self._take_note(out, offsets[out.sequences])
        self._await_others()
        recalled = first is not None and first.progress is Progress.ACKED
        self.settle()
        return recalled

    def _take_note(self, out: Outgoing, base_offset: int) -> None:
        out.progress, out.target = Progress.ACKED, base_offset
        if out.passage is not None:
            out.passage.acked_us = now_us()

    def _await_others(self) -> None:
        self.awaited_since = self.clock() if self.awaits_answers else None

    def missing_s(self) -> float:
        """How long the target says that it does not know the topic, from the first time on."""
        self.missing_since = self.missing_since or self.clock()
        return self.clock() - self.missing_since

    def pause(self) -> bool:
        """Send nothing until `resume`. False: it pauses already."""
        paused, self.resting = self.resting, True
        return not paused

    def resume(self) -> None:
        """Go on after a pause."""
        self.resting = False

    def collect(self) -> int:
        """Bytes that are done with since the last call."""
        freed, self.freed = self.freed, 0
        return freed

    def take_unheard(self) -> list[Acknowledged]:
        """Batches whose position is in `entries`, since the last call."""
        unheard, self.unheard = self.unheard, []
        return unheard

    def settle(self) -> None:
        """Apply acknowledged batches, in order."""
        while self.under_way and self.under_way[0].progress is Progress.ACKED:
            out = self.under_way.popleft()
            self.freed += out.release
            expected = self.opened.state.target_next
            if out.piece is not None and out.target < expected:
                # By name a batch may reach a topic that was created anew a moment ago (brokers before 4.0).
                self.fault(TargetLogShrunk(*self.partition, expected, out.target))
                return
            self._apply(out)

    def _apply(self, out: Outgoing) -> None:
        state = self.opened.state
        if out.piece is not None:
            for run in out.piece.runs(out.target):
                self._add_run(run)
            state.target_next = max(state.target_next, out.target + out.piece.records)
            state.records += out.piece.records
            state.bytes += out.piece.size
            state.newest_ms = max(state.newest_ms, out.piece.header.max_timestamp)
            if out.sequence_next >= 0:
                self.known_at = self.clock()
                self.ownership.sequences[self.remote] = state.sequence = out.sequence_next
                state.producer_id, state.producer_epoch = (
                    self.ownership.producer.producer_id,
                    self.ownership.producer.epoch,
                )
            if out.passage is not None:
                made_ms = out.piece.header.max_timestamp
                known_ms = made_ms if made_ms >= max(1, state.since_ms) else None
                self.unheard.append(self.ownership.watch.acknowledged(out.passage, known_ms, out.piece.records))
        state.target_next = max(state.target_next, out.target)
        if out.writing is not None:
            state.producer_id, state.producer_epoch, state.sequence = out.writing
        if out.gap is not None:
            state.skipped += out.gap.next - out.gap.first
            self.unsaved.append(out.gap)
        if out.source_next > state.source_next:
            state.source_next, state.source_epoch = out.source_next, out.epoch
            self.recovered()
        state.returned += self.intake.returned.before(state.source_next)
        state.dropped += self.intake.dropped.before(state.source_next)
        state.refused += self.intake.refused.before(state.source_next)
        self.dirty = True

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
        self.intake.doom = None
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
            self.ownership.adrift.add(self.remote)
        self.freed += self.intake.drop() + sum(out.release for out in self.under_way)
        self.under_way.clear()

    def close(self) -> None:
        """The epoch ends with nothing left to do: the next owner needs no fence, unless something may still arrive."""
        state = self.opened.state
        if state.phase == "copying" and not self.unnoted and self.remote not in self.ownership.adrift:
            state.phase = "closed"
            self.dirty = True

    def doom_if_done(self) -> None:
        """Everything before the fault is acknowledged: now it counts."""
        if self.intake.doom is not None and not self.intake.waiting and not self.under_way:
            self.fault(self.intake.doom)

    def entries(self) -> list[Entry]:
        """What the ledger should hear now."""
        state = self.opened.state
        state.at_ms = self.now_ms()
        state.open_map = self.packer.pack(self.runs)
        self.dirty = False
        entries: list[Entry] = [*self.unsaved, state.model_copy()]
        self.unsaved = []
        return entries
