"""Writing the ledger: the entries of one shard with the shard's own producer, or the roster, unsigned.

Entries leave in order, in compressed batches of limited size. Each is acknowledged before the next one leaves, so a
crash between two batches leaves the first entries and none behind them. Whoever writes puts what a state refers to (a
sealed part of the map) before the state: then every such beginning is a truth that can be taken over (R9).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from twinlog.errors import AccessDenied, BrokerRefused, ClusterUnreachable, OwnershipLost
from twinlog.model.ledger.records import ROSTER_PARTITION, Entry, key_of, ledger_topic
from twinlog.model.names import TopicPartition
from twinlog.wire import protocol_errors as codes
from twinlog.wire.batch import Stamp, readdress
from twinlog.wire.codec import encode_pairs
from twinlog.wire.connection import Cluster, ConnectionTrouble
from twinlog.wire.fence import Producer
from twinlog.wire.produce import begin_produce

BATCH_BYTES: Final = 512 << 10
"""Of keys and values in one batch, before it is compressed; a larger entry travels alone."""
_PAUSE_S: Final = 0.05
_UNSIGNED: Final = Stamp(-1, -1, -1)


@dataclass
class LedgerWriter:
    """Writes into one ledger partition, as one producer (a shard's owner) or unsigned (the roster)."""

    cluster: Cluster
    topic: str
    partition: int
    link: str
    producer: Producer | None = None
    _sequence: int = 0
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def write(self, entries: Iterable[Entry], tombstones: Iterable[bytes] = ()) -> int:
        """Write until acknowledged, in order; returns the offset of the first entry. Raises when fenced (R10)."""
        pairs: list[tuple[bytes, bytes | None]] = [(key_of(entry), entry.value()) for entry in entries]
        pairs += [(key, None) for key in tombstones]
        return await self.write_pairs(pairs) if pairs else -1

    async def write_pairs(self, pairs: Sequence[tuple[bytes, bytes | None]]) -> int:
        """The same with the bytes of keys and values."""
        async with self._lock:
            offsets = [await self._write_batch(some) for some in _by_bytes(pairs)]
        return offsets[0]

    async def write_decided(self, decide: Callable[[], Awaitable[Sequence[tuple[bytes, bytes | None]]]]) -> None:
        """Write what is decided while this writer writes nothing else."""
        async with self._lock:
            for some in _by_bytes(await decide()):
                if some:
                    await self._write_batch(some)

    async def _write_batch(self, pairs: Sequence[tuple[bytes, bytes | None]]) -> int:
        sealed = encode_pairs(pairs, int(time.time() * 1000))
        stamp = _UNSIGNED
        if self.producer is not None:
            stamp = Stamp(self.producer.producer_id, self.producer.epoch, self._sequence)
        offset = await self._send(readdress(sealed.data, sealed.header, stamp))
        self._sequence += len(pairs)
        return offset

    async def _send(self, batch: bytes) -> int:
        where = TopicPartition(self.topic, self.partition)
        pause = _PAUSE_S
        while True:
            error, offset = await self._try_send(where, batch)
            if error in codes.FENCED:
                raise OwnershipLost(self.link, self.partition - 1)
            if error == codes.TOPIC_AUTHORIZATION_FAILED:
                raise AccessDenied(self.cluster.alias, f"Write on {self.topic} is needed")
            if error in {codes.NONE, codes.DUPLICATE_SEQUENCE}:
                return offset
            if error == codes.MESSAGE_TOO_LARGE:
                problem = f"{where}: a batch of {len(batch)} bytes is too large; raise max.message.bytes of the topic"
                raise BrokerRefused(self.cluster.alias, problem)
            if error not in codes.PASSING and error != codes.UNKNOWN_TOPIC_OR_PARTITION:
                raise BrokerRefused(self.cluster.alias, f"{where}: {codes.name_of(error)}")
            self.cluster.topics.pop(self.topic, None)
            await asyncio.sleep(pause)
            pause = min(pause * 2, 2.0)

    async def _try_send(self, where: TopicPartition, batch: bytes) -> tuple[int, int]:
        try:
            if self.cluster.leader(*where) is None:
                await self.cluster.refresh([self.topic])
            leader = self.cluster.leader(*where)
            if leader is None:
                return codes.LEADER_NOT_AVAILABLE, -1
            connection = await self.cluster.connection(leader.node, "ledger-write")
            answer = (await begin_produce(connection, {where: batch}, self.cluster.timeout_s))[where]
        except (ClusterUnreachable, *ConnectionTrouble):
            return codes.REQUEST_TIMED_OUT, -1
        return answer.error, answer.base_offset


def _by_bytes(pairs: Sequence[tuple[bytes, bytes | None]]) -> Iterator[Sequence[tuple[bytes, bytes | None]]]:
    """The pairs in order, so many at a time as a batch may hold."""
    begin = size = 0
    for index, (key, value) in enumerate(pairs):
        more = len(key) + len(value or b"")
        if index > begin and size + more > BATCH_BYTES:
            yield pairs[begin:index]
            begin, size = index, 0
        size += more
    yield pairs[begin:]


def roster_writer(cluster: Cluster, source: str, link: str) -> LedgerWriter:
    """The service's pen for the roster."""
    return LedgerWriter(cluster, ledger_topic(source), ROSTER_PARTITION, link)
