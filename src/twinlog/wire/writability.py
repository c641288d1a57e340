"""Whether partitions take a write just now, asked without writing. Runs on executors, before a marker is planted.

A marker for a partition that takes none keeps its transaction open until the partition recovers, and with it the
transactional id: nobody could take over the shard meanwhile, nor any healthy partition in it (R8).
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from typing import Final

from twinlog.errors import BrokerAway
from twinlog.model.names import TopicPartition
from twinlog.wire.connection import Cluster
from twinlog.wire.frames import FrameReader, string

_DESCRIBE_CONFIGS: Final = (32, 1)
_TOPIC: Final = 2
_MIN_IN_SYNC: Final = "min.insync.replicas"
NO_LEADER: Final = "it has no leader"


async def why_unwritable(cluster: Cluster, partitions: Collection[TopicPartition]) -> dict[TopicPartition, str]:
    """The partitions that take no write now, each with the reason. By the metadata that was asked for last."""
    hindered: dict[TopicPartition, str] = {}
    wanted = await _least_in_sync(cluster, {partition.topic for partition in partitions})
    for partition in partitions:
        leader = cluster.leader(*partition)
        if leader is None:
            hindered[partition] = NO_LEADER
            continue
        least = wanted.get(partition.topic, 1)
        # A broker wants no more replicas in sync than there are: one replica is enough where there is only one.
        if leader.in_sync < min(least, leader.replicas):
            hindered[partition] = f"{leader.in_sync} of its replicas in sync, {_MIN_IN_SYNC} is {least}"
    return hindered


async def _least_in_sync(cluster: Cluster, topics: Collection[str]) -> dict[str, int]:
    """`min.insync.replicas` of each topic; those of which nobody tells us are left out."""
    if not topics:
        return {}
    body = [struct.pack(">i", len(topics))]
    for topic in topics:
        body += [struct.pack(">b", _TOPIC), string(topic), struct.pack(">i", 1), string(_MIN_IN_SYNC)]
    body.append(b"\x00")  # no synonyms
    try:
        connection = await cluster.any_connection()
        reader = await connection.exchange(*_DESCRIBE_CONFIGS, body, flexible=False, timeout_s=cluster.timeout_s)
    except BrokerAway:
        return {}
    return _read(reader)


def _read(reader: FrameReader) -> dict[str, int]:
    values: dict[str, int] = {}
    reader.i32()  # throttle
    for _ in range(reader.i32()):
        reader.i16()  # error: without the right to see configs there are none
        reader.string()
        reader.i8()
        topic = reader.string() or ""
        for _ in range(reader.i32()):
            reader.string()
            value = reader.string()
            reader.take(3)  # read only, source, sensitive
            for _ in range(reader.i32()):
                reader.string()
                reader.string()
                reader.i8()
            if value is not None and value.isdecimal():
                values[topic] = int(value)
    return values
