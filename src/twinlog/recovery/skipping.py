"""Moving a link's ledger forward without copying: past a tail that is kept, past what came from the target itself.

Runs in the command that switches, while the link stands still. Only the owner of a shard writes into its part of the
ledger, so the shard is taken over for it, as by an engine. What is really lost is noted as a gap (R7).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from twinlog.config.settings import LinkSettings
from twinlog.errors import SwitchStopped
from twinlog.ledger.view import LedgerView
from twinlog.ledger.writer import LedgerWriter, roster_writer
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.ledger.passing import Passed, pass_own
from twinlog.model.ledger.records import Gap, PartitionState, ledger_topic, shard_of, transactional_id
from twinlog.model.names import TopicPartition
from twinlog.recovery.context import SwitchContext
from twinlog.recovery.copies import copy_of
from twinlog.recovery.strays import runs_of
from twinlog.wire.connection import Cluster
from twinlog.wire.fence import Fence
from twinlog.wire.offset_lists import fetch_offsets
from twinlog.wire.offsets import EARLIEST, LATEST

_ANSWER_WITHIN_S: Final = 10.0


async def skip_tails(ctx: SwitchContext, link: LinkSettings, ends: Mapping[TopicPartition, int], why: str) -> int:
    """Note the rest of these partitions up to `ends` as a gap; returns how many offsets that are."""
    view = await ctx.ledger(link)
    moves: dict[TopicPartition, Passed] = {}
    for partition, end in ends.items():
        state = view.states.get(partition)
        if state is not None and state.source_next < end:
            moves[partition] = Passed(end, ((state.source_next, end),))
    await _Mover(ctx, link, view, why).move(moves)
    return sum(after - first for passed in moves.values() for first, after in passed.gaps)


async def pass_over_own(
    ctx: SwitchContext, link: LinkSettings, opposite: LinkSettings, upto: Mapping[TopicPartition, int], why: str
) -> list[str]:
    """Move a link past what the opposite link wrote into its source, up to these ends; returns what is lost there.

    Retention may have deleted those records. The link would take that for a gap, though nothing was lost.
    """
    view, other = await ctx.ledger(link), await ctx.ledger(opposite)
    cluster = ctx.at_source if link.source == ctx.link.source else ctx.at_target
    known = [p for p in upto if p.topic in view.roster and p.partition < view.roster[p.topic].partitions]
    starts = await fetch_offsets(cluster, known, EARLIEST, within_s=_ANSWER_WITHIN_S)
    moves: dict[TopicPartition, Passed] = {}
    for partition, start in starts.items():
        if isinstance(start, str):
            continue  # its engine waits for it and says so
        state = _state(view, partition)
        here = state.source_next if state else view.roster[partition.topic].origins[partition.partition]
        if state is not None and state.phase != "closed" and start <= here:
            continue  # what it wrote and did not note is found by reading the source from there
        written = _state(other, copy_of(view, partition))
        mapped_from = written.target_first if written else upto[partition]
        passed = pass_own(here, upto[partition], start, list(runs_of(other, copy_of(view, partition))), mapped_from)
        if passed.position > here:
            moves[partition] = passed
    await _Mover(ctx, link, view, why).move(moves)
    return [
        f"{partition} on {link.source}: offsets {first}..{after - 1} were deleted by retention before {link.name} "
        f"copied them; the map of {opposite.name} does not say that they came from {link.target}"
        for partition, passed in moves.items()
        for first, after in passed.gaps
    ]


def _state(view: LedgerView, partition: TopicPartition) -> PartitionState | None:
    """What the ledger says of the present incarnation of a partition."""
    state, entry = view.states.get(partition), view.roster.get(partition.topic)
    return state if state is not None and entry is not None and state.incarnation == entry.incarnation else None


@dataclass
class _Mover:
    ctx: SwitchContext
    link: LinkSettings
    view: LedgerView
    why: str

    async def move(self, moves: Mapping[TopicPartition, Passed]) -> None:
        """Write the new places: into the state of a partition, or as its origin where nothing was ever copied."""
        if not moves:
            return
        target = Cluster(self.link.clients.target_producer, f"twinlog|{self.link.name}|skipping")
        try:
            await self._move_origins(target, moves)
            by_shard: dict[int, list[TopicPartition]] = {}
            for partition in moves:
                if _state(self.view, partition) is not None:
                    by_shard.setdefault(shard_of(partition, len(self.view.positions) - 1), []).append(partition)
            for shard, partitions in sorted(by_shard.items()):
                await self._move_shard(target, shard, {partition: moves[partition] for partition in partitions})
        finally:
            await target.close()

    async def _move_origins(self, target: Cluster, moves: Mapping[TopicPartition, Passed]) -> None:
        changed: dict[str, list[int]] = {}
        for partition, passed in moves.items():
            if _state(self.view, partition) is None:
                origins = changed.setdefault(partition.topic, list(self.view.roster[partition.topic].origins))
                origins[partition.partition] = passed.position
        entries = [self.view.roster[topic].model_copy(update={"origins": at}) for topic, at in changed.items()]
        await roster_writer(target, self.link.source, self.link.name).write(entries)

    async def _move_shard(self, target: Cluster, shard: int, moves: Mapping[TopicPartition, Passed]) -> None:
        link, view = self.link, self.view
        copies = {copy_of(view, partition): partition for partition in moves}
        ends = await fetch_offsets(target, copies, LATEST, within_s=_ANSWER_WITHIN_S)
        producer = await Fence(target, link.name).take_over(transactional_id(link.source, link.target, shard), shard)
        writer = LedgerWriter(target, ledger_topic(link.source), 1 + shard, link.name, producer)
        for copy, end in ends.items():
            if isinstance(end, str):
                reason = f"{copy} on {link.target}: {end}"
                raise SwitchStopped(self.ctx.link.name, "copy-back", reason, "Bring it back, then resume.")
            state = view.states[copies[copy]]
            await writer.write(list(_moved(state, moves[copies[copy]], end, self.why)))


def _moved(state: PartitionState, passed: Passed, reached: int, why: str) -> list[Gap | PartitionState]:
    now = SYSTEM_CLOCK.now_ms()
    skipped = sum(after - first for first, after in passed.gaps)
    gaps = [
        Gap(topic=state.topic, partition=state.partition, first=first, next=after, reason=why, at_ms=now)
        for first, after in passed.gaps
    ]
    moved = {
        "source_next": passed.position,
        "target_next": max(reached, state.target_next),
        "skipped": state.skipped + skipped,
        "returned": state.returned + passed.position - state.source_next - skipped,
        "phase": "closed",
        "fault": None,
        "at_ms": now,
    }
    return [*gaps, state.model_copy(update=moved)]
