"""Reading one log from one place to another: the ledger, and the tail of a target partition at a take-over.

Runs wherever an asyncio loop does. Everything is read raw and uncommitted: the owner of a shard wants to see what lies
in the log, whoever wrote it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from dataclasses import dataclass, field

from twinlog.errors import ClusterUnreachable
from twinlog.model.backoff import Backoff
from twinlog.model.names import TopicPartition
from twinlog.wire import protocol_errors as codes
from twinlog.wire.batch import BatchHeader, walk
from twinlog.wire.committed import select_batches
from twinlog.wire.connection import Cluster
from twinlog.wire.fetch import FetchedPartition, FetchPosition, FetchRefused, FetchSession
from twinlog.wire.offsets import EARLIEST, LATEST, OffsetsRefused, fetch_offset


@dataclass
class LogReader:
    """Follows some partitions of one topic and yields every batch in it, for ever."""

    cluster: Cluster
    topic: str
    positions: dict[int, int]  # partition -> next offset
    lane: str
    max_wait_ms: int = 500
    lasting: bool = True  # False for a short look: costs the broker no fetch session
    read_committed: bool = False  # True leaves out aborted and open transactions
    _sessions: dict[int, FetchSession] = field(default_factory=dict)
    _backoff: Backoff = field(default_factory=Backoff)

    async def batches(self) -> AsyncGenerator[tuple[int, list[tuple[BatchHeader, bytes]]], None]:
        """(partition, batches) as they come. A broker that is away is waited for."""
        tasks: dict[asyncio.Task[list[FetchedPartition]], int] = {}
        try:
            while True:
                for node in await self._nodes():
                    if node not in tasks.values():
                        tasks[asyncio.create_task(self._poll(node))] = node
                if not tasks:
                    await self._wait()
                    continue
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    del tasks[task]
                    for part in task.result():
                        before = self.positions[part.partition.partition]
                        batches = await self._take(part)
                        # Behind an aborted transaction the position moves, and there is no batch to tell it.
                        moved = self.read_committed and self.positions[part.partition.partition] != before
                        if batches or moved:
                            yield part.partition.partition, batches
        finally:
            for task in tasks:
                task.cancel()
            # Whoever closes the connections next must find nobody waiting on them.
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _nodes(self) -> list[int]:
        """Put every partition into the session of its leader; return the leaders."""
        metadata = self.cluster.topics.get(self.topic)
        if metadata is None or any(self.cluster.leader(self.topic, p) is None for p in self.positions):
            try:
                metadata = (await self.cluster.refresh([self.topic])).get(self.topic)
            except ClusterUnreachable:
                metadata = None
        if metadata is None:
            return []
        wanted: dict[int, dict[TopicPartition, FetchPosition]] = {}
        for partition, offset in self.positions.items():
            leader = self.cluster.leader(self.topic, partition)
            if leader is not None:
                at = FetchPosition(metadata.topic_id, offset, leader.epoch)
                wanted.setdefault(leader.node, {})[TopicPartition(self.topic, partition)] = at
        for node, positions in wanted.items():
            session = self._sessions.setdefault(node, self._session())
            session.positions.replace(positions)
        for node in [node for node in self._sessions if node not in wanted]:
            del self._sessions[node]
        return list(wanted)

    def _session(self) -> FetchSession:
        return FetchSession(1 << 23, self.max_wait_ms, 1, read_committed=self.read_committed, lasting=self.lasting)

    async def _poll(self, node: int) -> list[FetchedPartition]:
        session = self._sessions[node]
        try:
            fetched = await session.poll(await self.cluster.connection(node, self.lane), self.cluster.timeout_s)
        except (FetchRefused, ClusterUnreachable):
            session.reset()
            self.cluster.topics.pop(self.topic, None)
            await self._wait()
            return []
        self._backoff.reset()
        return fetched

    async def _take(self, part: FetchedPartition) -> list[tuple[BatchHeader, bytes]]:
        number = part.partition.partition
        if part.error == codes.OFFSET_OUT_OF_RANGE:
            try:
                self.positions[number] = await fetch_offset(self.cluster, self.topic, number, EARLIEST)
            except (OffsetsRefused, ClusterUnreachable):
                await self._wait()
            return []
        if part.error:
            self.cluster.topics.pop(self.topic, None)  # the leader moved: ask again
            await self._wait()
            return []
        view = part.records
        behind = self.positions[number]
        if self.read_committed:
            selected = select_batches(part.records, part.aborted, behind, -1)
            view, behind = memoryview(selected.payload), selected.next_offset
        batches = [(header, bytes(view[at : at + header.size])) for at, header in walk(view)]
        batches = [pair for pair in batches if pair[0].next_offset > self.positions[number]]
        if batches:
            behind = max(behind, batches[-1][0].next_offset)
        self.positions[number] = behind
        return batches

    async def _wait(self) -> None:
        await asyncio.sleep(self._backoff.next_s())


async def up_to_marker(
    reader: LogReader, partition: int, producer_id: int, epoch: int, planted_behind: int = 0
) -> AsyncIterator[tuple[BatchHeader, bytes]]:
    """Everything up to the marker that an owner of a shard just planted: the proof that no older owner can follow.

    A partition that begins again within one task has an earlier marker of the same owner, with records behind it.
    """
    async for _, batches in reader.batches():
        for header, data in batches:
            own = header.is_control and (header.producer_id, header.producer_epoch) == (producer_id, epoch)
            if own and header.base_offset >= planted_behind:
                reader.positions[partition] = header.next_offset
                reader.cluster.drop(reader.lane)
                return
            yield header, data


async def fetch_ends(
    cluster: Cluster, topic: str, partitions: Iterable[int], *, read_committed: bool = False
) -> dict[int, int]:
    """Where these partitions end now; with `read_committed`, before the first open transaction. Waits for leaders."""
    ends: dict[int, int] = {}
    backoff = Backoff()
    while True:
        try:
            if topic not in cluster.topics:
                await cluster.refresh([topic])
            for partition in partitions:
                if partition not in ends:
                    ends[partition] = await fetch_offset(
                        cluster, topic, partition, LATEST, read_committed=read_committed
                    )
        except (OffsetsRefused, ClusterUnreachable):
            cluster.topics.pop(topic, None)
            await asyncio.sleep(backoff.next_s())
        else:
            return ends
