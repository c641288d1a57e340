"""Appending to one partition of a log: in order, each batch acknowledged by all replicas before the next one leaves.

Runs in an asyncio loop. A crash between two batches leaves the first records and none behind them.

A writer with a producer id (`wire.fence.Producer`) is fenced by whoever takes that id over, and a batch that is sent
twice is written once. A writer without one may write a batch twice when an acknowledgement is lost.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from twinlog.errors import AccessDenied, BrokerRefused, ClusterError, ClusterUnreachable, LogFenced
from twinlog.logs.topic import KeyValue
from twinlog.model.backoff import Backoff
from twinlog.model.clock import SYSTEM_CLOCK, Clock
from twinlog.model.names import TopicPartition
from twinlog.wire import protocol_errors as codes
from twinlog.wire.batch import Stamp, readdress
from twinlog.wire.codec import OpenRecord, SealedBatch, encode_pairs, seal
from twinlog.wire.connection import Cluster
from twinlog.wire.fence import Producer
from twinlog.wire.produce import begin_produce

BATCH_BYTES: Final = 512 << 10
"""Keys and values in one batch, before compression. A larger record travels alone."""
_RECORDS_PER_BATCH: Final = 2_000
_UNSIGNED: Final = Stamp(-1, -1, -1)
_NO_CODEC: Final = 0
_LAST_SEQUENCE: Final = 0x7FFFFFFF


@dataclass
class LogWriter:
    """Appends to one partition. `attempts`: None waits for a leader as long as the caller does."""

    cluster: Cluster
    topic: str
    partition: int = 0
    producer: Producer | None = None
    lane: str = "log-write"
    attempts: int | None = None
    clock: Clock = SYSTEM_CLOCK
    _sequence: int = 0
    _unanswered: tuple[bytes, int] | None = None  # a signed batch whose outcome is not known, and its records
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def append(self, pairs: Sequence[KeyValue]) -> int:
        """Write keys and values; returns the offset of the first one (-1 when there is none). Raises ClusterError."""
        async with self._lock:
            offsets = [await self._write(encode_pairs(some, self.clock.now_ms())) for some in _by_bytes(pairs)]
        return offsets[0] if offsets else -1

    async def append_records(self, records: Sequence[OpenRecord]) -> None:
        """Write records with times and headers of their own, uncompressed. Raises ClusterError."""
        async with self._lock:
            for begin in range(0, len(records), _RECORDS_PER_BATCH):
                for sealed in seal(records[begin : begin + _RECORDS_PER_BATCH], _NO_CODEC):
                    await self._write(sealed)

    async def append_decided(self, decide: Callable[[], Awaitable[Sequence[KeyValue]]]) -> None:
        """Write what `decide` returns. This writer writes nothing else meanwhile."""
        async with self._lock:
            for some in _by_bytes(await decide()):
                await self._write(encode_pairs(some, self.clock.now_ms()))

    async def _write(self, sealed: SealedBatch) -> int:
        if self.producer is None:
            return await self._send(readdress(sealed.data, sealed.header, _UNSIGNED))
        if self._unanswered is not None:
            # The caller gave up waiting for this one. A broker that has it takes another batch with the same sequence
            # number for a repetition and drops it, so this one is brought to its end first.
            await self._send_signed(*self._unanswered)
        stamp = Stamp(self.producer.producer_id, self.producer.epoch, self._sequence)
        return await self._send_signed(readdress(sealed.data, sealed.header, stamp), sealed.header.record_count)

    async def _send_signed(self, batch: bytes, records: int) -> int:
        self._unanswered = (batch, records)
        offset = await self._send(batch)
        self._unanswered = None
        self._sequence = (self._sequence + records) & _LAST_SEQUENCE
        return offset

    async def _send(self, batch: bytes) -> int:
        where = TopicPartition(self.topic, self.partition)
        backoff = Backoff()
        for attempt in itertools.count(1):
            error, offset = await self._try(where, batch)
            if error in {codes.NONE, codes.DUPLICATE_SEQUENCE}:
                return offset
            if error not in codes.PASSING and error != codes.UNKNOWN_TOPIC_OR_PARTITION:
                self._unanswered = None  # refused for good: it is not in the log
                raise self._refusal(where, len(batch), error)
            if attempt == self.attempts:
                raise self._refusal(where, len(batch), error)
            self.cluster.topics.pop(self.topic, None)
            await asyncio.sleep(backoff.next_s())
        raise AssertionError  # the count has no end

    async def _try(self, where: TopicPartition, batch: bytes) -> tuple[int, int]:
        try:
            if self.cluster.leader(*where) is None:
                await self.cluster.refresh([self.topic])
            leader = self.cluster.leader(*where)
            if leader is None:
                return self.cluster.topics[self.topic].error or codes.LEADER_NOT_AVAILABLE, -1
            connection = await self.cluster.connection(leader.node, self.lane)
            answer = (await begin_produce(connection, {where: batch}, self.cluster.timeout_s))[where]
        except ClusterUnreachable:
            return codes.REQUEST_TIMED_OUT, -1
        return answer.error, answer.base_offset

    def _refusal(self, where: TopicPartition, size: int, error: int) -> ClusterError:
        cluster = self.cluster.alias
        if error in codes.FENCED:
            return LogFenced(cluster, str(where))
        if error == codes.TOPIC_AUTHORIZATION_FAILED:
            return AccessDenied(cluster, f"Write on {self.topic} is needed")
        if error == codes.MESSAGE_TOO_LARGE:
            problem = f"{where}: a batch of {size} bytes is too large; raise max.message.bytes of the topic"
            return BrokerRefused(cluster, problem)
        if error == codes.REQUEST_TIMED_OUT:
            return ClusterUnreachable(cluster, f"the leader of {where} does not answer")
        return BrokerRefused(cluster, f"{where}: {codes.name_of(error)}")


def _by_bytes(pairs: Sequence[KeyValue]) -> Iterator[Sequence[KeyValue]]:
    """The pairs in order, so many at a time as a batch may hold."""
    begin = size = 0
    for index, (key, value) in enumerate(pairs):
        more = len(key) + len(value or b"")
        if index > begin and size + more > BATCH_BYTES:
            yield pairs[begin:index]
            begin, size = index, 0
        size += more
    if pairs:
        yield pairs[begin:]
