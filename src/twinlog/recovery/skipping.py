"""Leaving a kept tail behind: the link's ledger is moved past it, and says so. Runs in the command that switches.

Only the owner of a shard writes into its part of the ledger, so the shard is taken over for it, as by an engine.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from twinlog.config.settings import LinkSettings
from twinlog.ledger.writer import LedgerWriter
from twinlog.model.ledger import Gap, PartitionState, ledger_topic, shard_of, transactional_id
from twinlog.model.names import TopicPartition
from twinlog.recovery.context import SwitchContext
from twinlog.wire.connection import Cluster
from twinlog.wire.fence import Fence
from twinlog.wire.log import fetch_ends


async def skip_tails(ctx: SwitchContext, link: LinkSettings, ends: Mapping[TopicPartition, int], why: str) -> int:
    """Note the rest of these partitions up to `ends` as a gap; returns how many offsets that are."""
    view = await ctx.ledger(link)
    shards = len(view.positions) - 1
    by_shard: dict[int, list[tuple[PartitionState, int]]] = {}
    for partition, end in ends.items():
        state = view.states.get(partition)
        if state is not None and state.source_next < end:
            by_shard.setdefault(shard_of(partition, shards), []).append((state, end))
    target = Cluster(link.target_producer, f"twinlog|{link.name}|skipping")
    skipped = 0
    try:
        fence = Fence(target, link.name)
        for shard, found in sorted(by_shard.items()):
            producer = await fence.take_over(transactional_id(link.source, link.target, shard), shard)
            writer = LedgerWriter(target, ledger_topic(link.source), 1 + shard, link.name, producer)
            for state, end in found:
                remote = view.roster[state.topic].remote
                await target.refresh([remote])
                reached = (await fetch_ends(target, remote, {state.partition: 0}))[state.partition]
                await writer.write(list(_skipped(state, end, reached, why)))
                skipped += end - state.source_next
    finally:
        await target.close()
    return skipped


def _skipped(state: PartitionState, end: int, reached: int, why: str) -> tuple[Gap, PartitionState]:
    now = int(time.time() * 1000)
    first = state.source_next
    gap = Gap(topic=state.topic, partition=state.partition, first=first, next=end, reason=why, at_ms=now)
    moved = {
        "source_next": end,
        "target_next": max(reached, state.target_next),
        "skipped": state.skipped + end - first,
        "phase": "closed",
        "at_ms": now,
    }
    return gap, state.model_copy(update=moved)
