"""Shutting the writers of a link out without their help. Runs in the command that switches.

What an engine does when it takes a shard over (flow/takeover), without taking anything over: the shard's producer id
gets a higher epoch, and a marker of it on the shard's ledger and on each partition that is not closed. Behind these
markers nothing of an older owner can be written. What it wrote but did not note is found before them and noted, as far
as its place on the source is certain.

A copy that was deleted or has no leader is left out and named: nobody can write into it now, and its state in the
ledger stays open, so that the next owner fences it first.

The stop stays: before it fences anything the switch signs in as the link's engine. A task that is tried again finds
a later generation than its own and ends; its engine signs in again only once it has read the switch's decision.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from twinlog.config.settings import LinkSettings
from twinlog.errors import BrokerAway, ClusterUnreachable
from twinlog.ledger.view import LedgerView
from twinlog.ledger.writer import LedgerWriter, roster_writer
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.ledger.records import SWITCH_ENGINE, Engine, PartitionState, ledger_topic, shard_of, transactional_id
from twinlog.model.names import LinkName, TopicPartition
from twinlog.model.switch.log import pair_of
from twinlog.recovery.context import SwitchContext
from twinlog.recovery.copies import copy_of, dead_copies
from twinlog.wire.connection import Cluster
from twinlog.wire.fence import Fence, Producer
from twinlog.wire.log import LogReader, up_to_marker
from twinlog.wire.offset_lists import fetch_offsets
from twinlog.wire.offsets import LATEST
from twinlog.wire.protocol_errors import name_of
from twinlog.wire.writability import why_unwritable

_SIGN_WITHIN_S: Final = 30.0
_SHARD_WITHIN_S: Final = 15.0
_SIDE_BY_SIDE: Final = 32
"""A shard that is blocked takes its whole time, and its engine may have blocked all of them."""
_ANSWER_WITHIN_S: Final = 5.0
_NAMED: Final = 3
_ATTEMPTS: Final = 2
"""A leader may be lost while a shard is stopped: its partition is left out at the next attempt."""


@dataclass
class Stopped:
    """What a forced stop found: records that were written but not noted, copies that could not be asked, and shards
    whose writers are not proven to be shut out, with the reason.
    """

    unnoted: dict[TopicPartition, int] = field(default_factory=dict)
    dead: dict[TopicPartition, str] = field(default_factory=dict)
    unproven: dict[int, str] = field(default_factory=dict)


async def stop_by_force(ctx: SwitchContext, link: LinkSettings) -> Stopped:
    """Shut every writer of a link out."""
    view = await ctx.ledger(link)
    if not view.positions:
        return Stopped()  # the link never ran: there is no ledger
    shards = len(view.positions) - 1
    wanted: dict[int, list[TopicPartition]] = {}
    for topic in view.roster.values():
        for number in range(topic.partitions):
            partition = TopicPartition(topic.topic, number)
            wanted.setdefault(shard_of(partition, shards), []).append(partition)
    target = Cluster(link.clients.target_producer, f"twinlog|{link.name}|forced-stop")
    try:
        await _sign_in(ctx, link, target)
        work = _ForcedStop(target, link, view)
        await work.stop_all(wanted)
        return work.found
    finally:
        await target.close()


async def _sign_in(ctx: SwitchContext, link: LinkSettings, target: Cluster) -> None:
    try:
        async with asyncio.timeout(_SIGN_WITHIN_S):
            await roster_writer(target, link.source, link.name).write([_sign(ctx, link)])
    except TimeoutError as error:
        problem = f"{ledger_topic(link.source)} did not take the record of the switch within {_SIGN_WITHIN_S:.0f} s"
        raise ClusterUnreachable(link.target, problem) from error


def _sign(ctx: SwitchContext, link: LinkSettings) -> Engine:
    decided = ctx.journal.state.generation if ctx.journal.state is not None else 0
    return Engine(
        engine_id=SWITCH_ENGINE,
        host=socket.gethostname(),
        pid=os.getpid(),
        phase="switched",
        trouble=f"a switch shut the writers of {link.name} out by force",
        heeded=decided,
        shut_out=decided,
        shut_out_pair=pair_of(LinkName(link.source, link.target)),
        at_ms=SYSTEM_CLOCK.now_ms(),
    )


@dataclass
class _ForcedStop:
    target: Cluster
    link: LinkSettings
    view: LedgerView
    found: Stopped = field(default_factory=Stopped)
    waits: dict[int, str] = field(default_factory=dict)  # what each shard waits for
    fence: Fence = field(init=False)

    def __post_init__(self) -> None:
        self.fence = Fence(self.target, self.link.name)

    async def stop_all(self, shards: Mapping[int, list[TopicPartition]]) -> None:
        """Stop shards side by side: an operator waits for the slowest one, not for their sum."""
        room = asyncio.Semaphore(_SIDE_BY_SIDE)

        async def stop(shard: int, partitions: list[TopicPartition]) -> None:
            async with room:
                await self.stop(shard, partitions)

        ends = await asyncio.gather(*(stop(*entry) for entry in sorted(shards.items())), return_exceptions=True)
        for failure in filter(None, ends):
            raise failure

    async def stop(self, shard: int, partitions: list[TopicPartition]) -> None:
        """Stop one shard. A leader that is lost meanwhile costs its partition, not the shard."""
        for _ in range(_ATTEMPTS):
            entries = [self.view.roster[name] for name in {partition.topic for partition in partitions}]
            self.found.dead |= await dead_copies(self.target, entries)
            try:
                async with asyncio.timeout(_SHARD_WITHIN_S):
                    await self._stop_shard(shard, partitions)
            except (TimeoutError, BrokerAway):
                continue
            return
        self.found.unproven[shard] = (
            f"the writers of shard {shard} of {self.link.name} are not proven to be shut out: "
            f"{self.link.target} did not confirm it within {_ATTEMPTS * _SHARD_WITHIN_S:.0f} s"
            f": {self.fence.waits.get(shard) or self.waits.get(shard, 'its copies cannot be looked at')}"
            f"{await self._what_blocks(partitions)}"
        )

    async def _what_blocks(self, partitions: list[TopicPartition]) -> str:
        """A transaction cannot end while a partition in it takes no writes, and it blocks the shard's id."""
        copies = {copy_of(self.view, partition) for partition in partitions}
        try:
            async with asyncio.timeout(_ANSWER_WITHIN_S):
                await self.target.refresh({copy.topic for copy in copies})
                hindered = await why_unwritable(self.target, copies)
        except (TimeoutError, BrokerAway):
            return ""
        named = [f"{copy}: {reason}" for copy, reason in sorted(hindered.items())[:_NAMED]]
        return f" ({'; '.join(named)})" if named else ""

    async def _stop_shard(self, shard: int, partitions: list[TopicPartition]) -> None:
        target, link, view, proof = self.target, self.link, self.view, self.found
        fence = self.fence
        self.waits[shard] = "its transactional id has no new owner yet"
        producer = await fence.take_over(transactional_id(link.source, link.target, shard), shard)
        topic = ledger_topic(link.source)
        self.waits[shard] = f"its marker is not in {topic}-{1 + shard} yet"
        await target.refresh([topic])
        await fence.plant_on_ledger(producer, shard, TopicPartition(topic, 1 + shard))
        reader = LogReader(target, topic, {1 + shard: view.positions[1 + shard]}, f"stop-{shard}", lasting=False)
        async for header, data in up_to_marker(reader, 1 + shard, producer.producer_id, producer.epoch):
            view.take(header, data)
        unclean = {
            copy_of(view, partition): (partition, state)
            for partition in partitions
            if partition not in proof.dead
            and (state := view.states.get(partition)) is not None
            and state.phase != "closed"
            and state.incarnation == view.roster[partition.topic].incarnation
        }
        self.waits[shard] = f"its markers are not in its copies yet ({', '.join(map(str, list(unclean)[:_NAMED]))})"
        behind: dict[TopicPartition, int] = {}
        for copy, answer in (await fetch_offsets(target, unclean, LATEST, within_s=_ANSWER_WITHIN_S)).items():
            if isinstance(answer, str):
                proof.dead[unclean[copy][0]] = answer
            else:
                behind[copy] = answer
        for copy, error in (await fence.plant(producer, shard, behind)).items():
            proof.dead[unclean[copy][0]] = f"its broker says {name_of(error)}"
            del behind[copy]
        noted: list[PartitionState] = []
        for copy, end in behind.items():
            partition, state = unclean[copy]
            self.waits[shard] = f"its marker is not in {copy} yet"
            records = await _count(target, copy, state, producer, end)
            if records:
                proof.unnoted[partition] = records
            noted.append(_closed(state, records))
        self.waits[shard] = f"{topic}-{1 + shard} takes no record"
        await LedgerWriter(target, topic, 1 + shard, link.name, producer).write(noted)


def _closed(state: PartitionState, unnoted: int) -> PartitionState:
    """The state as the next owner must find it: not closed while something lies behind it that only a reading of the
    source can place.
    """
    phase = state.phase if unnoted else "closed" if state.fault is None else state.phase
    return state.model_copy(update={"phase": phase, "at_ms": SYSTEM_CLOCK.now_ms()})


async def _count(
    target: Cluster, remote: TopicPartition, state: PartitionState, producer: Producer, behind: int
) -> int:
    # Kafka may have given the shard a new id since: what is not noted bears the old one.
    own_ids = {state.producer_id, producer.producer_id}
    reader = LogReader(target, remote.topic, {remote.partition: state.target_next}, f"count-{remote}", lasting=False)
    who = (producer.producer_id, producer.epoch)
    return sum(
        [
            header.next_offset - max(header.base_offset, state.target_next)
            async for header, _ in up_to_marker(reader, remote.partition, *who, behind)
            if not header.is_control and header.producer_id in own_ids
        ]
    )
