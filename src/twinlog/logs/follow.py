"""Following a log: what is there and what comes, for ever. Runs in an asyncio loop."""

from __future__ import annotations

from twinlog.logs.read import TakeBatches
from twinlog.wire.connection import Cluster
from twinlog.wire.log import LogReader


async def follow(
    cluster: Cluster,
    topic: str,
    positions: dict[int, int],
    take: TakeBatches,
    lane: str,
    *,
    read_committed: bool = False,
) -> None:
    """Read from the positions on until cancelled. `positions` moves along.

    A cluster that is away, or that has no such topic yet, is waited for.
    """
    reader = LogReader(cluster, topic, positions, lane, read_committed=read_committed)
    async for partition, batches in reader.batches():
        take(partition, batches)
