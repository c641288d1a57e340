"""DescribeProducers, by hand: what a partition remembers of a producer, also when its records are deleted.

Runs on executors. Kafka 3.0 and newer answer; Read on the topic is needed, as for reading it.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from twinlog.errors import ClusterUnreachable
from twinlog.model.names import TopicPartition
from twinlog.wire.connection import Cluster
from twinlog.wire.frames import FrameReader, compact_string

_DESCRIBE_PRODUCERS: Final = (61, 0)


class LastWrite(NamedTuple):
    """The last batch of a producer that a partition took."""

    epoch: int
    sequence: int  # of its last record


async def fetch_last_write(cluster: Cluster, partition: TopicPartition, producer_id: int) -> LastWrite | None:
    """What a partition last took of a producer; None when it does not know or does not say."""
    leader = cluster.leader(*partition)
    if leader is None:
        return None
    body = [b"\x02", compact_string(partition.topic), b"\x02", struct.pack(">i", partition.partition), b"\x00\x00"]
    try:
        connection = await cluster.connection(leader.node)
        if connection.highest_version(_DESCRIBE_PRODUCERS[0]) < _DESCRIBE_PRODUCERS[1]:
            return None
        reader = await connection.exchange(*_DESCRIBE_PRODUCERS, body, flexible=True, timeout_s=cluster.timeout_s)
    except ClusterUnreachable:
        return None
    return _read(reader).get(producer_id)


def _read(reader: FrameReader) -> dict[int, LastWrite]:
    reader.i32()  # throttle
    writes: dict[int, LastWrite] = {}
    for _ in range(reader.uvarint() - 1):
        reader.compact_string()
        for _ in range(reader.uvarint() - 1):
            reader.i32()
            reader.i16()  # an error comes with no producers
            reader.compact_string()
            for _ in range(reader.uvarint() - 1):
                producer, epoch, sequence = reader.i64(), reader.i32(), reader.i32()
                reader.i64()  # time
                reader.i32()  # epoch of the coordinator
                reader.i64()  # begin of its open transaction
                reader.tags()
                writes[producer] = LastWrite(epoch, sequence)
            reader.tags()
        reader.tags()
    return writes
