"""Taking over a shard: fence, read the ledger, reconcile. Runs on an executor, in the writer's worker.

    1. Is a later engine at work?            then stop: this engine is a ghost; asked again behind step 2   (R10)
    2. InitProducerId                        same producer id as every owner before, higher epoch; noted on the target
                                             before it is used, so that links which read there know it (ledger.writers)
    3. marker on the shard's ledger          from here on no older owner can write into the ledger
    4. read the ledger up to that marker     the last acknowledged position of every partition
    5. marker on each partition not closed   from here on no older owner can write records
    6. read the target from the position up to that marker: what the older owner wrote but did not note
    7. note the partitions as open           before their first record, so that a crash is seen as a crash

What step 6 finds (`flow.unnoted`) is not written again: the records of the source are met there (R1, R2).
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from twinlog.config.settings import LinkSettings
from twinlog.errors import (
    STAYING,
    OwnershipLost,
    PartitionAccessDenied,
    PartitionFault,
    TargetLogShrunk,
    TargetTopicMissing,
    TargetUnwritable,
    TransformsChanged,
)
from twinlog.flow.ownership import Ownership
from twinlog.flow.retirement import retire_if_old
from twinlog.flow.unnoted import Unnoted, Writing
from twinlog.ledger.view import LedgerView
from twinlog.ledger.writer import LedgerWriter
from twinlog.ledger.writers import note_writer
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.ledger.records import (
    ROSTER_PARTITION,
    FaultEntry,
    PartitionState,
    RosterTopic,
    ShardTimes,
    ledger_topic,
    transactional_id,
)
from twinlog.model.names import TopicPartition
from twinlog.model.routes.provenance import ClusterIds, WriterNote
from twinlog.wire import protocol_errors as codes
from twinlog.wire.batch import BatchHeader
from twinlog.wire.codec import content_of, open_batch
from twinlog.wire.connection import Cluster
from twinlog.wire.fence import Fence, Producer
from twinlog.wire.log import LogReader, up_to_marker
from twinlog.wire.offset_lists import fetch_offsets
from twinlog.wire.offsets import EARLIEST, LATEST
from twinlog.wire.producers import LastWrite, fetch_last_write
from twinlog.wire.writability import why_unwritable

log = logging.getLogger("twinlog.takeover")

_LOOK_S: Final = 2.0
_MARKER_S: Final = 20.0
_GLANCE_S: Final = 5.0


class Begin(NamedTuple):
    """The reader's note that a partition is read from here on."""

    partition: TopicPartition
    roster: RosterTopic
    state: PartitionState | None
    ledger_at: int
    roster_at: int
    generation: int
    shard: int
    resume: int | None = None  # an operator accepted that the source lost what was copied from here on

    @classmethod
    def read(cls, partition: TopicPartition, payload: bytes | memoryview) -> Begin:
        """Out of the reader's parcel."""
        note = json.loads(bytes(payload))
        return cls(
            partition,
            RosterTopic.model_validate(note["roster"]),
            PartitionState.model_validate(note["state"]) if note["state"] else None,
            note["ledger_at"],
            note["roster_at"],
            note["generation"],
            note["shard"],
            note.get("resume"),
        )

    @property
    def remote(self) -> TopicPartition:
        """The partition on the target."""
        return TopicPartition(self.roster.remote, self.partition.partition)


