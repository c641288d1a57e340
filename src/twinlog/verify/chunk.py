"""Comparing chunks against the real clusters. Runs on executors (verification) and in the service's loop (audit).

Both sides are read by ordinary fetches, independently of the data path and of what it remembers.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager

from twinlog.config.settings import LinkSettings
from twinlog.errors import TwinlogError, told
from twinlog.model.verify.verification import Chunk, ChunkResult
from twinlog.verify.comparison import Comparison, Side
from twinlog.wire.connection import Cluster
from twinlog.wire.ranges import RangeReader, RawBatch

log = logging.getLogger("twinlog.verify")

_LANE = "verify"


@asynccontextmanager
async def both_clusters(link: LinkSettings) -> AsyncIterator[tuple[Cluster, Cluster]]:
    """Connections of their own to source and target."""
    source = Cluster(link.clients.source_consumer, f"twinlog|{link.name}|verify")
    target = Cluster(link.clients.target_consumer, f"twinlog|{link.name}|verify")
    try:
        yield source, target
    finally:
        await asyncio.gather(source.close(), target.close())


async def compare_chunk(
    link: LinkSettings, source: Cluster, target: Cluster, chunk: Chunk, *, list_absent: bool = False
) -> Comparison:
    """Read one chunk on both sides and compare. What cannot be read is the result's `trouble`, never silence."""
    comparison = Comparison(chunk, list_absent=list_absent)
    began = time.monotonic()
    committed = link.reading.fetch.isolation == "read_committed"
    readers = {
        Side.SOURCE: RangeReader(
            source, chunk.partition, chunk.source_id, chunk.source_first, chunk.source_next, committed, _LANE
        ),
        # Uncommitted: a record of somebody's open transaction lies in the mirrored log as well.
        Side.TARGET: RangeReader(
            target, chunk.remote, chunk.target_id, chunk.target_first, chunk.target_next, False, _LANE
        ),
    }
    try:
        await _feed(comparison, readers)
    except TwinlogError as error:
        comparison.result.trouble = told(error)
    result = comparison.result
    if result.trouble is None:
        comparison.finish()
    result.source_bytes, result.target_bytes = readers[Side.SOURCE].bytes_read, readers[Side.TARGET].bytes_read
    result.took_ms = int((time.monotonic() - began) * 1000)
    return comparison


async def _feed(comparison: Comparison, readers: dict[Side, RangeReader]) -> None:
    async with (
        aclosing(readers[Side.SOURCE].batches()) as source_batches,
        aclosing(readers[Side.TARGET].batches()) as target_batches,
    ):
        answers = {Side.SOURCE: source_batches, Side.TARGET: target_batches}
        waiting: dict[Side, deque[RawBatch]] = {side: deque() for side in Side}
        while (side := comparison.wants) is not None:
            if not waiting[side]:
                answer = await anext(answers[side], None)
                comparison.source_start = readers[Side.SOURCE].log_start
                comparison.target_start = readers[Side.TARGET].log_start
                if answer is None:
                    comparison.end(side)
                    continue
                waiting[side].extend(answer)
            comparison.feed(side, waiting[side].popleft())


def compare_all(link: LinkSettings, chunks: Iterable[Chunk]) -> list[ChunkResult]:
    """On an executor: the chunks of one task."""
    # Opened records are many small objects without cycles: looking for cycles among them costs more than decoding.
    was_on = gc.isenabled()
    gc.disable()
    try:
        return asyncio.run(compare_each(link, chunks))
    finally:
        if was_on:
            gc.enable()


async def compare_each(link: LinkSettings, chunks: Iterable[Chunk]) -> list[ChunkResult]:
    """One after the other over the same connections; one result for each chunk, in order."""
    results = []
    async with both_clusters(link) as (source, target):
        for chunk in chunks:
            try:
                results.append((await compare_chunk(link, source, target, chunk)).result)
            except Exception as error:  # Spark would repeat a task that raises, for ever
                log.exception("comparing %s", chunk.partition)
                trouble = f"unexpected: {type(error).__name__}; the log says more"
                results.append(ChunkResult(chunk.partition, chunk.source_first, chunk.source_next, trouble=trouble))
    return results
