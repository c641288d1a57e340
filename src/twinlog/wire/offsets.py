"""ListOffsets, by hand: where a log begins and ends, asked by an executor in the middle of its work."""

from __future__ import annotations

import struct
from typing import Final

from twinlog.wire.connection import Cluster
from twinlog.wire.frames import string
from twinlog.wire.protocol_errors import name_of

_LIST_OFFSETS: Final = 2
_VERSION: Final = 4
EARLIEST: Final = -2
LATEST: Final = -1


class OffsetsRefused(Exception):
    """The broker does not say; the code tells why."""

    def __init__(self, code: int) -> None:
        super().__init__(name_of(code))
        self.code = code


async def fetch_offset(cluster: Cluster, topic: str, partition: int, when: int, *, read_committed: bool = False) -> int:
    """The offset at the beginning or end of a partition.

    The end is that of all records, open transactions included; with `read_committed` it is before the first open one.
    """
    leader = cluster.leader(topic, partition)
    if leader is None:
        raise OffsetsRefused(5)
    connection = await cluster.connection(leader.node)
    body = (
        struct.pack(">ibi", -1, int(read_committed), 1),
        string(topic),
        struct.pack(">iiiq", 1, partition, -1, when),
    )
    reader = await connection.exchange(_LIST_OFFSETS, _VERSION, body, flexible=False, timeout_s=cluster.timeout_s)
    reader.i32()  # throttle
    reader.i32()  # one topic
    reader.string()
    reader.i32()  # one partition
    reader.i32()
    error = reader.i16()
    if error:
        raise OffsetsRefused(error)
    reader.i64()  # timestamp
    return reader.i64()