@dataclass
class Opened:
    """A partition ready to be written: where it stands, what is already there, and the next sequence number."""

    begin: Begin
    state: PartitionState
    sequence: int = 0
    fault: PartitionFault | None = None
    fenced: bool = False  # a marker of this owner lies on the partition, which therefore knows the producer
    target_end: int = 0  # of the log when we looked: the marker that we plant lies behind it
    deleted_to: int = 0  # the target's retention deleted what lies before
    last: LastWrite | None = None  # what the target then remembered of the older owner
    looked_to: int = 0  # of the target's log, while we read what lies behind the position
    unnoted: Unnoted = field(init=False)

    def __post_init__(self) -> None:
        self.unnoted = Unnoted(self.state.source_next)

    def rewind(self, source_next: int) -> None:
        """Continue where the source's new history begins; what was copied of the old one stays on the target."""
        if self.state.fault is None or self.state.fault.code not in STAYING:
            return  # an older owner followed the decision already
        self.state.target_next = max(self.state.target_next, self.unnoted.target_next)
        self.unnoted.clear()
        self.state.rewind(source_next)
        self.state.phase, self.state.fault = "copying", None

    def find(self, header: BatchHeader, data: bytes, producer: Producer) -> None:
        """Take note of a batch behind the ledger's position.

        That position may lie inside the batch: an owner that met only a part of it on the source side noted that part.
        """
        missing_from = max(self.looked_to, self.state.target_next, self.deleted_to)
        self.looked_to = header.next_offset
        if header.is_control or header.producer_id not in {self.state.producer_id, producer.producer_id}:
            self.unnoted.add_hole(missing_from, header.base_offset)
            return
        contents: list[int | None] = [None] * (header.last_offset_delta + 1)
        for record in open_batch(data):
            contents[record.offset - header.base_offset] = content_of(record)
        writing = Writing(header.producer_id, header.producer_epoch, header.base_sequence)
        self.unnoted.add_hole(missing_from, header.base_offset)
        self._add_removed(header.base_offset, writing, self._removed_before(header.base_offset, writing))
        noted = max(0, self.state.target_next - header.base_offset)
        first = writing._replace(sequence=(header.base_sequence + noted) & 0x7FFFFFFF)
        self.unnoted.add(header.base_offset + noted, contents[noted:], first)
        if (header.producer_id, header.producer_epoch) == (producer.producer_id, producer.epoch):
            self.sequence = (header.base_sequence + header.last_offset_delta + 1) & 0x7FFFFFFF

    def count_deleted(self) -> None:
        """The target deleted records before we could look. Where nothing is left, it remembers who wrote last."""
        if not self.unnoted and self.last is not None:
            writing = Writing(self.state.producer_id, self.last.epoch, (self.last.sequence + 1) & 0x7FFFFFFF)
            self._add_removed(self.deleted_to, writing, self._removed_before(self.deleted_to, writing))
        if not self.unnoted.deleted:
            gone = f"offsets {self.state.target_next} to {self.deleted_to - 1}"
            what = "were deleted before they were noted; how many were copies is unknown"
            log.warning("%s: %s %s", self.begin.remote, gone, what)

    def _removed_before(self, target: int, writing: Writing) -> int:
        """Count records of ours that the target removed before we could look: sequence numbers tell how many (R2).

        ledger: next is 40    │ removed: 40 … 59 │  found: 60 … 99 │      or nothing is found, and 99 was the last
        """
        state = self.state
        before = self.unnoted.behind or Writing(state.producer_id, state.producer_epoch, state.sequence)
        if before.epoch < 0 or before.sequence < 0:
            return 0
        counted_from = before.sequence if before[:2] == writing[:2] else 0  # each owner counts from 0
        count = (writing.sequence - counted_from) & 0x7FFFFFFF
        return count if count <= target - max(state.target_next, self.unnoted.target_next) else 0

    def _add_removed(self, target: int, writing: Writing, count: int) -> None:
        filled = self.unnoted.fill_holes(count)
        unplaced = count - sum(some for _, some in filled)  # where the log begins behind them
        lowest = (filled[0][0] if filled else target) - unplaced
        sequence = writing.sequence - count
        for at, some in [(lowest, unplaced), *filled]:
            self.unnoted.add(at, [None] * some, writing._replace(sequence=sequence & 0x7FFFFFFF))
            sequence += some
        if count and lowest < self.deleted_to:
            self.unnoted.deleted = len(self.unnoted)


