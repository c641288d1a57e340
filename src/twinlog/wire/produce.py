"""Produce, by hand: one batch per partition, many partitions in a request, many requests under way.

Runs on executors. Batches go out as they are; acks=all always.
"""

from __future__ import annotations

import asyncio
import struct
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from twinlog.model.names import TopicPartition
from twinlog.wire.broker_connection import BrokerConnection
from twinlog.wire.frames import FrameReader, string, unsigned_varint

_PRODUCE: Final = 0
_BY_NAME, _BY_ID = 8, 13
_HEAD: Final = struct.Struct(">hhii")  # no transactional id, acks, timeout, topics
_ID_HEAD: Final = struct.Struct(">bhi")  # no transactional id, acks, timeout
_ALL_REPLICAS: Final = -1


Parts: TypeAlias = bytes | Sequence[bytes]
"""A batch, in one piece or in several that follow each other."""


class Produced(NamedTuple):
    """What the broker said about one batch."""

    error: int
    base_offset: int
    message: str | None


def begin_produce(
    connection: BrokerConnection,
    batches: Mapping[TopicPartition, Parts],
    timeout_s: float,
    topic_ids: Mapping[TopicPartition, str] | None = None,
) -> asyncio.Future[dict[TopicPartition, Produced]]:
    """Send one batch for each partition; the answer comes as a future, so that the next request may follow at once.

    With ids (and a broker of 4.0 or later) a batch can reach no other topic than the one it is meant for: not even one
    that was created under the same name a moment ago (R1, R7).
    """
    timeout_ms = int(timeout_s * 1000)
    if topic_ids is not None and connection.highest_version(_PRODUCE) >= _BY_ID:
        by_id: dict[str, list[tuple[TopicPartition, list[bytes]]]] = {}
        for where, batch in batches.items():
            by_id.setdefault(topic_ids[where], []).append((where, _pieces(batch)))
        body = _body_by_id(by_id, timeout_ms)
        read = partial(_read_by_id, {name: some[0][0].topic for name, some in by_id.items()})
        heard = partial(_with_throttle, connection, read)
        return connection.begin(_PRODUCE, _BY_ID, body, heard, flexible=True, timeout_s=timeout_s + 5)
    topics: dict[str, list[tuple[int, list[bytes]]]] = {}
    for (topic, partition), batch in batches.items():
        topics.setdefault(topic, []).append((partition, _pieces(batch)))
    body = _body(topics, timeout_ms)
    heard = partial(_with_throttle, connection, _read)
    return connection.begin(_PRODUCE, _BY_NAME, body, heard, flexible=False, timeout_s=timeout_s + 5)


def _with_throttle(
    connection: BrokerConnection, read: Callable[[FrameReader], dict[TopicPartition, Produced]], reader: FrameReader
) -> dict[TopicPartition, Produced]:
    produced = read(reader)
    connection.note_throttle(reader.i32())
    return produced


def _pieces(batch: Parts) -> list[bytes]:
    return [batch] if isinstance(batch, bytes) else list(batch)


def _body(topics: dict[str, list[tuple[int, list[bytes]]]], timeout_ms: int) -> Iterable[bytes]:
    yield _HEAD.pack(-1, _ALL_REPLICAS, timeout_ms, len(topics))
    for topic, batches in topics.items():
        yield string(topic)
        yield struct.pack(">i", len(batches))
        for partition, batch in batches:
            yield struct.pack(">ii", partition, sum(map(len, batch)))
            yield from batch


def _read(reader: FrameReader) -> dict[TopicPartition, Produced]:
    produced: dict[TopicPartition, Produced] = {}
    for _ in range(reader.i32()):
        topic = reader.string() or ""
        for _ in range(reader.i32()):
            partition, error, base_offset = reader.i32(), reader.i16(), reader.i64()
            reader.i64()  # append time
            reader.i64()  # log start
            problems = []
            for _ in range(reader.i32()):
                reader.i32()
                problems.append(reader.string() or "")
            message = reader.string() or "; ".join(filter(None, problems)) or None
            produced[TopicPartition(topic, partition)] = Produced(error, base_offset, message)
    return produced


def _body_by_id(topics: dict[str, list[tuple[TopicPartition, list[bytes]]]], timeout_ms: int) -> Iterable[bytes]:
    yield _ID_HEAD.pack(0, _ALL_REPLICAS, timeout_ms)
    yield unsigned_varint(len(topics) + 1)
    for topic_id, batches in topics.items():
        yield uuid.UUID(topic_id).bytes
        yield unsigned_varint(len(batches) + 1)
        for where, batch in batches:
            yield struct.pack(">i", where.partition) + unsigned_varint(sum(map(len, batch)) + 1)
            yield from batch
            yield b"\x00"
        yield b"\x00"
    yield b"\x00"


def _read_by_id(names: dict[str, str], reader: FrameReader) -> dict[TopicPartition, Produced]:
    produced: dict[TopicPartition, Produced] = {}
    for _ in range(reader.uvarint() - 1):
        topic = names[reader.uuid()]
        for _ in range(reader.uvarint() - 1):
            partition, error, base_offset = reader.i32(), reader.i16(), reader.i64()
            reader.i64()  # append time
            reader.i64()  # log start
            problems = []
            for _ in range(reader.uvarint() - 1):
                reader.i32()
                problems.append(reader.compact_string() or "")
                reader.tags()
            message = reader.compact_string() or "; ".join(filter(None, problems)) or None
            reader.tags()
            produced[TopicPartition(topic, partition)] = Produced(error, base_offset, message)
        reader.tags()
    return produced
