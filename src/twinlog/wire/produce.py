"""Produce, by hand: one batch per partition, many partitions in a request, many requests under way.

Runs on executors. Batches go out as they are; acks=all always.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from twinlog.model.names import TopicPartition
from twinlog.wire.connection import BrokerConnection
from twinlog.wire.frames import FrameReader, string

_PRODUCE: Final = 0
_VERSION: Final = 8
_HEAD: Final = struct.Struct(">hhii")  # no transactional id, acks, timeout, topics
_ALL_REPLICAS: Final = -1


class Produced(NamedTuple):
    """What the broker said about one batch."""

    error: int
    base_offset: int
    message: str | None


def begin_produce(
    connection: BrokerConnection, batches: Mapping[TopicPartition, bytes], timeout_s: float
) -> asyncio.Future[dict[TopicPartition, Produced]]:
    """Send one batch for each partition; the answer comes as a task, so that the next request may follow at once."""
    topics: dict[str, list[tuple[int, bytes]]] = {}
    for (topic, partition), batch in batches.items():
        topics.setdefault(topic, []).append((partition, batch))
    answer = connection.begin(
        _PRODUCE, _VERSION, _body(topics, int(timeout_s * 1000)), flexible=False, timeout_s=timeout_s + 5
    )
    return asyncio.ensure_future(_read(answer))


def _body(topics: dict[str, list[tuple[int, bytes]]], timeout_ms: int) -> Iterable[bytes]:
    yield _HEAD.pack(-1, _ALL_REPLICAS, timeout_ms, len(topics))
    for topic, batches in topics.items():
        yield string(topic)
        yield struct.pack(">i", len(batches))
        for partition, batch in batches:
            yield struct.pack(">ii", partition, len(batch))
            yield batch


async def _read(answer: asyncio.Future[FrameReader]) -> dict[TopicPartition, Produced]:
    reader = await answer
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