@dataclass
class ShardOwner:
    """The owner of one shard within one task."""

    link: LinkSettings
    shard: int
    target: Cluster
    fence: Fence
    ownership: Ownership
    ledger: LedgerWriter
    view: LedgerView

    @property
    def producer(self) -> Producer:
        """Id and epoch."""
        return self.ownership.producer

    @classmethod
    async def take(cls, link: LinkSettings, clusters: ClusterIds, fence: Fence, begin: Begin) -> ShardOwner:
        """Steps 1 to 4."""
        shard, topic, target = begin.shard, ledger_topic(link.source), fence.cluster
        roster = LedgerView({ROSTER_PARTITION: begin.roster_at})
        await _see_no_later_engine(roster, link, target, begin)
        producer = await fence.take_over(transactional_id(link.source, link.target, shard), shard)
        # Whoever signed in meanwhile may have fenced the shard before us. From here on it would fence us.
        await _see_no_later_engine(roster, link, target, begin)
        producer = await retire_if_old(fence, producer, shard, link.source)
        # At every take-over: Kafka gives a new id to who was away for a week.
        await note_writer(target, WriterNote(producer.producer_id, link.name, clusters.source))
        view = LedgerView({1 + shard: begin.ledger_at})
        await fence.plant_on_ledger(producer, shard, TopicPartition(topic, 1 + shard))
        reader = LogReader(target, topic, view.positions, f"takeover-{shard}", lasting=False)
        async for header, data in up_to_marker(reader, 1 + shard, producer.producer_id, producer.epoch):
            view.take(header, data)
        writer = LedgerWriter(target, topic, 1 + shard, link.name, producer)
        return cls(link, shard, target, fence, Ownership(producer), writer, view)

    def times(self) -> ShardTimes:
        """What the stopwatch counted, for the ledger."""
        return self.ownership.watch.entry(self.shard, f"{self.producer.producer_id}/{self.producer.epoch}")

    def known(self, begin: Begin) -> PartitionState | None:
        """What the ledger says of a partition: the newest of the plan's word and what was read at the take-over."""
        state = self.view.states.get(begin.partition, begin.state)
        if state is not None and (state.incarnation != begin.roster.incarnation or state.producer_id < 0):
            return None  # of another topic of that name, or noted with a fault before it was ever opened
        return state

    async def open(self, begins: Sequence[Begin]) -> list[Opened]:
        """Steps 5 to 7 for some partitions of the shard."""
        opened = await self._look_at_all(begins)
        known = [o for o in opened if o.fault is None and self.known(o.begin) is not None]
        dirty = await asyncio.gather(*(self._is_unclean(o) for o in known))
        unclean = [o for o, is_so in zip(known, dirty, strict=True) if is_so]
        hindered = await why_unwritable(self.target, [o.begin.remote for o in unclean])
        for o in unclean:
            if (problem := hindered.get(o.begin.remote)) is not None:
                o.fault = TargetUnwritable(*o.begin.partition, str(o.begin.remote), problem)
        unclean = [o for o in unclean if o.fault is None]
        # Asked before our marker: with it the partition forgets where the older owner was.
        await self._look_for_deleted(unclean)
        refused = await self.fence.plant(self.producer, self.shard, [o.begin.remote for o in unclean])
        for o in unclean:
            if (error := refused.get(o.begin.remote)) is not None:
                o.fault = self._refusal(o, error)
        await asyncio.gather(*(self._reconcile(o) for o in unclean if o.fault is None))
        for o in unclean:
            if o.fault is None and o.unnoted and o.state.transforms != self.digest(o):
                o.fault = self._other_transforms(o)
        for o in opened:
            if o.fault is None and o.state.phase == "closed":
                o.state.phase = "copying"
            if o.fault is None and o.begin.resume is not None:
                o.rewind(o.begin.resume)
            if o.fault is None and not o.unnoted:
                # Until what is not noted is met, it is known by the id of who wrote it.
                o.state.producer_id = self.producer.producer_id
                o.state.producer_epoch, o.state.sequence = self.producer.epoch, o.sequence
                o.state.transforms = self.digest(o)
        # One that is noted as open or faulted already is not noted again: a reader that hears "faulted" lets it rest.
        fresh = [o.state for o in opened if self._is_news(o)]
        await self.ledger.write(fresh)
        for state in fresh:  # a second opening in this task must find it
            self.view.states[TopicPartition(state.topic, state.partition)] = state.model_copy(deep=True)
        return opened

    def digest(self, opened: Opened) -> str:
        """What names the transforms of a partition now."""
        return self.link.transforms.digest(opened.begin.partition.topic)

    def _other_transforms(self, opened: Opened) -> TransformsChanged:
        """What was written cannot be met by what the source's records become now (R2)."""
        state, now = opened.state, self.digest(opened)
        count = len(opened.unnoted)
        opened.unnoted.clear()
        known = (state.transforms or "none", now or "none")
        return TransformsChanged(*opened.begin.partition, count, state.source_next, *known)

    async def _look_at_all(self, begins: Sequence[Begin]) -> list[Opened]:
        """See where the target stands, partition by partition: one without a leader holds no other up (R8)."""
        stuck = [b for b in begins if b.state is not None and b.state.fault is not None]
        # One that was stuck before is asked once: its records wait meanwhile, and it is tried again soon.
        within_s = 0.0 if any(b.state.fault.code == TargetUnwritable.code for b in stuck) else _LOOK_S  # type: ignore[union-attr]
        ends = await fetch_offsets(self.target, {begin.remote for begin in begins}, LATEST, within_s=within_s)
        return [self._look(begin, ends[begin.remote]) for begin in begins]

    def _refusal(self, opened: Opened, error: int) -> PartitionFault:
        where, state = opened.begin.partition, opened.state
        if error == codes.TOPIC_AUTHORIZATION_FAILED:
            return PartitionAccessDenied(*where, self.target.alias, "Write")
        return TargetTopicMissing(*where, state.source_next)

    def _look(self, begin: Begin, end: int | str) -> Opened:
        """See where one partition stands, and whether it is still the topic we wrote into."""
        known = self.known(begin)
        # A new topic has heard nothing of what was sent to an old one of its name. One that is faulted just now
        # remembers it all.
        sequence = self.ownership.sequences.get(begin.remote, 0) if known else 0
        state = known.model_copy(deep=True) if known else fresh_state(begin, target=0)
        if (fault := self._fault(begin, state, end)) is not None or isinstance(end, str):
            return Opened(begin, state, sequence, fault)
        return Opened(begin, state if known else fresh_state(begin, target=end), sequence, target_end=end)

    def _fault(self, begin: Begin, state: PartitionState, end: int | str) -> PartitionFault | None:
        """What keeps us from writing into one partition."""
        topic = self.target.topics.get(begin.roster.remote)
        if topic is not None and topic.error == codes.TOPIC_AUTHORIZATION_FAILED:
            return PartitionAccessDenied(*begin.partition, self.target.alias, "Describe")
        if topic is None or begin.remote.partition not in topic.leaders or topic.topic_id != begin.roster.target_id:
            return TargetTopicMissing(*begin.partition, state.source_next)
        if isinstance(end, str):
            return TargetUnwritable(*begin.partition, str(begin.remote), end)
        if end < state.target_next:
            return TargetLogShrunk(*begin.partition, state.target_next, end)
        return None

    def _is_news(self, opened: Opened) -> bool:
        """Whether the ledger must hear of an opening. A reader that hears "faulted" lets the partition rest."""
        known, state = self.known(opened.begin), opened.state
        if known is None or known.phase != state.phase or known.transforms != state.transforms:
            return True
        stamp = (state.producer_id, state.producer_epoch)
        return state.phase == "copying" and stamp != (known.producer_id, known.producer_epoch)

    async def _is_unclean(self, opened: Opened) -> bool:
        """Whether records of ours may lie behind the ledger's position, or may still come.

        A closed partition may hold some when the ledger itself lost its end (an unclean election). A first look must
        do: others may have written gigabytes there while the link stood still.
        """
        state, remote = opened.state, opened.begin.remote
        if state.phase != "closed":
            return True
        if opened.target_end <= state.target_next:
            return False
        own_ids = {state.producer_id, self.producer.producer_id}
        positions = {remote.partition: state.target_next}
        reader = LogReader(self.target, remote.topic, positions, f"glance-{remote}", lasting=False)
        try:
            async with asyncio.timeout(_GLANCE_S), aclosing(reader.batches()) as reading:
                async for _, batches in reading:
                    return any(not header.is_control and header.producer_id in own_ids for header, _ in batches)
        except TimeoutError:
            return True  # nothing is left there to look at: the fence tells
        finally:
            self.target.drop(reader.lane)
        return True

    async def _look_for_deleted(self, unclean: Sequence[Opened]) -> None:
        """See where the target has deleted records that the ledger does not know, and what was written there last."""
        begins = await fetch_offsets(self.target, [o.begin.remote for o in unclean], EARLIEST, within_s=_LOOK_S)
        for o in unclean:
            begin = begins[o.begin.remote]
            if isinstance(begin, int) and begin > o.state.target_next:
                o.deleted_to = begin
                o.last = await fetch_last_write(self.target, o.begin.remote, o.state.producer_id)

    async def _reconcile(self, opened: Opened) -> None:
        """Read what lies behind the ledger's position up to our own marker."""
        state, number = opened.state, opened.begin.remote.partition
        who = (self.producer.producer_id, self.producer.epoch)
        reader = LogReader(
            self.target,
            opened.begin.roster.remote,
            {number: state.target_next},
            f"reconcile-{opened.begin.remote}",
            lasting=False,
        )
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_MARKER_S) as limit:
                async for header, data in up_to_marker(reader, number, *who, opened.target_end):
                    opened.find(header, data, self.producer)
                    limit.reschedule(loop.time() + _MARKER_S)
        except TimeoutError:
            problem = f"nothing could be read of it for {_MARKER_S:.0f} s"
            opened.fault = TargetUnwritable(*opened.begin.partition, str(opened.begin.remote), problem)
            opened.unnoted.clear()
            return
        opened.fenced = True
        if opened.deleted_to > state.target_next:
            opened.count_deleted()
        if not opened.unnoted:
            state.target_next = reader.positions[number]


async def _see_no_later_engine(roster: LedgerView, link: LinkSettings, target: Cluster, begin: Begin) -> None:
    await roster.catch_up(target, link.source)
    if roster.engine is not None and (roster.engine.generation or 0) > begin.generation:
        raise OwnershipLost(link.name, begin.shard)


def fresh_state(begin: Begin, target: int) -> PartitionState:
    """The state of a partition that was never written."""
    origin = begin.roster.origins[begin.partition.partition]
    now_ms = SYSTEM_CLOCK.now_ms()
    return PartitionState(
        topic=begin.partition.topic,
        partition=begin.partition.partition,
        incarnation=begin.roster.incarnation,
        phase="copying",
        source_first=origin,
        target_first=target,
        source_next=origin,
        target_next=target,
        producer_id=-1,
        map_first=origin,
        since_ms=now_ms,
        at_ms=now_ms,
    )


def fault_entry(fault: PartitionFault, since_ms: int | None = None) -> FaultEntry:
    """A fault as the ledger keeps it."""
    return FaultEntry(
        code=fault.code,
        says=str(fault),
        remedy=fault.remedy_text(),
        facts=fault.facts(),
        since_ms=since_ms or SYSTEM_CLOCK.now_ms(),
    )
