"""Reading: one task's conversation with the source. Runs on an executor, in the reader's Python worker.

The Spark side is a generator that takes parcels from a bounded queue; behind it one asyncio loop in a thread fetches
from every leader at once and follows the ledger. The ledger is how a reader hears of everything: new topics (roster),
partitions that the writer faulted (state), and that it is time to stop (engine). A reader never decides what is
already copied: it starts where the ledger says and the writer drops what it has (R2).
"""

from __future__ import annotations

import asyncio
import json
import logging
import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from twinlog.config.settings import LinkSettings
from twinlog.errors import (
    STAYING,
    ClusterUnreachable,
    LedgerUnwritable,
    PartitionAccessDenied,
    PartitionFault,
    SourceTopicMissing,
    SourceTopicRecreated,
    TargetUnwritable,
)
from twinlog.flow.delivery import Delivery, Reading
from twinlog.flow.first_lane import FirstLane
from twinlog.flow.hindrances import HindranceTeller, breaking, longest_throttle_s, throttled
from twinlog.flow.missing_for import MISSING_FOR_S
from twinlog.flow.pacing import Pacing
from twinlog.flow.parcel import FLUSH, Parcel
from twinlog.flow.parcel_queue import ParcelQueue
from twinlog.flow.plan import TaskPlan
from twinlog.flow.reader_fault import fault_note
from twinlog.flow.row import Row
from twinlog.flow.schema_copies import MirroredSchemas, SchemasBroughtAhead
from twinlog.flow.schema_gate import Outlet, SchemaGate
from twinlog.flow.streams import Streams
from twinlog.ledger.view import LedgerView
from twinlog.ledger.writer import roster_writer
from twinlog.model.ledger.control import CONTROL, control_of
from twinlog.model.ledger.records import (
    BROUGHT,
    FIRST_LANE,
    ROSTER_PARTITION,
    SCHEMAS_AHEAD,
    TRUNCATIONS,
    Engine,
    Entry,
    Memo,
    PartitionState,
    RosterTopic,
    ledger_topic,
    shard_of,
    truncation_name,
)
from twinlog.model.names import TopicPartition
from twinlog.model.routes.provenance import ClusterIds
from twinlog.wire import protocol_errors as codes
from twinlog.wire.connection import Cluster
from twinlog.wire.fetch import FetchPosition

log = logging.getLogger("twinlog.read")

_LEDGER_LOST_S: Final = 10.0
_NUDGE_S: Final = 2.0
_SOON_S: Final = 3.0  # a target partition without a leader usually has one again within seconds
_AT_MOST_S: Final = {
    TargetUnwritable.code: _SOON_S,
    LedgerUnwritable.code: 0.0,  # who reads this in the ledger knows that it takes notes again
}
"""How long partitions with these faults rest, however long others do."""


