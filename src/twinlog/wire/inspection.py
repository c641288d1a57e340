"""Questions to a cluster that the ordinary client cannot ask: its clock, disks, versions, coordinators.

Runs in the doctor's loop. Nothing here changes anything.
"""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import Mapping
from typing import Final

from twinlog.errors import AccessDenied, BrokerRefused
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.health.inspection import FETCH, FIND_COORDINATOR, PRODUCE, ClockFacts, DiskFacts
from twinlog.wire import protocol_errors as codes
from twinlog.wire.connection import Cluster
from twinlog.wire.frames import FrameReader, compact_string, string, unsigned_varint

_DESCRIBE_QUORUM: Final = (55, 1)
_DESCRIBE_LOG_DIRS: Final = (35, 4)
_FIND_COORDINATOR_V1: Final = (10, 1)
_TRANSACTION: Final = 1
_LOOKS: Final = 3
_COORDINATOR_WITHIN_S: Final = 5.0
_DENIED: Final = frozenset(
    {codes.CLUSTER_AUTHORIZATION_FAILED, codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, codes.TOPIC_AUTHORIZATION_FAILED}
)


async def fetch_clock(cluster: Cluster) -> ClockFacts:
    """Compare the controller's clock with ours; of a few tries the quickest counts.

    The controller says of every voter when it was last caught up, and of itself: now.
    """
    looks = [await _look_at_clock(cluster) for _ in range(_LOOKS)]
    return min(looks, key=lambda look: look.error_ms)


async def _look_at_clock(cluster: Cluster) -> ClockFacts:
    connection = await cluster.any_connection()
    if connection.highest_version(_DESCRIBE_QUORUM[0]) < _DESCRIBE_QUORUM[1]:
        raise BrokerRefused(cluster.alias, "it does not tell its time; Kafka 3.3 in KRaft mode is needed")
    body = [b"\x02", compact_string("__cluster_metadata"), b"\x02", struct.pack(">i", 0), b"\x00\x00\x00"]
    sent = SYSTEM_CLOCK.now_s()
    reader = await connection.exchange(*_DESCRIBE_QUORUM, body, flexible=True, timeout_s=cluster.timeout_s)
    received = SYSTEM_CLOCK.now_s()
    _check(cluster, reader.i16(), "asking for the quorum", "Describe on the cluster")
    reader.uvarint()  # one topic
    reader.compact_string()
    reader.uvarint()  # one partition
    reader.i32()
    _check(cluster, reader.i16(), "asking for the quorum", "Describe on the cluster")
    leader = reader.i32()
    reader.i32()  # epoch
    reader.i64()  # high watermark
    for _ in range(reader.uvarint() - 1):
        node, _, _, caught_up = reader.i32(), reader.i64(), reader.i64(), reader.i64()
        reader.tags()
        if node == leader and caught_up > 0:
            return ClockFacts(caught_up - (sent + received) * 500, (received - sent) * 500)
    raise BrokerRefused(cluster.alias, "its controller does not tell its time")


async def fetch_disks(cluster: Cluster, topics: Mapping[str, int]) -> tuple[DiskFacts, ...]:
    """The log directories of every broker, and how much these topics (with so many partitions) take of them."""
    await cluster.refresh(None)
    answers = await asyncio.gather(*(_disks_of(cluster, node, topics) for node in cluster.nodes))
    return tuple(disk for answer in answers for disk in answer)


async def _disks_of(cluster: Cluster, node: int, topics: Mapping[str, int]) -> list[DiskFacts]:
    connection = await cluster.connection(node)
    if connection.highest_version(_DESCRIBE_LOG_DIRS[0]) < _DESCRIBE_LOG_DIRS[1]:
        raise BrokerRefused(cluster.alias, "it does not tell the room on its disks; Kafka 3.3 is needed")
    body = [unsigned_varint(len(topics) + 1)]
    for topic, partitions in topics.items():
        numbers = struct.pack(f">{partitions}i", *range(partitions))
        body += [compact_string(topic), unsigned_varint(partitions + 1), numbers, b"\x00"]
    body.append(b"\x00")
    reader = await connection.exchange(*_DESCRIBE_LOG_DIRS, body, flexible=True, timeout_s=cluster.timeout_s)
    reader.i32()  # throttle
    _check(cluster, reader.i16(), "asking for log directories", "Describe on the cluster")
    disks: list[DiskFacts] = []
    for _ in range(reader.uvarint() - 1):
        reader.i16()  # an offline directory has no sizes
        folder = reader.compact_string() or ""
        size = _topic_bytes(reader)
        disks.append(DiskFacts(node, folder, reader.i64(), reader.i64(), size))
        reader.tags()
    return disks


def _topic_bytes(reader: FrameReader) -> int:
    size = 0
    for _ in range(reader.uvarint() - 1):
        reader.compact_string()
        for _ in range(reader.uvarint() - 1):
            reader.i32()
            size += reader.i64()
            reader.i64()
            reader.i8()
            reader.tags()
        reader.tags()
    return size


async def fetch_versions(cluster: Cluster) -> dict[int, int]:
    """The newest version that every broker speaks, of the APIs that decide what can be promised."""
    await cluster.refresh(None)
    connections = [await cluster.connection(node) for node in cluster.nodes]
    return {api: min(c.highest_version(api) for c in connections) for api in (PRODUCE, FETCH, FIND_COORDINATOR)}


async def find_transaction_coordinator(cluster: Cluster, transactional_id: str) -> int:
    """Which broker coordinates a transactional id. Nothing is initialised and nobody is fenced.

    Waits for one that is just beginning: on a new cluster this is the first question of its kind.
    """
    connection = await cluster.any_connection()
    body = (string(transactional_id), bytes([_TRANSACTION]))
    deadline = time.monotonic() + _COORDINATOR_WITHIN_S
    while True:
        reader = await connection.exchange(*_FIND_COORDINATOR_V1, body, flexible=False, timeout_s=cluster.timeout_s)
        reader.i32()  # throttle
        error = reader.i16()
        reader.string()
        beginning = error in {codes.COORDINATOR_LOADING, codes.COORDINATOR_NOT_AVAILABLE}
        if not beginning or time.monotonic() > deadline:
            break
        await asyncio.sleep(0.2)
    _check(cluster, error, f"transactional id {transactional_id}", "Describe")
    return reader.i32()


def _check(cluster: Cluster, error: int, what: str, right: str) -> None:
    if error in _DENIED:
        raise AccessDenied(cluster.alias, f"{codes.name_of(error)}: {what}: {right} is needed")
    if error:
        raise BrokerRefused(cluster.alias, f"{what}: {codes.name_of(error)}")
