"""The program behind the ceiling: raw batches from one topic to another until it is ended.

    fetch loop per source leader ──▶ one queue per partition ──▶ produce loop per target leader, five under way

Both loops share one asyncio loop and so one core. The producer is idempotent, which is what keeps order with several
requests under way; everything else that makes a mirror safe is left out.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque

from twinlog.config.settings import ClientSettings
from twinlog.model.names import TopicPartition
from twinlog.wire.batch import BatchHeader, Stamp, readdress, walk
from twinlog.wire.connection import Cluster
from twinlog.wire.fence import Fence, Producer
from twinlog.wire.fetch import FetchPosition, FetchSession
from twinlog.wire.produce import Produced, begin_produce

_UNDER_WAY = 5
_REQUEST_BYTES = 8 << 20
_QUEUED_BYTES = 32 << 20


class PassThrough:
    """One topic, all partitions."""

    def __init__(self, source: Cluster, target: Cluster, topic: str, remote: str, producer: Producer) -> None:
        self.source, self.target = source, target
        self.topic, self.remote = topic, remote
        self.producer = producer
        self.queues: dict[int, deque[tuple[bytes, BatchHeader]]] = {}
        self.sequences: dict[int, int] = {}
        self.queued = 0
        self.filled = asyncio.Event()
        self.drained = asyncio.Event()

    async def run(self) -> None:
        sessions: dict[int, FetchSession] = {}
        lanes: dict[int, list[int]] = {}
        metadata = self.source.topics[self.topic]
        for partition, leader in metadata.leaders.items():
            session = sessions.setdefault(leader.node, FetchSession(8 << 20, 500, 1, read_committed=True))
            position = FetchPosition(metadata.topic_id, 0, leader.epoch)
            session.positions[TopicPartition(self.topic, partition)] = position
            self.queues[partition], self.sequences[partition] = deque(), 0
        for partition, leader in self.target.topics[self.remote].leaders.items():
            lanes.setdefault(leader.node, []).append(partition)
        async with asyncio.TaskGroup() as work:
            for node, session in sessions.items():
                work.create_task(self._fetch(node, session))
            for node, partitions in lanes.items():
                work.create_task(self._produce(node, partitions))

    async def _fetch(self, node: int, session: FetchSession) -> None:
        connection = await self.source.connection(node, "fetch")
        while True:
            while self.queued > _QUEUED_BYTES:
                self.drained.clear()
                await self.drained.wait()
            for part in await session.poll(connection, self.source.timeout_s):
                if part.error:
                    raise RuntimeError(f"{part.partition}: fetch error {part.error}")
                position = session.positions[part.partition]
                queue = self.queues[part.partition.partition]
                for at, header in walk(part.records):
                    position.offset = header.next_offset
                    if not header.is_control:
                        queue.append((bytes(part.records[at : at + header.size]), header))
                        self.queued += header.size
            self.filled.set()

    async def _produce(self, node: int, partitions: list[int]) -> None:
        connection = await self.target.connection(node, "produce")
        under_way: deque[asyncio.Future[dict[TopicPartition, Produced]]] = deque()
        turn = 0
        while True:
            while under_way and (under_way[0].done() or len(under_way) >= _UNDER_WAY):
                _accepted(await under_way.popleft())
            request, turn = self._request(partitions, turn)
            if request:
                under_way.append(begin_produce(connection, request, self.target.timeout_s))
                await asyncio.sleep(0)
            elif not self.filled.is_set():
                await self.filled.wait()
            else:
                self.filled.clear()

    def _request(self, partitions: list[int], turn: int) -> tuple[dict[TopicPartition, bytes], int]:
        """One batch of each partition that has one, beginning where the last request ended."""
        request: dict[TopicPartition, bytes] = {}
        size = 0
        for step in range(len(partitions)):
            partition = partitions[(turn + step) % len(partitions)]
            queue = self.queues[partition]
            if not queue:
                continue
            batch, header = queue.popleft()
            stamp = Stamp(self.producer.producer_id, self.producer.epoch, self.sequences[partition])
            request[TopicPartition(self.remote, partition)] = readdress(batch, header, stamp)
            self.sequences[partition] += header.record_count
            size += header.size
            if size >= _REQUEST_BYTES:
                turn += step + 1
                break
        self.queued -= size
        if self.queued <= _QUEUED_BYTES:
            self.drained.set()
        return request, turn


def _accepted(answers: dict[TopicPartition, Produced]) -> None:
    for partition, answer in answers.items():
        if answer.error:
            raise RuntimeError(f"{partition}: produce error {answer}")


async def main(source_servers: str, target_servers: str, topic: str, remote: str) -> None:
    source = Cluster(ClientSettings(cluster="source", bootstrap_servers=(source_servers,)), "bench|raw")
    target = Cluster(ClientSettings(cluster="target", bootstrap_servers=(target_servers,)), "bench|raw")
    await source.refresh([topic])
    await target.refresh([remote])
    producer = await Fence(target, "bench").take_over(f"bench|{remote}", 0)
    await PassThrough(source, target, topic, remote, producer).run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:5]))
