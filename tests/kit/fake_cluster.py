"""A cluster in memory that speaks the protocol of a broker: produce, fetch, list offsets; one broker, real frames.

Its partitions follow a broker's rules for producers (`targetlog`). Acknowledgements can be lost, partitions can lose
their leader, and topics can be refused.
"""

from __future__ import annotations

import asyncio
import struct
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from tests.kit.fetchbroker import FetchBroker, Told, decode
from tests.kit.targetlog import TargetLog

from twinlog.errors import BrokerAway
from twinlog.wire.connection import Cluster, Leader, TopicMetadata
from twinlog.wire.frames import FrameReader, compact_string, string, unsigned_varint
from twinlog.wire.line import Breaks

T = TypeVar("T")

NODE = 1
_PRODUCE, _FETCH, _LIST_OFFSETS = 0, 1, 2
_FETCH_BY_NAME = 12
_UNKNOWN_TOPIC, _NO_LEADER = 3, 5


@dataclass
class FakeBroker:
    """Partitions, and what goes wrong with them."""

    logs: dict[str, list[TargetLog]] = field(default_factory=dict)
    lost_answers: int = 0  # so many produce requests are carried out and never answered
    refused: dict[str, int] = field(default_factory=dict)  # topic -> error of produce requests
    hidden: dict[str, int] = field(default_factory=dict)  # topic -> error of metadata
    leaderless: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)  # topics of which a fetch brings nothing
    delay_s: float = 0.0  # before anything is answered

    def create(self, topic: str, partitions: int = 1) -> None:
        self.logs[topic] = [TargetLog() for _ in range(partitions)]

    def cluster(self, alias: str = "fake") -> Cluster:
        """Another client of this broker."""
        return cast("Cluster", FakeCluster(self, alias))


class FakeCluster:
    """What `wire.connection.Cluster` offers, over a broker in memory."""

    timeout_s = 5.0
    round_trip_s = 0.0

    def __init__(self, broker: FakeBroker, alias: str) -> None:
        self.broker, self.alias = broker, alias
        self.topics: dict[str, TopicMetadata] = {}
        self.nodes = {NODE: ("fake", 9092)}
        self.breaks = Breaks()
        self._connections: dict[str, FakeConnection] = {}

    async def refresh(self, names: Iterable[str] | None, _: int | None = None) -> dict[str, TopicMetadata]:
        await asyncio.sleep(0)
        found = {name: self._metadata(name) for name in names or ()}
        self.topics |= found
        return found

    def _metadata(self, name: str) -> TopicMetadata:
        partitions = self.broker.logs.get(name, [])
        error = self.broker.hidden.get(name, 0 if partitions else _UNKNOWN_TOPIC)
        node = -1 if name in self.broker.leaderless else NODE
        leaders = {} if error else {number: Leader(node, 0) for number in range(len(partitions))}
        return TopicMetadata(name, str(uuid.uuid5(uuid.NAMESPACE_DNS, name)), error, leaders)

    def leader(self, topic: str, partition: int) -> Leader | None:
        metadata = self.topics.get(topic)
        leader = metadata.leaders.get(partition) if metadata else None
        return leader if leader and leader.node >= 0 else None

    async def connection(self, _: int, lane: str = "main") -> FakeConnection:
        return self._connections.setdefault(lane, FakeConnection(self.broker))

    def throttles(self, _: float) -> dict[int, int]:
        return {}

    def drop(self, lane: str) -> None:
        self._connections.pop(lane, None)

    async def close(self) -> None:
        self._connections.clear()


