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
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from twinlog.errors import AccessDenied, BrokerAway, BrokerRefused, OwnershipLost
from twinlog.model.backoff import Backoff
from twinlog.model.names import TopicPartition
from twinlog.wire import protocol_errors as codes
from twinlog.wire.connection import Cluster
from twinlog.wire.frames import FrameReader, string

_FIND_COORDINATOR: Final = (10, 1)
_INIT_PRODUCER_ID: Final = (22, 1)
_ADD_PARTITIONS: Final = (24, 1)
_END: Final = (26, 1)
_TRANSACTION: Final = 1  # kind of coordinator
_TIMEOUT_MS: Final = 60_000
_PAUSE_S: Final = 0.02
_UNKNOWN_PAUSE_S: Final = 0.2
_UNKNOWN_FOR_S: Final = 3.0
_DENIED: Final = frozenset({codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, codes.CLUSTER_AUTHORIZATION_FAILED})
_OF_ONE_PARTITION: Final = frozenset({codes.TOPIC_AUTHORIZATION_FAILED, codes.UNKNOWN_TOPIC_OR_PARTITION})


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
    waits: dict[int, str] = field(default_factory=dict)  # why a shard is not taken over yet, while it is not

    async def take_over(self, transactional_id: str, shard: int) -> Producer:
        """Become the owner: same producer id as every owner before, higher epoch."""
        body = (string(transactional_id), struct.pack(">i", _TIMEOUT_MS))
        reader = await self._ask(_INIT_PRODUCER_ID, body, transactional_id, shard, _second)
        return Producer(transactional_id, reader.i64(), reader.i16())

    async def plant_on_ledger(self, producer: Producer, shard: int, ledger: TopicPartition) -> None:
        """Plant a marker on the shard's partition of the ledger. Raises when the target refuses it."""
        error = (await self.plant(producer, shard, [ledger])).get(ledger)
        if error == codes.TOPIC_AUTHORIZATION_FAILED:
            raise AccessDenied(self.cluster.alias, f"Write on {ledger.topic} is needed")
        if error is not None:
            raise BrokerRefused(self.cluster.alias, f"{ledger}: {codes.name_of(error)}")

    async def plant(
        self, producer: Producer, shard: int, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Plant a marker of this owner's epoch on each partition; returns those that are refused, with the error.

        A broker adds all partitions of a request to the transaction, or none: the ones it refuses have their error, all
        others "not attempted". Those are asked for again without the refused ones, so one topic costs no other (R8).
        """
        wanted, refused = set(partitions), dict[TopicPartition, int]()
        retried_until = time.monotonic() + _UNKNOWN_FOR_S
        while wanted:
            errors = await self._add(producer, shard, wanted)
            if not errors:
                who = _who(producer)
                await self._ask(_END, (who, b"\x00"), producer.transactional_id, shard, _second)
                break
            retried = time.monotonic() < retried_until  # the coordinator may hear late of a new topic
            news = {p: e for p, e in errors.items() if e == codes.TOPIC_AUTHORIZATION_FAILED or not retried}
            refused |= news
            wanted -= news.keys()
            if not news:
                await asyncio.sleep(_UNKNOWN_PAUSE_S)
        return refused

    async def _add(
        self, producer: Producer, shard: int, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Add partitions to the transaction; returns the ones that kept it from being done. Empty: all are in it."""
        topics: dict[str, list[int]] = {}
        for topic, partition in partitions:
            topics.setdefault(topic, []).append(partition)
        body = [_who(producer), struct.pack(">i", len(topics))]
        for topic, numbers in topics.items():
            body += [string(topic), struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)]
        errors: dict[TopicPartition, int] = {}

        def read(reader: FrameReader) -> int:
            """The error of the whole request, if there is one; errors of single partitions are kept."""
            errors.clear()
            whole = codes.NONE
            for partition, error in _read_partitions(reader):
                if error in _OF_ONE_PARTITION:
                    errors[partition] = error
                elif error != codes.OPERATION_NOT_ATTEMPTED:
                    whole = error or whole
            return whole

        await self._ask(_ADD_PARTITIONS, body, producer.transactional_id, shard, read)
        return errors

    async def _ask(
        self,
        api: tuple[int, int],
        body: Sequence[bytes],
        transactional_id: str,
        shard: int,
        error_of: Callable[[FrameReader], int],
    ) -> FrameReader:
        """Ask the coordinator until it answers: it may be loading, moving, or finishing an older transaction."""
        backoff = Backoff(_PAUSE_S, 1.0, factor=1.5)
        while True:
            try:
                node = await self._coordinator(transactional_id)
                connection = await self.cluster.connection(node)
                reader = await connection.exchange(*api, body, flexible=False, timeout_s=self.cluster.timeout_s)
                error = error_of(reader)
                problem = codes.name_of(error)
            except BrokerAway as away:
                error, problem = codes.COORDINATOR_NOT_AVAILABLE, away.problem
            if error == codes.NONE:
                self.waits.pop(shard, None)
                return reader
            if error in codes.FENCED:
                raise OwnershipLost(self.link, shard)
            if error in _DENIED:
                raise self._denied(error, transactional_id)
            if error not in codes.PASSING:
                raise BrokerRefused(self.cluster.alias, f"{transactional_id}: {codes.name_of(error)}")
            self.waits[shard] = f"the coordinator of transactional id {transactional_id}: {problem}"
            await asyncio.sleep(backoff.next_s())

    def _denied(self, error: int, transactional_id: str) -> AccessDenied:
        needed = f"{codes.name_of(error)} for transactional id {transactional_id}: Write and Describe are needed"
        return AccessDenied(self.cluster.alias, needed)

    async def _coordinator(self, transactional_id: str) -> int:
        connection = await self.cluster.any_connection()
        body = (string(transactional_id), bytes([_TRANSACTION]))
        reader = await connection.exchange(*_FIND_COORDINATOR, body, flexible=False, timeout_s=self.cluster.timeout_s)
        reader.i32()  # throttle
        error = reader.i16()
        reader.string()
        if error in _DENIED:
            raise self._denied(error, transactional_id)
        if error:
            raise BrokerAway(self.cluster.alias, codes.name_of(error))
        node, host, port = reader.i32(), reader.string() or "", reader.i32()
        self.cluster.nodes.setdefault(node, (host, port))
        return node


def _who(producer: Producer) -> bytes:
    return string(producer.transactional_id) + struct.pack(">qh", producer.producer_id, producer.epoch)


def _second(reader: FrameReader) -> int:
    """The error of an answer that has one, behind the throttle."""
    reader.i32()
    return reader.i16()


def _read_partitions(reader: FrameReader) -> Iterator[tuple[TopicPartition, int]]:
    reader.i32()  # throttle
    for _ in range(reader.i32()):
        topic = reader.string() or ""
        for _ in range(reader.i32()):
            yield TopicPartition(topic, reader.i32()), reader.i16()
