"""A partition as a killed owner left it: records on the target that the ledger does not know, written by hand.

The brokers, the batches, the producer's identity and the ledger are real. Only the owner is left out, so that a test
decides where it died.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal

from tests.kit.ends import Ends

from twinlog.kafka.admin import TopicOrder
from twinlog.ledger.writer import LedgerWriter, roster_writer
from twinlog.model.ledger.packed_runs import pack
from twinlog.model.ledger.records import Engine, PartitionState, RosterTopic, ledger_topic, shard_of, transactional_id
from twinlog.model.ledger.runs import Run, RunMap
from twinlog.model.names import TopicPartition
from twinlog.sync.ends import LinkEnds
from twinlog.sync.link_topics import LinkTopics
from twinlog.wire.batch import BatchHeader, Stamp, readdress
from twinlog.wire.connection import Cluster
from twinlog.wire.fence import Fence, Producer
from twinlog.wire.log import LogReader
from twinlog.wire.produce import Produced, begin_produce


@dataclass
class Abandoned:
    """The first partition of a source topic with its copy, and the owner that wrote it."""

    ends: Ends
    topic: str
    roster: RosterTopic
    shards: int
    owner: Producer
    batches: list[tuple[BatchHeader, bytes]]  # of the source

    @classmethod
    def of(cls, ends: Ends, topic: str, *, identity: str | None = None) -> Abandoned:
        """Make the copy and the ledger of a topic that holds records. `identity`: another one than the shard's own."""
        both = LinkEnds.of(ends.link)
        shards = LinkTopics(ends.link, both.source, both.target).ensure_ledger()
        remote = ends.remote(topic)
        assert ends.target.create_topics([TopicOrder(remote, 1, 1, {})]) == {remote: None}
        there, here = ends.await_topic(ends.target, remote), ends.await_topic(ends.source, topic)
        roster = RosterTopic(topic=topic, source_id=here.topic_id, remote=remote, target_id=there.topic_id, origins=[0])
        shard = shard_of(TopicPartition(topic, 0), shards)
        name = identity or transactional_id(ends.link.source, ends.link.target, shard)

        async def prepare() -> tuple[Producer, list[tuple[BatchHeader, bytes]]]:
            async with raw(ends) as target:
                owner = await Fence(target, ends.link.name).take_over(name, shard)
                return owner, await source_batches(ends, topic)

        owner, batches = asyncio.run(prepare())
        return cls(ends, topic, roster, shards, owner, batches)

    @property
    def shard(self) -> int:
        return shard_of(TopicPartition(self.topic, 0), self.shards)

    @property
    def remote(self) -> TopicPartition:
        return TopicPartition(self.roster.remote, 0)

    def leave(self, noted: int, phase: Literal["copying", "closed"] = "copying") -> None:
        """Write everything to the target; the ledger hears of the first records only."""

        async def work() -> None:
            async with raw(self.ends) as target:
                for header, data in self.batches:
                    answer = await send(target, self.remote, header, data, self.owner, sequence=header.base_offset)
                    assert answer.error == 0, answer
                link = self.ends.link
                await roster_writer(target, link.source, link.name).write([self.roster, _killed()])
                ledger = LedgerWriter(target, ledger_topic(link.source), 1 + self.shard, link.name)
                await ledger.write([self._state(noted, phase)])

        asyncio.run(work())

    def late(self, owner: Producer, sequence: int) -> Produced:
        """A batch of an owner that lost the shard arrives now: it was in a socket all the time."""
        header, data = self.batches[-1]

        async def work() -> Produced:
            async with raw(self.ends) as target:
                return await send(target, self.remote, header, data, owner, sequence=sequence)

        return asyncio.run(work())

    def _state(self, noted: int, phase: Literal["copying", "closed"]) -> PartitionState:
        runs = RunMap()
        runs.add(Run(0, 0, noted))
        return PartitionState(
            topic=self.topic,
            partition=0,
            incarnation=self.roster.incarnation,
            phase=phase,
            source_first=0,
            target_first=0,
            source_next=noted,
            target_next=noted,
            producer_id=self.owner.producer_id,
            producer_epoch=self.owner.epoch,
            sequence=noted,
            records=noted,
            at_ms=int(time.time() * 1000),
            open_map=pack(runs),
        )


def _killed() -> Engine:
    """The record of an engine that is gone from this machine."""
    return Engine(engine_id="killed", host=socket.gethostname(), pid=2**22 + 1, phase="running")


@asynccontextmanager
async def raw(ends: Ends) -> AsyncIterator[Cluster]:
    """The target, for raw requests."""
    target = Cluster(ends.link.clients.target_producer, "abandoned")
    try:
        yield target
    finally:
        await target.close()


async def source_batches(ends: Ends, topic: str) -> list[tuple[BatchHeader, bytes]]:
    """The batches of the first partition, as they lie there."""
    (end,) = ends.source_ends([topic]).values()
    source = Cluster(ends.link.clients.source_consumer, "abandoned")
    found: list[tuple[BatchHeader, bytes]] = []
    try:
        reader = LogReader(source, topic, {0: 0}, "abandoned", lasting=False)
        async for _, batches in reader.batches():
            found += batches
            if reader.positions[0] >= end:
                return found
    finally:
        await source.close()
    return found


async def send(
    target: Cluster,
    where: TopicPartition,
    header: BatchHeader,
    data: bytes,
    owner: Producer,
    *,
    sequence: int,
) -> Produced:
    """One batch as an owner writes it."""
    await target.refresh([where.topic])
    leader = target.leader(*where)
    assert leader is not None
    connection = await target.connection(leader.node)
    stamp = Stamp(owner.producer_id, owner.epoch, sequence)
    return (await begin_produce(connection, {where: readdress(data, header, stamp)}, 10))[where]
