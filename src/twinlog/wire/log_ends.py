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
from twinlog.wire import protocol_errors as codes
from twinlog.wire.connection import Cluster
from twinlog.wire.frames import FrameReader, string

_OFFSET_FOR_LEADER_EPOCH: Final = (23, 3)  # Kafka 2.3
_CONSUMER: Final = -1
_NOT_CHECKED: Final = -1


async def fetch_log_ends(
    cluster: Cluster, partitions: Collection[TopicPartition], within_s: float
) -> dict[TopicPartition, int | None]:
    """The log end of each partition; None where no leader tells it now, and asking again may help.

    Partitions that nobody will ever tell about (deleted, no right to look) are left out.
    """
    await cluster.refresh({partition.topic for partition in partitions})
    ends: dict[TopicPartition, int | None] = dict.fromkeys(partitions)
    by_leader: dict[int, list[tuple[TopicPartition, int]]] = {}
    for partition in partitions:
        leader = cluster.leader(*partition)
        metadata = cluster.topics.get(partition.topic)
        if leader is not None:
            by_leader.setdefault(leader.node, []).append((partition, leader.epoch))
        elif metadata is not None and metadata.error and metadata.error not in codes.PASSING:
            del ends[partition]
    answered = await asyncio.gather(*(_ask(cluster, node, wanted, within_s) for node, wanted in by_leader.items()))
    for partition, (error, end) in ((partition, told) for part in answered for partition, told in part.items()):
        if not error and end >= 0:
            ends[partition] = end
        elif error not in codes.PASSING:
            ends.pop(partition, None)
    return ends


async def _ask(
    cluster: Cluster, node: int, wanted: Collection[tuple[TopicPartition, int]], within_s: float
) -> dict[TopicPartition, tuple[int, int]]:
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


def _read(reader: FrameReader) -> dict[TopicPartition, tuple[int, int]]:
    """Partition -> error, end."""
    answers: dict[TopicPartition, tuple[int, int]] = {}
    reader.i32()  # throttle
    for _ in range(reader.i32()):
        topic = reader.string() or ""
        for _ in range(reader.i32()):
            error, number, _, end = reader.i16(), reader.i32(), reader.i32(), reader.i64()
            answers[TopicPartition(topic, number)] = error, end
    return answers
