"""Writing: one task's conversation with the target. Runs on an executor, in the writer's Python worker.

Spark's thread hands over parcels and is held back while too many bytes are on their way (R11). All else happens in one
asyncio loop: shards are taken over, outboxes are sent through one lane per leader, the ledger is written every second.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from twinlog.config.settings import LinkSettings
from twinlog.errors import (
    ClusterError,
    ClusterUnreachable,
    LedgerUnwritable,
    OwnershipLost,
    PartitionAccessDenied,
    PartitionFault,
    PartitionRefused,
    RecordTooLarge,
    TargetLogShrunk,
    TargetTopicMissing,
    TargetUnwritable,
    TimestampRefused,
)
from twinlog.flow.budget import Budget, Opening
from twinlog.flow.hindrances import (
    HindranceTeller,
    breaking,
    late_openings,
    late_writes,
    longest_throttle_s,
    slow_line,
    throttled,
)
from twinlog.flow.lanes import Answer, Lanes
from twinlog.flow.marks import HopMarks
from twinlog.flow.missing_for import MISSING_FOR_S
from twinlog.flow.noting import Noting
from twinlog.flow.outbox import Outbox
from twinlog.flow.outgoing import Outgoing
from twinlog.flow.parcel import BATCHES, Parcel
from twinlog.flow.row import Row, is_flush, unpack
from twinlog.flow.shape import Shaper
from twinlog.flow.stuck import LIMIT_S, PRESSED_S, Pressure, why_given_up
from twinlog.flow.takeover import Begin, Opened, ShardOwner
from twinlog.ledger.pruning import prune_shard
from twinlog.model.backoff import Backoff
from twinlog.model.names import TopicPartition
from twinlog.model.routes.provenance import ClusterIds
from twinlog.wire import protocol_errors as codes
from twinlog.wire.connection import Cluster
from twinlog.wire.fence import Fence
from twinlog.wire.offsets import OffsetsRefused
from twinlog.wire.written import Written, fetch_written

log = logging.getLogger("twinlog.write")

FLUSH_SECONDS: Final = 1.0
_COUNTED: Final = BATCHES | {"gap", "fault"}  # what stays until it is written
_PAUSE_S: Final = 0.1
_RELIEVE_S: Final = 0.25
_SEEN_WHEN_OPENED: Final = frozenset({TargetUnwritable.code, TargetTopicMissing.code, LedgerUnwritable.code})
_PRUNE_EVERY_S: Final = 3_600.0
_PRUNED: Final[dict[tuple[str, int], float]] = {}
"""When this process last pruned a shard: Spark uses a worker for many epochs."""


@dataclass
class Writer:
    """The writer of one task: it takes rows, opens partitions, sends and notes."""

    link: LinkSettings
    clusters: ClusterIds
    target: Cluster
    budget: Budget
    task: int = 0
    owners: dict[int, ShardOwner] = field(default_factory=dict)
    boxes: dict[TopicPartition, Outbox] = field(default_factory=dict)
    busy: dict[TopicPartition, Outbox] = field(default_factory=dict)  # those that may have something to do
    opening: dict[TopicPartition, Opening] = field(default_factory=dict)
    begun: dict[TopicPartition, Begin] = field(default_factory=dict)
    closing: bool = False
    notes: Noting = field(init=False)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _locks: dict[int, asyncio.Lock] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.notes = Noting(self.owners, self.boxes, self._spawn)
        self.fence = Fence(self.target, self.link.name)
        self.teller = HindranceTeller(self.link, f"write-{self.task}")
        self.lanes = Lanes(self.target, self.link.writing.max_request_bytes, self._answered, self._check, self._fail)

    # --- rows from the reader -----------------------------------------------------------------------------------------

    def take(self, parcels: Iterable[Parcel]) -> None:
        for parcel in parcels:
            self._take(parcel)

    def _take(self, parcel: Parcel) -> None:
        match parcel.kind:
            case "begin":
                begin = Begin.read(parcel.partition, parcel.payload)
                self.begun[begin.partition] = begin
                if (before := self.opening.get(begin.partition)) is not None:
                    self.budget.give(before.empty())  # it begins again before it was opened
                self.opening[begin.partition] = Opening(begin)
            case "flush":
                self._open_begun()
            case "data" | "returned" | "changed" | "gap" | "fault":
                opening = self.opening.get(parcel.partition)
                if opening is not None:
                    opening.parcels.append(parcel)
                    if opening.overflown:
                        self.budget.give(opening.empty())
                    self._open_begun()
                else:
                    self._enqueue(parcel)

    def _enqueue(self, parcel: Parcel) -> None:
        box = self.boxes.get(parcel.partition)
        if box is None or box.stopped:
            self.budget.give(len(parcel.payload))
            return
        box.add(parcel)
        self.busy[parcel.partition] = box
        self.lanes.ready(box)

    # --- opening ------------------------------------------------------------------------------------------------------

    def _open_begun(self) -> None:
        """Open everything that began since, shard by shard, side by side."""
        shards: dict[int, list[Begin]] = {}
        for begin in self.begun.values():
            shards.setdefault(begin.shard, []).append(begin)
        self.begun.clear()
        for shard, begins in shards.items():
            self._spawn(self._open(shard, begins))

    async def _open(self, shard: int, begins: list[Begin]) -> None:
        async with self._locks.setdefault(shard, asyncio.Lock()):
            begins = [begin for begin in begins if self._is_newest(begin)]
            if not begins:
                return
            for begin in begins:
                await self._retire(begin.partition)
            backoff = Backoff(_PAUSE_S)
            while True:
                try:
                    if shard not in self.owners:
                        self.owners[shard] = await ShardOwner.take(self.link, self.clusters, self.fence, begins[0])
                        self._spawn(self._prune(self.owners[shard]))
                    opened = await self.owners[shard].open(begins)
                    break
                except ClusterUnreachable as trouble:
                    log.warning("%s: the target is away: shard %d: %s", self.link.name, shard, trouble)
                    await asyncio.sleep(backoff.next_s())
            for o in opened:
                if self._is_newest(o.begin):
                    self._install(self.owners[shard], o)

    def _is_newest(self, begin: Begin) -> bool:
        """Whether this is still the beginning that counts: a later one of the partition may have come meanwhile."""
        opening = self.opening.get(begin.partition)
        return opening is not None and opening.begin is begin

    async def _retire(self, partition: TopicPartition) -> None:
        """A partition begins again (after a fault, or created anew): let what is under way come home first."""
        box = self.boxes.get(partition)
        if box is None:
            return
        while box.awaits_answers:
            await asyncio.sleep(0.01)
        box.drop()
        self._collect(box)
        if box.has_news:
            await self.notes.note(self.owners[box.shard], [box])
        del self.boxes[partition]

    def _install(self, owner: ShardOwner, opened: Opened) -> None:
        begin = opened.begin
        marks = None
        if self.link.provenance.mode == "header":
            marks = HopMarks(self.link.provenance, self.clusters, begin.partition.topic, begin.roster.remote)
        shaper = Shaper(begin.partition, begin.roster.max_message_bytes, self.link.writing.merge_target_bytes, marks)
        box = Outbox(owner.ownership, begin.remote, shaper, opened)
        self.boxes[begin.partition] = box
        opening = self.opening.pop(begin.partition)
        if opened.fault is not None:
            box.fault(opened.fault)
        elif opening.overflown:
            box.fault(TargetUnwritable(*begin.partition, str(begin.remote), "taking over its shard took too long"))
        elif opened.state.fault is not None and opened.state.fault.code in _SEEN_WHEN_OPENED:
            box.recovered()  # there may be no record waiting that would show it
        for parcel in opening.parcels:
            self._enqueue(parcel)

    async def _prune(self, owner: ShardOwner) -> None:
        """Remove from the ledger what it need not hold any more, now and then. What keeps us from it may pass."""
        now = time.monotonic()
        if now - _PRUNED.get((self.link.name, owner.shard), -_PRUNE_EVERY_S) < _PRUNE_EVERY_S:
            return
        _PRUNED[self.link.name, owner.shard] = now
        source = Cluster(self.link.clients.source_consumer, f"twinlog|{self.link.name}|prune-{owner.shard}")
        try:
            await prune_shard(self.link, source, owner.ledger)
        except ClusterError as trouble:
            log.warning("%s: shard %d of the ledger is not pruned: %s", self.link.name, owner.shard, trouble)
        finally:
            await source.close()

    # --- answers from the target --------------------------------------------------------------------------------------

    def _answered(self, box: Outbox, answer: Answer) -> None:
        """Judge what the broker said about one batch."""
        out, error = answer.out, answer.error
        if error == codes.NONE:
            box.acknowledge(out, answer.base_offset)
        elif error in codes.FENCED:
            self._fail(OwnershipLost(self.link.name, box.shard))
            return
        else:
            self._refused(box, answer)
        self._after(box)

    def _refused(self, box: Outbox, answer: Answer) -> None:
        out, error, where = answer.out, answer.error, box.partition
        if not box.refuse(out):
            return  # dropped with a fault meanwhile
        match error:
            case codes.OUT_OF_ORDER_SEQUENCE if not box.is_first(out):
                return  # one before it failed: both are repeated, in order
            case codes.OUT_OF_ORDER_SEQUENCE:
                if box.pause():
                    self._spawn(self._recall(box, out))
                return
            case codes.UNKNOWN_TOPIC_OR_PARTITION | codes.UNKNOWN_TOPIC_ID:
                if box.missing_s() < MISSING_FOR_S:
                    self._again(box, codes.name_of(error))
                    return
                fault: PartitionFault = TargetTopicMissing(*where, box.position)
            case _ if error in codes.PASSING:
                self._again(box, answer.message or codes.name_of(error))
                return
            case codes.MESSAGE_TOO_LARGE:
                fault = RecordTooLarge(
                    *where, out.first, out.size, box.shaper.limit if box.shaper.limit < out.size else None
                )
            case codes.INVALID_TIMESTAMP:
                fault = TimestampRefused(*where, out.first)
            case codes.TOPIC_AUTHORIZATION_FAILED:
                fault = PartitionAccessDenied(*where, self.target.alias, "Write")
            case _:
                fault = PartitionRefused(*where, out.first, answer.message or codes.name_of(error))
        box.fault(fault)

    def _again(self, box: Outbox, problem: str) -> None:
        """Repeat after a pause, wherever the leader is by then."""
        box.hinder(problem)
        self.lanes.moved(box.remote.topic)
        if box.pause():
            asyncio.get_running_loop().call_later(_PAUSE_S, self._rested, box)

    def _rested(self, box: Outbox) -> None:
        box.resume()
        self.lanes.ready(box)

    async def _recall(self, box: Outbox, out: Outgoing) -> None:
        """More answers were lost than the broker remembers batches, or the log lost some: look there (R1, R2, R7)."""
        try:
            async with asyncio.timeout(LIMIT_S):
                written = await fetch_written(self.target, box.remote, box.target_position, box.ownership.producer)
        except (ClusterError, OffsetsRefused, TimeoutError) as trouble:
            log.warning("%s: %s: what it holds cannot be read: %s", self.link.name, box.remote, trouble)
            written = Written({}, -1, None)
        box.resume()
        if box.stopped or self.boxes.get(box.partition) is not box:
            return
        if written.end is not None and written.end < box.target_position:
            box.fault(TargetLogShrunk(*box.partition, box.target_position, written.end))
        elif not box.recall(written.batches) and box.is_first(out):
            if written.misses(out.sequences[1]):
                box.fault(PartitionRefused(*box.partition, out.first, codes.name_of(codes.OUT_OF_ORDER_SEQUENCE)))
            else:
                self._again(box, "it does not say yet what it took before the connection was lost")
        self._after(box)

    def _check(self, box: Outbox) -> None:
        """Declare a fault whose turn has come; give back bytes that are done with."""
        box.doom_if_done()
        self._collect(box)

    def _after(self, box: Outbox) -> None:
        """After an answer: continue."""
        self._check(box)
        if not box.idle and not box.resting:
            self.lanes.ready(box)

    def _collect(self, box: Outbox) -> None:
        self.budget.give(box.collect())

    # --- partitions that take no writes -------------------------------------------------------------------------------

    async def relieve_for_ever(self) -> None:
        """Give up what is stuck, so that it costs the others nothing (R8)."""
        while True:
            await asyncio.sleep(_RELIEVE_S)
            if self.relieve():
                self.notes.flush()  # the reader hears of it there, and stops reading them

    def relieve(self) -> bool:
        """One look at all partitions; tells whether one was given up."""
        now = time.monotonic()
        full_since = self.budget.full_since
        pressed = self.closing or (full_since is not None and now - full_since >= PRESSED_S)
        at = Pressure(now, self.lanes.heard_at, pressed, partial(slow_line, self.target))
        given_up = False
        for box, fault in list(self.notes.unwritable(at)):
            log.warning("%s: %s", self.link.name, fault)  # the ledger, which would tell it, takes no notes
            box.fault(fault)
            self._collect(box)
            given_up = True
        for partition, box in list(self.busy.items()):
            if box.idle:
                del self.busy[partition]
            elif (problem := why_given_up(box, at)) is not None:
                box.fault(TargetUnwritable(*box.partition, str(box.remote), problem))
                self._collect(box)
                given_up = True
        for opening in [waiting for waiting in self.opening.values() if pressed and now - waiting.since >= LIMIT_S]:
            opening.overflown = True
            self.budget.give(opening.empty())
            if self.closing:  # not opened, so nothing of it was written: the next owner does all of it
                del self.opening[opening.begin.partition]
        return given_up

    # --- the ledger ---------------------------------------------------------------------------------------------------

    async def flush_for_ever(self) -> None:
        """Every second."""
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            self.notes.flush()
            now = time.monotonic()
            self.teller.tell(self.hindrances(now), now, longest_throttle_s(self.target, now))

    def hindrances(self, now: float) -> list[str]:
        """What holds records up on the target's side."""
        late = [
            *late_openings(self.opening.values(), self.fence, now),
            *late_writes(self.boxes.values(), self.notes, self.target, now),
        ]
        return [*throttled(self.target, now), *breaking(self.target, now), *late]

    async def close(self) -> dict[str, int]:
        """The reader has ended: wait until everything is acknowledged, note it as cleanly closed."""
        self._open_begun()
        self.closing = True
        while self.budget.failure is None and (self.opening or any(not box.idle for box in self.boxes.values())):
            await asyncio.sleep(0.005)
        if self.budget.failure is not None:
            raise self.budget.failure
        for box in self.boxes.values():
            box.close()
        await self.notes.flush_all(lambda: self.budget.failure is not None)
        if self.budget.failure is not None:
            raise self.budget.failure
        return {str(p): box.position for p, box in self.boxes.items()}

    # --- life ---------------------------------------------------------------------------------------------------------

    def _spawn(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self.budget.fail(error)

    def start(self) -> None:
        """Begin to flush."""
        self._spawn(self.flush_for_ever())
        self._spawn(self.relieve_for_ever())

    async def stop(self) -> None:
        """Stop everything, whatever its state: a later take-over finds out."""
        self.lanes.stop()
        for task in list(self._tasks):
            task.cancel()
        await self.teller.close()
        await self.target.close()


def write_task(link: LinkSettings, clusters: ClusterIds, rows: Iterable[Row], task: int) -> dict[str, int]:
    """Write everything the reader brings; returns the positions reached. Blocks Spark's thread."""
    budget = Budget(link.writing.max_bytes_in_flight)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="twinlog-writer", daemon=True)
    thread.start()

    async def make() -> Writer:
        target = Cluster(link.clients.target_producer, f"twinlog|{link.name}|writer-{task}")
        writer = Writer(link, clusters, target, budget, task)
        writer.start()
        return writer

    writer = asyncio.run_coroutine_threadsafe(make(), loop).result()
    try:
        begun = False
        for row in rows:
            if is_flush(row):
                budget.check()
                if not begun:
                    continue  # the loop need not hear of it: a flush opens what began, and is nothing else
                begun = False
            parcels = unpack(row)
            begun = begun or any(parcel.kind == "begin" for parcel in parcels)
            budget.take(sum(len(parcel.payload) for parcel in parcels if parcel.kind in _COUNTED))
            loop.call_soon_threadsafe(writer.take, parcels)
        return asyncio.run_coroutine_threadsafe(writer.close(), loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(writer.stop(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
