"""A producer id whose epochs run out, given up in order. Runs on an executor, at a take-over.

Kafka counts epochs in 16 bits. Behind the last one the coordinator gives the shard a new id, and the markers of a new
id shut nobody out: a batch with the old id that is still in a socket would be appended behind them (R2, R10). So an
owner whose epoch lies near the end gives the id up before it writes anything:

    1. marker of the old id on the shard's ledger, then on each partition that the ledger does not show as closed
    2. InitProducerId, again and again, until there is a new id

The first answer of step 2 proves step 1: the coordinator gives no epoch before all markers are written. Nobody writes
with the epochs of step 2, and all that was written before lies in front of a marker that is newer. Where a partition
cannot be fenced now, the owner works on with the old id, and the next take-over tries again.
"""

from __future__ import annotations

import logging
from typing import Final

from twinlog.ledger.view import LedgerView
from twinlog.model.ledger.records import ROSTER_PARTITION, ledger_topic
from twinlog.model.names import TopicPartition
from twinlog.wire.fence import Fence, Producer
from twinlog.wire.log import LogReader, up_to_marker
from twinlog.wire.writability import why_unwritable

log = logging.getLogger("twinlog.takeover")

LAST_EPOCH: Final = 32_766
RETIRE_FROM: Final = LAST_EPOCH - 1_000
"""A week of take-overs every ten minutes: so often the fence may fail before the epochs are really at their end."""


async def retire_if_old(fence: Fence, producer: Producer, shard: int, source: str) -> Producer:
    """The producer to work with: another one when the id of this one was given up."""
    while producer.epoch >= RETIRE_FROM:
        unfenced = await _fence_all(fence, producer, shard, source)
        if unfenced:
            kept = f"it is kept, because {', '.join(map(str, unfenced[:3]))} cannot be fenced now"
            log.warning("%s shard %d: producer id %d ends soon; %s", fence.link, shard, producer.producer_id, kept)
            break
        producer = await _use_up(fence, producer, shard)
    return producer


async def _use_up(fence: Fence, fenced: Producer, shard: int) -> Producer:
    """Take epochs until the id is another one, or until somebody else took one in between, who must be fenced, too."""
    last = fenced
    while True:
        taken = await fence.take_over(fenced.transactional_id, shard)
        if taken.producer_id != fenced.producer_id:
            log.info("%s shard %d: producer id %d follows %d", fence.link, shard, taken.producer_id, fenced.producer_id)
            return taken
        if taken.epoch != last.epoch + 1:
            return taken
        last = taken


async def _fence_all(fence: Fence, producer: Producer, shard: int, source: str) -> list[TopicPartition]:
    """Fence everything that the shard may be writing to; returns what cannot be fenced now."""
    target, ledger = fence.cluster, TopicPartition(ledger_topic(source), 1 + shard)
    await target.refresh([ledger.topic])
    await fence.plant_on_ledger(producer, shard, ledger)
    view = LedgerView({ROSTER_PARTITION: 0, ledger.partition: 0})
    reader = LogReader(target, ledger.topic, {ledger.partition: 0}, f"retire-{shard}", lasting=False)
    async for header, data in up_to_marker(reader, ledger.partition, producer.producer_id, producer.epoch):
        view.take(header, data)
    view.positions.pop(ledger.partition)
    await view.catch_up(target, source)
    unclean = [
        TopicPartition(topic.remote, partition.partition)
        for partition, state in view.states.items()
        if state.phase != "closed"
        and (topic := view.roster.get(partition.topic)) is not None
        and topic.incarnation == state.incarnation
    ]
    await target.refresh({partition.topic for partition in unclean})
    # Nobody writes into a partition that was deleted; one that takes no marker now may take a late batch later.
    there = [p for p in unclean if p.partition in target.topics[p.topic].leaders]
    hindered = await why_unwritable(target, there)
    refused = await fence.plant(producer, shard, [partition for partition in there if partition not in hindered])
    return [partition for partition in there if partition in hindered or partition in refused]
