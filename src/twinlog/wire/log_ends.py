"""Where the leaders' own logs end, records included that not all replicas in sync have yet. Runs in an asyncio loop.

    log start ───── high watermark ───── log end
                    what readers see     what the leader has taken

ListOffsets answers with the high watermark. OffsetForLeaderEpoch, asked for the newest epoch, answers with the log end.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Collection
from typing import Final

from twinlog.errors import ClusterUnreachable
from twinlog.model.names import TopicPartition
from twinlog.wire.connection import Cluster
from twinlog.wire.frames import FrameReader, string

_OFFSET_FOR_LEADER_EPOCH: Final = (23, 3)  # Kafka 2.3
_CONSUMER: Final = -1
_NOT_CHECKED: Final = -1


async def fetch_log_ends(
    cluster: Cluster, partitions: Collection[TopicPartition], within_s: float
) -> dict[TopicPartition, int]:
    """The log end of each partition whose leader tells it; others are left out."""
    await cluster.refresh({partition.topic for partition in partitions})
    by_leader: dict[int, list[tuple[TopicPartition, int]]] = {}
    for partition in partitions:
        leader = cluster.leader(*partition)
        if leader is not None:
            by_leader.setdefault(leader.node, []).append((partition, leader.epoch))
    found = await asyncio.gather(*(_ask(cluster, node, wanted, within_s) for node, wanted in by_leader.items()))
    return {partition: end for part in found for partition, end in part.items()}


async def _ask(
    cluster: Cluster, node: int, wanted: Collection[tuple[TopicPartition, int]], within_s: float
) -> dict[TopicPartition, int]:
    topics: dict[str, list[tuple[int, int]]] = {}
    for (topic, number), epoch in wanted:
        topics.setdefault(topic, []).append((number, epoch))
    body = [struct.pack(">ii", _CONSUMER, len(topics))]
    for topic, numbers in topics.items():
        body += [string(topic), struct.pack(">i", len(numbers))]
        body += [struct.pack(">iii", number, _NOT_CHECKED, epoch) for number, epoch in numbers]
    try:
        async with asyncio.timeout(within_s):
            connection = await cluster.connection(node)
            reader = await connection.exchange(*_OFFSET_FOR_LEADER_EPOCH, body, flexible=False, timeout_s=within_s)
    except (ClusterUnreachable, TimeoutError):
        return {}
    return _read(reader)


def _read(reader: FrameReader) -> dict[TopicPartition, int]:
    ends: dict[TopicPartition, int] = {}
    reader.i32()  # throttle
    for _ in range(reader.i32()):
        topic = reader.string() or ""
        for _ in range(reader.i32()):
            error, number, _, end = reader.i16(), reader.i32(), reader.i32(), reader.i64()
            if not error and end >= 0:
                ends[TopicPartition(topic, number)] = end
    return ends
