"""Reading a log to its end: everything that is there now, or an error. Runs in an asyncio loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import TypeAlias

from twinlog.errors import AccessDenied, BrokerRefused
from twinlog.logs.topic import LogRecord
from twinlog.wire import protocol_errors as codes
from twinlog.wire.batch import BatchHeader
from twinlog.wire.codec import OpenRecord, open_batch
from twinlog.wire.connection import Cluster
from twinlog.wire.log import LogReader, fetch_ends

Batches: TypeAlias = Sequence[tuple[BatchHeader, bytes]]
TakeBatches: TypeAlias = Callable[[int, Batches], None]
"""Called with a partition and its next batches, in order."""


async def is_there(cluster: Cluster, topic: str) -> bool:
    """Whether the cluster has the topic. Raises AccessDenied when it does not tell us."""
    error = (await cluster.refresh([topic]))[topic].error
    if error == codes.TOPIC_AUTHORIZATION_FAILED:
        raise AccessDenied(cluster.alias, f"Read and Describe on {topic} are needed")
    return error != codes.UNKNOWN_TOPIC_OR_PARTITION


async def read_to_end(
    cluster: Cluster,
    topic: str,
    positions: dict[int, int],
    take: TakeBatches,
    lane: str,
    *,
    silent_for_s: float | None = None,
) -> None:
    """Read each partition from its position to the end it has now. `positions` moves along.

    A partition without a leader is waited for. With `silent_for_s`, a broker that brings nothing for so long is an
    error: what was read until then is not everything.
    """
    if silent_for_s is None:
        await read_up_to(cluster, topic, positions, await fetch_ends(cluster, topic, positions), take, lane)
        return
    ends: dict[int, int] = {}
    try:
        async with asyncio.timeout(silent_for_s) as silence:

            def take_and_wait_on(partition: int, batches: Batches) -> None:
                take(partition, batches)
                silence.reschedule(asyncio.get_running_loop().time() + silent_for_s)

            ends |= await fetch_ends(cluster, topic, positions)
            await read_up_to(cluster, topic, positions, ends, take_and_wait_on, lane)
    except TimeoutError:
        reached = "because a partition of it has no leader"
        if ends:
            short = next(partition for partition, end in ends.items() if positions[partition] < end)
            reached = f"at offset {positions[short]} of {ends[short]}"
        problem = f"{topic}: reading stopped {reached}: nothing came for {silent_for_s:.0f} s"
        raise BrokerRefused(cluster.alias, f"{problem}; is Read on it granted?") from None


async def read_up_to(  # noqa: PLR0917  the five of `read_to_end`, and where to end
    cluster: Cluster, topic: str, positions: dict[int, int], ends: Mapping[int, int], take: TakeBatches, lane: str
) -> None:
    """Read each partition from its position up to a given end: for a process that just wrote there."""
    behind = {partition for partition, end in ends.items() if positions[partition] < end}
    if not behind:
        return
    reader = LogReader(cluster, topic, {p: positions[p] for p in behind}, lane, max_wait_ms=50, lasting=False)
    async with aclosing(reader.batches()) as reading:
        async for partition, batches in reading:
            take(partition, batches)
            positions[partition] = reader.positions[partition]
            behind = {p for p in behind if reader.positions[p] < ends[p]}
            if not behind:
                return


def open_records(batches: Iterable[tuple[BatchHeader, bytes]]) -> Iterator[OpenRecord]:
    """The records of batches, without the markers of transactions."""
    for header, data in batches:
        if not header.is_control:
            yield from open_batch(data)


def records_in(batches: Iterable[tuple[BatchHeader, bytes]]) -> Iterator[LogRecord]:
    """The same as plain values."""
    for record in open_records(batches):
        yield LogRecord(record.offset, record.timestamp, record.key, record.value)