class FakeConnection:
    """Frames to the broker and back."""

    def __init__(self, broker: FakeBroker) -> None:
        self._broker = broker
        self._fetches = FetchBroker(_FETCH_BY_NAME)

    def highest_version(self, api_key: int) -> int:
        return {_PRODUCE: 8, _FETCH: _FETCH_BY_NAME}.get(api_key, 4)

    def note_throttle(self, throttle_ms: int) -> None:
        assert throttle_ms == 0

    async def exchange(self, api_key: int, version: int, body: Iterable[bytes], **how: Any) -> FrameReader:
        return await self.begin(api_key, version, body, lambda reader: reader, **how)

    def begin(
        self, api_key: int, _: int, body: Iterable[bytes], read: Callable[[FrameReader], T], **__: Any
    ) -> asyncio.Task[T]:
        return asyncio.ensure_future(self._answered(api_key, b"".join(body), read))

    async def _answered(self, api_key: int, body: bytes, read: Callable[[FrameReader], T]) -> T:
        await asyncio.sleep(self._broker.delay_s)
        match api_key:
            case 0:
                answer = self._produce(FrameReader(body))
            case 61:
                answer = self._describe_producers(FrameReader(body))
            case 1:
                answer = await self._fetch(body)
            case 2:
                answer = self._list_offsets(FrameReader(body))
            case _:
                raise AssertionError(api_key)
        return read(FrameReader(answer))

    def _produce(self, reader: FrameReader) -> bytes:
        reader.i16()  # no transactional id
        assert reader.i16() == -1, "acks=all"
        reader.i32()
        assert reader.i32() == 1
        topic = reader.string() or ""
        assert reader.i32() == 1
        partition = reader.i32()
        batch = bytes(reader.take(reader.i32()))
        error, base = self._appended(topic, partition, batch)
        if self._broker.lost_answers:
            self._broker.lost_answers -= 1
            raise BrokerAway.at("fake", "fake:9092", "no answer in time")
        parts = struct.pack(">ihqqqih", partition, error, base, -1, 0, 0, -1)
        return struct.pack(">i", 1) + string(topic) + struct.pack(">i", 1) + parts + struct.pack(">i", 0)

    def _appended(self, topic: str, partition: int, batch: bytes) -> tuple[int, int]:
        if topic not in self._broker.logs:
            return _UNKNOWN_TOPIC, -1
        if error := self._broker.refused.get(topic, 0):
            return error, -1
        return self._broker.logs[topic][partition].append(batch)

    def _describe_producers(self, reader: FrameReader) -> bytes:
        assert reader.uvarint() == 2
        topic = reader.compact_string() or ""
        assert reader.uvarint() == 2
        number = reader.i32()
        producers = {
            producer: (state.epoch, state.batches[-1].last)
            for producer, state in self._broker.logs[topic][number].producers.items()
            if state.batches
        }
        parts = [struct.pack(">qiiqiq", who, *last, -1, -1, -1) + b"\x00" for who, last in producers.items()]
        head = (
            struct.pack(">i", 0) + b"\x02" + compact_string(topic) + b"\x02" + struct.pack(">ih", number, 0) + b"\x00"
        )
        return head + unsigned_varint(len(parts) + 1) + b"".join(parts) + b"\x00\x00\x00"

    async def _fetch(self, body: bytes) -> bytes:
        request = decode(body, _FETCH_BY_NAME)
        wanted = {**(self._fetches.partitions if request.epoch > 0 else {}), **request.asked}
        for key in request.forgotten:
            wanted.pop(key, None)
        for _ in range(20):
            told = [
                Told((topic, number), records=found, marks=(log.end, log.end, 0))
                for (topic, number), asked in wanted.items()
                if topic not in self._broker.silent
                for log in [self._broker.logs[topic][number]]
                if (found := b"".join(data for _, data in log.behind(asked.offset)))
            ]
            if told:
                break
            await asyncio.sleep(0.002)
        return self._fetches.answer(request, told)

    def _list_offsets(self, reader: FrameReader) -> bytes:
        reader.i32()
        reader.i8()
        reader.i32()
        topic = reader.string() or ""
        reader.i32()
        partition = reader.i32()
        known = topic in self._broker.logs and topic not in self._broker.leaderless
        error, end = (0, self._broker.logs[topic][partition].end) if known else (_NO_LEADER, -1)
        head = struct.pack(">ii", 0, 1) + string(topic) + struct.pack(">i", 1)
        return head + struct.pack(">ihqq", partition, error, -1, end)
