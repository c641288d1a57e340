"""Shutting the writers of a link out without their help. Runs in the command that switches.

What an engine does when it takes a shard over (flow/takeover), without taking anything over: the shard's producer id
gets a higher epoch, and a marker of it on the shard's ledger and on each partition that is not closed. Behind these
markers nothing of an older owner can be written. What it wrote but did not note is found before them and noted, as far
as its place on the source is certain.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from twinlog.config.settings import LinkSettings
from twinlog.ledger.view import LedgerView
from twinlog.ledger.writer import LedgerWriter
from twinlog.model.ledger import PartitionState, ledger_topic, shard_of, transactional_id
from twinlog.model.names import TopicPartition
from twinlog.recovery.context import SwitchContext
from twinlog.wire.batch import BatchHeader
from twinlog.wire.connection import Cluster
from twinlog.wire.fence import Fence, Producer
from twinlog.wire.log import LogReader, fetch_ends

Take = Callable[[BatchHeader, bytes], object]


async def stop_by_force(ctx: SwitchContext, link: LinkSettings) -> dict[TopicPartition, int]:
    """Shut every writer of a link out; returns how many records they had not noted, where there are any."""
    view = await ctx.ledger(link)
    shards = len(view.positions) - 1
    wanted: dict[int, list[TopicPartition]] = {}
    for topic in view.roster.values():
        for number in range(topic.partitions):
            partition = TopicPartition(topic.topic, number)
            wanted.setdefault(shard_of(partition, shards), []).append(partition)
    target = Cluster(link.target_producer, f"twinlog|{link.name}|forced-stop")
    try:
        found: dict[TopicPartition, int] = {}
        for shard, partitions in sorted(wanted.items()):
            found |= await _stop_shard(target, link, view, shard, partitions)
        return found
    finally:
        await target.close()


async def _stop_shard(
    target: Cluster, link: LinkSettings, view: LedgerView, shard: int, partitions: list[TopicPartition]
) -> dict[TopicPartition, int]:
    fence = Fence(target, link.name)
    producer = await fence.take_over(transactional_id(link.source, link.target, shard), shard)
    topic = ledger_topic(link.source)
    await target.refresh([topic])
    await fence.plant(producer, shard, [TopicPartition(topic, 1 + shard)])
    reader = LogReader(target, topic, {1 + shard: view.positions[1 + shard]}, f"stop-{shard}", lasting=False)
    await _read_to_marker(reader, 1 + shard, producer, view.take)
    unclean = [
        (partition, state)
        for partition in partitions
        if (state := view.states.get(partition)) is not None
        and state.phase != "closed"
        and state.incarnation == view.roster[partition.topic].incarnation
    ]
    remotes = [TopicPartition(view.roster[p.topic].remote, p.partition) for p, _ in unclean]
    await target.refresh({remote.topic for remote in remotes})
    behind = {r: (await fetch_ends(target, r.topic, {r.partition: 0}))[r.partition] for r in remotes}
    await fence.plant(producer, shard, remotes)
    found: dict[TopicPartition, int] = {}
    noted: list[PartitionState] = []
    for (partition, state), remote in zip(unclean, remotes, strict=True):
        records = await _count(target, remote, state, producer, behind[remote])
        if records:
            found[partition] = records
        noted.append(_closed(state, records))
    await LedgerWriter(target, topic, 1 + shard, link.name, producer).write(noted)
    return found


def _closed(state: PartitionState, unnoted: int) -> PartitionState:
    """The state as the next owner must find it: not closed while something lies behind it that only a reading of the
    source can place.
    """
    phase = state.phase if unnoted else "closed" if state.fault is None else state.phase
    return state.model_copy(update={"phase": phase, "at_ms": int(time.time() * 1000)})


async def _count(
    target: Cluster, remote: TopicPartition, state: PartitionState, producer: Producer, behind: int
) -> int:
    records = 0

    def take(header: BatchHeader, _: bytes) -> None:
        nonlocal records
        if not header.is_control and header.producer_id == producer.producer_id:
            records += header.next_offset - max(header.base_offset, state.target_next)

    reader = LogReader(target, remote.topic, {remote.partition: state.target_next}, f"count-{remote}", lasting=False)
    await _read_to_marker(reader, remote.partition, producer, take, behind)
    return records


async def _read_to_marker(
    reader: LogReader, partition: int, producer: Producer, take: Take, planted_behind: int = 0
) -> None:
    """Hand over everything up to the marker that was just planted."""
    async for _, batches in reader.batches():
        for header, data in batches:
            ours = (header.producer_id, header.producer_epoch) == (producer.producer_id, producer.epoch)
            if header.is_control and ours and header.base_offset >= planted_behind:
                reader.positions[partition] = header.next_offset
                reader.cluster.drop(reader.lane)
                return
            take(header, data)
