"""Reading and writing the ledger (model.ledger says what is in it).

`LedgerView` follows partitions of the ledger topic and knows the newest entry of each key; the planner, every reader,
the service and `twinlog status` use it. `LedgerWriter` writes the entries of one shard, with the shard's own producer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, assert_never

from twinlog.errors import AccessDenied, BrokerRefused, ClusterUnreachable, OwnershipLost
from twinlog.model.ledger import (
    ROSTER_PARTITION,
    Engine,
    Entry,
    Gap,
    PartitionState,
    RosterTopic,
    SealedRuns,
    key_of,
    ledger_topic,
    read_entry,
)
from twinlog.model.names import TopicPartition
from twinlog.wire import protocol_errors as codes
from twinlog.wire.batch import BatchHeader, Stamp, readdress
from twinlog.wire.codec import encode_pairs, open_batch
from twinlog.wire.connection import Cluster, ConnectionTrouble
from twinlog.wire.fence import Producer
from twinlog.wire.log import LogReader, fetch_ends
from twinlog.wire.produce import begin_produce

_PAUSE_S: Final = 0.05
_UNSIGNED: Final = Stamp(-1, -1, -1)


@dataclass
class LedgerView:
    """The newest entries of some partitions of the ledger, and where reading goes on."""

    positions: dict[int, int]
    engine: Engine | None = None
    roster: dict[str, RosterTopic] = field(default_factory=dict)
    states: dict[TopicPartition, PartitionState] = field(default_factory=dict)
    sealed: dict[TopicPartition, dict[int, SealedRuns]] = field(default_factory=dict)
    gaps: dict[TopicPartition, dict[int, Gap]] = field(default_factory=dict)
    keep_maps: bool = False  # sealed runs are large; only translation wants them

    def take(self, header: BatchHeader, data: bytes) -> list[Entry]:
        """Apply one batch; returns the entries in it that say something new."""
        if header.is_control:
            return []
        return [entry for record in open_batch(data) if (entry := self._apply(record.offset, record.key, record.value))]

    def _apply(self, offset: int, key: bytes | None, value: bytes | None) -> Entry | None:
        if not key:
            return None
        if value is None:
            self._forget(key.decode(errors="replace"))
            return None
        entry = read_entry(key, value)
        match entry:
            case None:
                return None
            case Engine():
                generation = offset if entry.generation is None else entry.generation
                if self.engine is not None and (self.engine.generation or 0) > generation:
                    return None  # a word of an engine that was superseded
                self.engine = entry.model_copy(update={"generation": generation})
                return self.engine
            case RosterTopic():
                self.roster[entry.topic] = entry
            case PartitionState():
                self.states[TopicPartition(entry.topic, entry.partition)] = entry
            case SealedRuns():
                if self.keep_maps:
                    self.sealed.setdefault(TopicPartition(entry.topic, entry.partition), {})[entry.first] = entry
            case Gap():
                self.gaps.setdefault(TopicPartition(entry.topic, entry.partition), {})[entry.first] = entry
            case _:
                assert_never(entry)
        return entry

    def _forget(self, key: str) -> None:
        kind, *path = key.split("/")
        if not all(number.isdecimal() for number in path[1:]):
            return  # not a key of ours
        if kind == "roster" and len(path) == 1:
            self.roster.pop(path[0], None)
        elif kind == "state" and len(path) == 2:
            self.states.pop(TopicPartition(path[0], int(path[1])), None)
        elif kind in {"runs", "gap"} and len(path) == 3:
            shelf = self.sealed if kind == "runs" else self.gaps
            shelf.get(TopicPartition(path[0], int(path[1])), {}).pop(int(path[2]), None)

    async def catch_up(self, cluster: Cluster, source: str, lane: str = "ledger") -> None:
        """Read everything there is now."""
        topic = ledger_topic(source)
        ends = await fetch_ends(cluster, topic, self.positions)
        behind = {p for p, end in ends.items() if self.positions[p] < end}
        if not behind:
            return
        reader = LogReader(cluster, topic, {p: self.positions[p] for p in behind}, lane, max_wait_ms=50, lasting=False)
        async for partition, batches in reader.batches():
            for header, data in batches:
                self.take(header, data)
            self.positions[partition] = reader.positions[partition]
            behind = {p for p in behind if reader.positions[p] < ends[p]}
            if not behind:
                return

    async def follow(
        self, cluster: Cluster, source: str, on_entry: Callable[[Entry], None], lane: str = "ledger"
    ) -> None:
        """Read for ever and tell of every new entry."""
        reader = LogReader(cluster, ledger_topic(source), self.positions, lane)
        async for _, batches in reader.batches():
            for header, data in batches:
                for entry in self.take(header, data):
                    on_entry(entry)


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
        if not pairs:
            return -1
        async with self._lock:
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


def roster_writer(cluster: Cluster, source: str, link: str) -> LedgerWriter:
    """The service's pen for the roster."""
    return LedgerWriter(cluster, ledger_topic(source), ROSTER_PARTITION, link)
