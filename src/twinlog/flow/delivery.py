"""From fetch answers to parcels: what is copied, what is a fault, what is asked again. Runs in the reader's loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from twinlog.config.settings import LinkSettings
from twinlog.errors import (
    AccessDenied,
    ClusterError,
    ClusterUnreachable,
    CorruptBatch,
    OffsetGap,
    PartitionAccessDenied,
    PartitionFault,
    ProvenanceUnknown,
    SourceTruncated,
)
from twinlog.flow.parcel import FLUSH, Parcel, data_parcel, now_us
from twinlog.flow.reader_fault import fault_note
from twinlog.flow.row import LARGE
from twinlog.flow.schema_gate import Outlet
from twinlog.flow.streams import PAUSE_S
from twinlog.ledger.writers import SourceWriters
from twinlog.model.ledger.records import RosterTopic
from twinlog.model.names import TopicPartition
from twinlog.model.routes.provenance import ClusterIds, WriterNote
from twinlog.wire import protocol_errors as codes
from twinlog.wire.committed import select_batches
from twinlog.wire.connection import Cluster
from twinlog.wire.fetch import FetchedPartition, FetchPosition, FetchSession
from twinlog.wire.offsets import EARLIEST, LATEST, OffsetsRefused, fetch_offset

_LEARN_S: Final = 5.0
_UNSURE_FOR_S: Final = 10.0  # a leader election is no fault


@dataclass
class Reading:
    """One partition while it is read."""

    topic: RosterTopic
    position: FetchPosition
    noted: bool = False  # it was closed: nothing was copied behind the ledger's position
    since_missing: float | None = None
    since_unsure: float | None = None  # who wrote what was fetched cannot be told


@dataclass
class Delivery:
    """The answers of one task."""

    link: LinkSettings
    clusters: ClusterIds
    source: Cluster
    out: Outlet
    reading: Mapping[TopicPartition, Reading]
    fault: Callable[[TopicPartition, PartitionFault], None]
    replace: Callable[[], Awaitable[None]]
    unsure_until: float = 0.0
    writers: dict[bool, SourceWriters] = field(init=False)

    def __post_init__(self) -> None:
        self.writers = {
            exempt: SourceWriters(self.source, partial(self._leaves_out, exempt)) for exempt in (False, True)
        }

    def _leaves_out(self, exempt: bool, writer: WriterNote) -> bool:
        return self.link.provenance.leaves_out(writer, self.clusters, exempt=exempt)

    async def take(self, fetched: list[FetchedPartition], session: FetchSession) -> None:
        """One answer: its parcels are queued. A trickle waits a moment for more before the next fetch."""
        if await self._deliver(fetched, session):
            self.out.put(FLUSH)
        if sum(len(part.records) for part in fetched) < LARGE:
            # The next answer would bring a record or two and cost as much as one with a hundred.
            await asyncio.sleep(self.link.writing.merge_linger_ms / 1000)

    async def _deliver(self, fetched: list[FetchedPartition], session: FetchSession) -> bool:
        """Turn an answer into parcels; tells whether there was any. Trouble of one partition is its own (R8)."""
        sent = moved = False
        now = now_us()
        for part in fetched:
            reading = self.reading.get(part.partition)
            if reading is None or session.positions.get(part.partition) is not reading.position:
                continue  # we stopped reading it while the answer was under way
            if part.diverging_end is not None:
                wanted = reading.position.offset
                self.fault(part.partition, SourceTruncated(*part.partition, wanted, part.diverging_end))
            elif part.error == codes.OFFSET_OUT_OF_RANGE:
                await self._out_of_range(part.partition, reading)
            elif part.error == codes.TOPIC_AUTHORIZATION_FAILED:
                self.fault(part.partition, PartitionAccessDenied(*part.partition, self.source.alias, "Read"))
            elif part.error == codes.CORRUPT_MESSAGE:
                problem = "the source broker itself finds it unreadable"
                self.fault(part.partition, CorruptBatch(*part.partition, reading.position.offset, problem))
            elif part.error:
                session.positions.pop(part.partition)  # not the leader, no such id, …: `_place` finds out
                moved = True
            elif len(part.records):
                sent |= await self._send(part, reading, now)
        if moved:
            await asyncio.sleep(PAUSE_S)
            await self.replace()
        return sent

    async def _send(self, part: FetchedPartition, reading: Reading, fetched_us: int) -> bool:
        position = reading.position
        writers = self._writers_of(reading.topic)
        stamps = None if writers is None else writers.stamps
        chosen = select_batches(part.records, part.aborted, position.offset, position.last_epoch, stamps)
        if chosen.unknown and writers is not None:
            if not await self._learn(part.partition, reading, writers, chosen.unknown):
                return False
            if self.reading.get(part.partition) is not reading:
                return False  # stopped meanwhile
            chosen = select_batches(part.records, part.aborted, position.offset, position.last_epoch, stamps)
        first, position.offset, position.last_epoch = position.offset, chosen.next_offset, chosen.last_epoch
        if chosen.next_offset > first:
            kept = (first, chosen.next_offset, chosen.payload, chosen.returned)
            self.out.put(data_parcel(part.partition, *kept, fetched_us=fetched_us, epoch=chosen.last_epoch))
        if chosen.strange is not None:
            problem = f"magic {chosen.strange.magic} with length {chosen.strange.length} is not a batch"
            self.fault(part.partition, CorruptBatch(*part.partition, chosen.strange.base_offset, problem))
        return chosen.next_offset > first

    def _writers_of(self, topic: RosterTopic) -> SourceWriters | None:
        """Who decides which batches of a topic came from the target; None: all are copied."""
        provenance = self.link.provenance
        return self.writers[provenance.exempts(self.clusters, topic.remote)] if provenance.mode == "batch" else None

    async def _learn(
        self, partition: TopicPartition, reading: Reading, writers: SourceWriters, unknown: Collection[int]
    ) -> bool:
        """Find out who these producers are. Until that is known nothing of the partition is copied (R2)."""
        if time.monotonic() < self.unsure_until:
            return False
        try:
            async with asyncio.timeout(_LEARN_S):
                await writers.learn(unknown)
        except (ClusterError, TimeoutError) as trouble:
            now = time.monotonic()
            self.unsure_until = now + PAUSE_S  # the other partitions of this answer need not wait as long again
            reading.since_unsure = reading.since_unsure or now
            denied = isinstance(trouble, AccessDenied)
            if self.reading.get(partition) is reading and (denied or now - reading.since_unsure > _UNSURE_FOR_S):
                problem = str(trouble) or "the notes of writers cannot be read"
                self.fault(partition, ProvenanceUnknown(*partition, min(unknown), problem))
            await asyncio.sleep(PAUSE_S)
            return False
        reading.since_unsure = None
        return True

    async def _out_of_range(self, partition: TopicPartition, reading: Reading) -> None:
        wanted = reading.position.offset
        try:
            earliest = await fetch_offset(self.source, *partition, EARLIEST)
            latest = await fetch_offset(self.source, *partition, LATEST)
        except (OffsetsRefused, ClusterUnreachable):
            return  # the next fetch says the same again
        if wanted > latest or earliest <= wanted:
            # The second: the broker does not know the leader epoch that we read last. How much it lost is not known.
            self.fault(partition, SourceTruncated(*partition, wanted, min(wanted, latest)))
        elif wanted < earliest:
            gap = OffsetGap(*partition, wanted, earliest)
            skips = self.link.reading.on_gap == "skip"
            if not skips and reading.noted:
                self.fault(partition, gap)
                return
            # What was copied and not noted is known to the writer alone: it judges whether there is a gap, and where.
            note = str(gap).encode() if skips else fault_note(gap)
            self.out.put(Parcel(partition, wanted, earliest, "gap" if skips else "fault", note))
            self.out.put(FLUSH)
            reading.position.offset, reading.position.last_epoch = earliest, -1