@dataclass
class Reader:
    """One task's reading, from its plan to the end of its epoch."""

    link: LinkSettings
    plan: TaskPlan
    clusters: ClusterIds
    source: Cluster
    target: Cluster
    out: ParcelQueue
    view: LedgerView
    reading: dict[TopicPartition, Reading] = field(default_factory=dict)
    resting: dict[TopicPartition, float] = field(default_factory=dict)  # faulted: when to try again
    replan: int | None = None
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    ledger_lost: dict[int, float] = field(default_factory=dict)  # partitions of the ledger without a leader, since when
    nudge_at: float = 0.0

    def __post_init__(self) -> None:
        link = self.link
        self.teller = HindranceTeller(link, f"read-{self.plan.task}")
        chosen, share = self.plan.control.first_of(link.reading.limits), len(self.plan.shards) / self.plan.shard_count
        self.first = FirstLane(chosen, self.plan.task, (self.plan.generation, self.plan.epoch), share)
        self.pacing = Pacing(link, self.plan.control, self.first)
        self.roster = roster_writer(self.target, link.source, link.name)
        self.copied_schemas = _copied_schemas(link, self.plan, self.view)
        held = self.copied_schemas or (link.registry.gate_ms > 0 and link.registry.topic in link.topics.not_this_way)
        copy = self.copied_schemas or SchemasBroughtAhead(self.view)
        self.gate = SchemaGate(link.registry, self.source, self.out, copy) if held else None
        self.outlet: Outlet = self.gate or self.out
        delivery = Delivery(link, self.clusters, self.source, self.outlet, self.reading, self._fault, self._place)
        self.streams = Streams(
            self.source,
            link.name,
            link.reading.fetch,
            link.writing.max_bytes_in_flight // 2,
            room=self._room,
            deliver=delivery.take,
            pace=self.pacing.pace,
            first=self.first,
            replace=self._place,
            on_failure=self.out.put,
        )

    async def run(self) -> None:
        """Read until the epoch ends, the plan changes, or the engine stops or is superseded."""
        mine = set(self.plan.shards)
        follow = None
        gating: list[asyncio.Task[None]] = []
        try:
            await self.view.catch_up(self.target, self.link.source)
            self._follow(self.view.engine)
            if CONTROL in self.view.memos and self.pacing.hear(self.view.control):
                self.finished.set()  # it was ordered after the plan was made, and is not told again
            if self.finished.is_set():
                return
            if self.gate is not None:
                gating.append(asyncio.create_task(self.gate.run()))
            if self.copied_schemas is not None:
                following = self.copied_schemas.ledger.follow(self.target, self.link.source, lambda _: None)
                gating.append(asyncio.create_task(following))
            for topic in list(self.view.roster.values()):
                self._enlist(topic, mine)
            for memo in self.view.memos.get(FIRST_LANE, {}).values():
                self.first.hear(memo)
            self.out.put(FLUSH)
            follow = asyncio.create_task(self.view.follow(self.target, self.link.source, lambda e: self._hear(e, mine)))
            await self._place()
            deadline = time.monotonic() + self.link.reading.epoch_seconds
            while not self.finished.is_set() and time.monotonic() < deadline:
                for task in (follow, *gating):
                    if task.done():
                        task.result()
                await self._tick(min(0.5, deadline - time.monotonic()))
                self._nudge()
        finally:
            for task in filter(None, (follow, *gating)):
                task.cancel()
            await self.streams.stop()
            await self.teller.close()

    async def _room(self) -> None:
        """Until Spark has taken enough, and the limit of the link lets more be asked for."""
        await self.outlet.wait_for_room()
        await self.pacing.wait()

    def _nudge(self) -> None:
        """An empty row every few seconds: a writer that failed sees it, also where no records come."""
        if time.monotonic() >= self.nudge_at:
            self.nudge_at = time.monotonic() + _NUDGE_S
            self.out.put(FLUSH)

    async def _tick(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(max(0.01, seconds)):
                await self.finished.wait()
        except TimeoutError:
            now = time.monotonic()
            gate = self.gate.says(now) if self.gate else ()
            hindered = [*throttled(self.source, now), *breaking(self.source, now), *gate]
            self.teller.tell(hindered, now, longest_throttle_s(self.source, now))
            await self.first.tell(self.roster)
            self._rest_where_the_ledger_is_lost(now)
            for partition in [p for p, when in self.resting.items() if when <= now]:
                del self.resting[partition]
                topic = self.view.roster.get(partition.topic)
                if topic is not None:
                    self._begin(topic, partition)
            self.streams.narrow()
            await self._place()

    def _rest_where_the_ledger_is_lost(self, now: float) -> None:
        """Nothing is read for a shard whose part of the ledger has no leader: nobody could note it (R11)."""
        topic = ledger_topic(self.link.source)
        known = self.target.topics.get(topic)
        numbers = {1 + shard for shard in self.plan.shards}
        lost = {n for n in numbers if self.target.leader(topic, n) is None} if known is not None else set()
        if lost == numbers and len(self.plan.shards) > 1:
            lost = set()  # the cluster is away as a whole, and waited for
        if back := self.ledger_lost.keys() - lost:
            for partition in [p for p, when in self.resting.items() if when <= now + _SOON_S]:
                if 1 + shard_of(partition, self.plan.shard_count) in back:
                    self.resting[partition] = now
        self.ledger_lost = {number: self.ledger_lost.get(number, now) for number in lost}
        if not lost:
            return  # nearly always: all partitions need not be looked at
        for partition in [*self.reading, *self.resting]:
            number = 1 + shard_of(partition, self.plan.shard_count)
            if now - self.ledger_lost.get(number, now) >= _LEDGER_LOST_S:
                if partition in self.reading:
                    log.warning("%s: %s: not read: %s-%d has no leader", self.link.name, partition, topic, number)
                self._stop(partition)
                self.resting[partition] = max(self.resting.get(partition, 0.0), now + _SOON_S)

    # --- what the ledger says -----------------------------------------------------------------------------------------

    def _hear(self, entry: Entry, mine: set[int]) -> None:
        match entry:
            case Engine():
                self._follow(entry)
            case RosterTopic():
                self._enlist(entry, mine)
            case Memo(chore="control"):
                if self.pacing.hear(control_of(entry.body)):
                    self.finished.set()  # other partitions are to be read, or in another order: that is another plan
            case Memo(chore="first-lane"):
                self.first.hear(entry)
            case Memo(chore="truncations"):
                self.resting |= {p: 0.0 for p in self.view.states if truncation_name(p) == entry.name}
            case PartitionState(phase="faulted"):
                at_most_s = _AT_MOST_S.get(entry.fault.code) if entry.fault is not None else None
                self._rest(TopicPartition(entry.topic, entry.partition), at_most_s)

    def _follow(self, engine: Engine | None) -> None:
        """Stop when the engine stops, wants a new plan, or is no longer ours (R10)."""
        if engine is None:
            return
        if self.replan is None:
            self.replan = engine.replan
        superseded = (engine.generation or 0) > self.plan.generation
        if superseded or engine.phase in {"stopping", "stopped", "switched"} or engine.replan != self.replan:
            self.finished.set()

    def _enlist(self, topic: RosterTopic, mine: set[int]) -> None:
        if topic.problem is not None:
            for partition in [p for p in self.reading if p.topic == topic.topic]:
                self._stop(partition)
            return
        for number in range(topic.partitions):
            partition = TopicPartition(topic.topic, number)
            if shard_of(partition, self.plan.shard_count) not in mine:
                continue
            known = self.reading.get(partition)
            if known is None or known.topic.incarnation != topic.incarnation:
                self.resting.pop(partition, None)
                self._begin(topic, partition)
            else:
                known.topic = topic

    def _begin(self, topic: RosterTopic, partition: TopicPartition) -> None:
        self._stop(partition)  # an older incarnation may still be read
        if self.pacing.control.paused(partition):
            return
        state = self.view.states.get(partition)
        if state is not None and state.incarnation != topic.incarnation:
            state = None
        resume = self._decided(partition, state)
        if state is not None and _stays(state) and resume is None:
            return  # only an operator ends it: what the source holds by now may look sound again (R7)
        offset = state.source_next if state else topic.origins[partition.partition]
        position = FetchPosition(topic.source_id, offset, max_bytes=self.link.reading.fetch.partition_max_bytes)
        if resume is not None:
            position.offset = offset = resume
        elif state is not None:
            position.last_epoch = state.source_epoch  # the broker says so when its log no longer has that epoch there
        self.reading[partition] = Reading(topic, position, noted=state is not None and state.phase == "closed")
        ledger = 1 + shard_of(partition, self.plan.shard_count)
        note = {
            "roster": topic.model_dump(exclude_none=True),
            "state": state.model_dump(exclude_none=True) if state else None,
            "ledger_at": self.view.positions[ledger],
            "roster_at": self.view.positions[ROSTER_PARTITION],
            "generation": self.plan.generation,
            "shard": ledger - 1,
            "resume": resume,
        }
        self.outlet.put(Parcel(partition, offset, offset, "begin", json.dumps(note).encode()))

    def _decided(self, partition: TopicPartition, state: PartitionState | None) -> int | None:
        """Where an operator wants a truncated partition to continue; None: there is no decision about this fault."""
        memo = self.view.memos.get(TRUNCATIONS, {}).get(truncation_name(partition))
        if memo is None or state is None or state.fault is None or not _stays(state):
            return None
        about = (memo.body.get("incarnation"), memo.body.get("since_ms"))
        return int(memo.body["first"]) if about == (state.incarnation, state.fault.since_ms) else None

    def _stop(self, partition: TopicPartition) -> None:
        self.reading.pop(partition, None)
        self.streams.remove(partition)

    def _rest(self, partition: TopicPartition, at_most_s: float | None = None) -> None:
        if partition in self.reading:
            self._stop(partition)
            wait_s = self.link.reading.fault_retry_seconds
            self.resting[partition] = time.monotonic() + (wait_s if at_most_s is None else min(wait_s, at_most_s))

    def _fault(self, partition: TopicPartition, fault: PartitionFault) -> None:
        """The partition cannot be read: tell the writer, which tells the ledger; try again later (R7, R8)."""
        at = self.reading[partition].position.offset
        self.outlet.put(Parcel(partition, at, at, "fault", fault_note(fault)))
        self.outlet.put(FLUSH)
        self._rest(partition)

    # --- who leads ----------------------------------------------------------------------------------------------------

    async def _place(self) -> None:
        """Give every partition without a fetching leader to its leader; start what is new at once."""
        placed = set(self.streams.placed())
        homeless = [p for p in self.reading if p not in placed]
        if not homeless:
            return
        self.out.put(FLUSH)
        try:
            await self.source.refresh({p.topic for p in homeless})
        except ClusterUnreachable as trouble:
            log.warning("%s: the source is away: %s", self.link.name, trouble)
            return
        for partition in homeless:
            await self._place_one(partition)
        self.streams.wake()

    async def _place_one(self, partition: TopicPartition) -> None:
        reading = self.reading.get(partition)
        metadata = self.source.topics.get(partition.topic)
        if reading is None or metadata is None:
            return
        if metadata.error == codes.TOPIC_AUTHORIZATION_FAILED:
            self._fault(partition, PartitionAccessDenied(*partition, self.source.alias, "Read and Describe"))
        elif metadata.error == codes.UNKNOWN_TOPIC_OR_PARTITION:
            now = time.monotonic()
            reading.since_missing = reading.since_missing or now
            if now - reading.since_missing >= MISSING_FOR_S:
                self._fault(partition, SourceTopicMissing(*partition, reading.position.offset))
        elif metadata.topic_id != reading.topic.source_id:
            self._fault(partition, SourceTopicRecreated(*partition, reading.topic.source_id, metadata.topic_id))
        else:
            reading.since_missing = None
            leader = self.source.leader(*partition)
            if leader is not None:
                reading.position.leader_epoch = leader.epoch
                self.streams.place(partition, reading.position, leader.node)


def _copied_schemas(link: LinkSettings, plan: TaskPlan, view: LedgerView) -> MirroredSchemas | None:
    """The schemas that the link copies itself; it follows their part of the ledger."""
    if plan.schemas is None:
        return None
    number, at, state = plan.schemas
    known = {} if state is None else {TopicPartition(state.topic, state.partition): state}
    return MirroredSchemas(link.registry, view.roster, LedgerView({number: at}, states=known))


def _stays(state: PartitionState) -> bool:
    return state.phase == "faulted" and state.fault is not None and state.fault.code in STAYING


def read_task(link: LinkSettings, clusters: ClusterIds, plan: TaskPlan) -> Iterator[Row]:
    """The rows of one task: starts the loop in a thread and hands out what it puts into the queue."""
    ready: queue.SimpleQueue[ParcelQueue | BaseException] = queue.SimpleQueue()

    async def main() -> None:
        out = ParcelQueue(link.writing.max_bytes_in_flight // 2, asyncio.get_running_loop())
        ready.put(out)
        client = f"twinlog|{link.name}|reader-{plan.task}"
        source, target = Cluster(link.clients.source_consumer, client), Cluster(link.clients.target_producer, client)
        view = LedgerView(dict(plan.ledger_at), plan.engine, dict(plan.roster), dict(plan.states))
        view.memos[TRUNCATIONS] = dict(plan.truncations)
        if plan.brought is not None:
            view.memos[SCHEMAS_AHEAD] = {BROUGHT: plan.brought}
        try:
            await Reader(link, plan, clusters, source, target, out, view).run()
            out.put(None)
        except BaseException as error:  # noqa: BLE001  everything must reach Spark's thread, which is waiting
            out.put(error)
        finally:
            await source.close()
            await target.close()

    thread = threading.Thread(target=lambda: asyncio.run(main()), name="twinlog-reader", daemon=True)
    thread.start()
    out = ready.get()
    assert isinstance(out, ParcelQueue)  # noqa: S101  narrowing only: main puts the queue first
    yield from out.rows()
    thread.join(5)
