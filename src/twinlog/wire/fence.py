"""The fence: a stable producer id per shard, and a marker that shuts every earlier owner out (R2, R10).

Runs on executors. InitProducerId on the shard's transactional id raises the epoch; an empty, aborted transaction then
plants a marker with the new epoch on each partition. From that marker on a write of an older owner, even one still in
a socket, is refused by the broker. Records themselves are never transactional.

The abort is answered before its markers are written; the caller reads the log until it meets the marker, which proves
that nothing older can follow.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from twinlog.errors import AccessDenied, BrokerRefused, OwnershipLost
from twinlog.model.names import TopicPartition
from twinlog.wire import protocol_errors as codes
from twinlog.wire.connection import Cluster, ConnectionTrouble
from twinlog.wire.frames import FrameReader, string

_FIND_COORDINATOR: Final = (10, 1)
_INIT_PRODUCER_ID: Final = (22, 1)
_ADD_PARTITIONS: Final = (24, 1)
_END: Final = (26, 1)
_TRANSACTION: Final = 1  # kind of coordinator
_TIMEOUT_MS: Final = 60_000
_PAUSE_S: Final = 0.02
_DENIED: Final = frozenset(
    {
        codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        codes.CLUSTER_AUTHORIZATION_FAILED,
        codes.TOPIC_AUTHORIZATION_FAILED,
    }
)
_PASSING: Final = codes.PASSING | {codes.UNKNOWN_TOPIC_OR_PARTITION}


@dataclass
class Producer:
    """The identity with which a shard writes."""

    transactional_id: str
    producer_id: int
    epoch: int


@dataclass
class Fence:
    """Takes over transactional ids on one cluster."""

    cluster: Cluster
    link: str

    async def take_over(self, transactional_id: str, shard: int) -> Producer:
        """Become the owner: same producer id as every owner before, higher epoch."""
        body = (string(transactional_id), struct.pack(">i", _TIMEOUT_MS))
        reader = await self._ask(_INIT_PRODUCER_ID, body, transactional_id, shard, lambda r: (r.i32(), r.i16())[1])
        return Producer(transactional_id, reader.i64(), reader.i16())

    async def plant(self, producer: Producer, shard: int, partitions: Iterable[TopicPartition]) -> None:
        """Plant a marker of this owner's epoch on each partition."""
        topics: dict[str, list[int]] = {}
        for topic, partition in partitions:
            topics.setdefault(topic, []).append(partition)
        if not topics:
            return
        who = string(producer.transactional_id) + struct.pack(">qh", producer.producer_id, producer.epoch)
        body = [who, struct.pack(">i", len(topics))]
        for topic, numbers in topics.items():
            body += [string(topic), struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)]
        await self._ask(_ADD_PARTITIONS, body, producer.transactional_id, shard, _worst_of_topics)
        abort = (who, b"\x00")
        await self._ask(_END, abort, producer.transactional_id, shard, lambda r: (r.i32(), r.i16())[1])

    async def _ask(
        self,
        api: tuple[int, int],
        body: Sequence[bytes],
        transactional_id: str,
        shard: int,
        error_of: Callable[[FrameReader], int],
    ) -> FrameReader:
        """Ask the coordinator until it answers: it may be loading, moving, or finishing an older transaction."""
        delay = _PAUSE_S
        while True:
            try:
                node = await self._coordinator(transactional_id)
                connection = await self.cluster.connection(node)
                reader = await connection.exchange(*api, body, flexible=False, timeout_s=self.cluster.timeout_s)
                error = error_of(reader)
            except ConnectionTrouble:
                error = codes.COORDINATOR_NOT_AVAILABLE
            if error == codes.NONE:
                return reader
            if error in codes.FENCED:
                raise OwnershipLost(self.link, shard)
            if error in _DENIED:
                raise AccessDenied(
                    self.cluster.alias,
                    f"{codes.name_of(error)} for transactional id {transactional_id}: Write and Describe are needed",
                )
            if error not in _PASSING:
                raise BrokerRefused(self.cluster.alias, f"{transactional_id}: {codes.name_of(error)}")
            await asyncio.sleep(delay)
            delay = min(delay * 1.5, 1.0)

    async def _coordinator(self, transactional_id: str) -> int:
        connection = await self.cluster.any_connection()
        body = (string(transactional_id), bytes([_TRANSACTION]))
        reader = await connection.exchange(*_FIND_COORDINATOR, body, flexible=False, timeout_s=self.cluster.timeout_s)
        reader.i32()  # throttle
        error = reader.i16()
        reader.string()
        if error:
            raise ConnectionError(codes.name_of(error))
        node, host, port = reader.i32(), reader.string() or "", reader.i32()
        self.cluster.nodes.setdefault(node, (host, port))
        return node


def _worst_of_topics(reader: FrameReader) -> int:
    reader.i32()  # throttle
    worst = codes.NONE
    for _ in range(reader.i32()):
        reader.string()
        for _ in range(reader.i32()):
            reader.i32()
            worst = reader.i16() or worst
    return worst
