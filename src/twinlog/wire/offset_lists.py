"""Where many partitions begin or end, each with its own answer: one that has no leader holds no other up.

Runs wherever an asyncio loop does. One request per leader; what may pass (an election, a broker that restarts) is asked
again until the time is over.
"""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import Collection, Mapping
from typing import Final

from twinlog.errors import ClusterUnreachable
from twinlog.model.names import TopicPartition
from twinlog.wire import protocol_errors as codes
from twinlog.wire.broken import why
from twinlog.wire.connection import Cluster
from twinlog.wire.frames import FrameReader, string

_LIST_OFFSETS: Final = (2, 4)
_PAUSE_S: Final = 0.1
_NO_LEADER: Final = "it has no leader"
_GONE: Final = "it does not exist"


async def fetch_offsets(
    cluster: Cluster, partitions: Collection[TopicPartition], when: int, *, committed: bool = False, within_s: float
) -> dict[TopicPartition, int | str]:
    """The offset of each partition, or why it is not known. Raises ClusterUnreachable when no broker answers at all."""
    answers: dict[TopicPartition, int | str] = {}
    deadline = time.monotonic() + within_s
    left = set(partitions)
    while left:
        answers |= await _ask_all(cluster, left, when, max(0.5, deadline - time.monotonic()), committed=committed)
        left = {partition for partition in left if isinstance(answers[partition], str)}
        if not left or time.monotonic() > deadline:
            break
        await asyncio.sleep(_PAUSE_S)
    return answers


async def _ask_all(
    cluster: Cluster, partitions: Collection[TopicPartition], when: int, within_s: float, *, committed: bool
) -> dict[TopicPartition, int | str]:
    answers: dict[TopicPartition, int | str] = {}
    by_leader: dict[int, list[TopicPartition]] = {}
    metadata = await cluster.refresh({partition.topic for partition in partitions})
    for partition in partitions:
        leader = cluster.leader(*partition)
        if leader is not None:
            by_leader.setdefault(leader.node, []).append(partition)
        else:
            there = partition.partition in metadata[partition.topic].leaders
            answers[partition] = _NO_LEADER if there else _trouble(metadata[partition.topic].error)
    answered = await asyncio.gather(
        *(_ask(cluster, node, wanted, when, within_s, committed=committed) for node, wanted in by_leader.items())
    )
    for part in answered:
        answers |= part
    return answers


async def _ask(
    cluster: Cluster, node: int, partitions: Collection[TopicPartition], when: int, within_s: float, *, committed: bool
) -> Mapping[TopicPartition, int | str]:
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    body = [struct.pack(">ibi", -1, int(committed), len(topics))]
    for topic, numbers in topics.items():
        body += [string(topic), struct.pack(">i", len(numbers))]
        body += [struct.pack(">iiq", number, -1, when) for number in numbers]
    try:
        async with asyncio.timeout(within_s):
            connection = await cluster.connection(node)
            reader = await connection.exchange(*_LIST_OFFSETS, body, flexible=False, timeout_s=within_s)
    except (ClusterUnreachable, TimeoutError) as trouble:
        return dict.fromkeys(partitions, f"broker {node} leads it and does not answer: {why(trouble)}")
    return _read(reader)


def _read(reader: FrameReader) -> dict[TopicPartition, int | str]:
    answers: dict[TopicPartition, int | str] = {}
    reader.i32()  # throttle
    for _ in range(reader.i32()):
        topic = reader.string() or ""
        for _ in range(reader.i32()):
            number, error, _, offset = reader.i32(), reader.i16(), reader.i64(), reader.i64()
            reader.i32()  # leader epoch
            answers[TopicPartition(topic, number)] = _trouble(error) if error else offset
    return answers


def _trouble(error: int) -> str:
    if error in {codes.NONE, codes.UNKNOWN_TOPIC_OR_PARTITION, codes.UNKNOWN_TOPIC_ID}:
        return _GONE
    return _NO_LEADER if error == codes.LEADER_NOT_AVAILABLE else f"its broker says {codes.name_of(error)}"
