"""The step that names what was not copied when the source was lost."""

from __future__ import annotations

import asyncio
from typing import Final

from twinlog.errors import ClusterError
from twinlog.ledger.view import LedgerView
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.health.loss_range import LossRange
from twinlog.model.names import TopicPartition
from twinlog.model.switch.facts import LinkStopped, Loss
from twinlog.recovery.context import StepResult, SwitchContext
from twinlog.recovery.known_loss import loss_of, merged_ends, remembered_ends

_ASK_WITHIN_S: Final = 5.0
_NAMED: Final = 20


async def loss(ctx: SwitchContext) -> StepResult:
    """Everything between the cut and the last end that the source was known to have."""
    view = await ctx.ledger(ctx.link)
    stopped = ctx.find(LinkStopped)
    unnoted = {} if stopped is None else stopped.unnoted
    ends, at_ms = await _ends(ctx, view)
    if at_ms is None:
        says = f"what {ctx.link.source} held at last is not known: it may be anything since the last copy"
        return StepResult(says, Loss(records=None, known_at_ms=None, lost={}))
    lost: dict[TopicPartition, tuple[int, int]] = {}
    for partition, end in sorted(ends.items()):
        if ctx.link.naming.is_heartbeats(partition.topic):
            continue  # nobody's data
        state = view.states.get(partition)
        topic = view.roster[partition.topic]
        here = state is not None and state.incarnation == topic.incarnation
        reached = state.source_next if state and here else topic.origins[partition.partition]
        first = reached + unnoted.get(partition, 0)
        if end > first:
            lost[partition] = (first, end)
    total = sum(end - first for first, end in lost.values())
    lost_range = LossRange(total, total, at_ms, loss_of(view, ctx.link.naming).copied_ms)
    if at_ms == remembered_ends(view)[1]:
        lost_range = loss_of(view, ctx.link.naming, unnoted)
    named = "; ".join(f"{name}: offsets {first}..{end - 1}" for name, (first, end) in list(lost.items())[:_NAMED])
    later = f"What was written to {ctx.link.source} later is not known"
    says = f"{lost_range.says(ctx.link.source)}. {later}" + (f". Known to be lost: {named}" if lost else "")
    facts = Loss(
        records=total, at_most=lost_range.at_most, known_at_ms=at_ms, copied_ms=lost_range.copied_ms, lost=lost
    )
    return StepResult(says, facts)


async def _ends(ctx: SwitchContext, view: LedgerView) -> tuple[dict[TopicPartition, int], int | None]:
    """From the source itself if it still answers, else what the ledger remembers of it."""
    wanted = [TopicPartition(t.topic, n) for t in view.roster.values() for n in range(t.partitions)]
    if await ctx.reachable(ctx.source, _ASK_WITHIN_S) is None:
        committed = ctx.link.reading.fetch.isolation == "read_committed"
        try:
            answers = await asyncio.to_thread(ctx.source.fetch_end_offsets, wanted, committed=committed)
        except ClusterError:
            return remembered_ends(view)  # it went away again
        return merged_ends(wanted, answers, remembered_ends(view), SYSTEM_CLOCK.now_ms())
    return remembered_ends(view)
