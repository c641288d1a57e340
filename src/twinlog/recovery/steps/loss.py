"""The step that names what was not copied when the source was lost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping
from typing import Any, Final

from twinlog.errors import ClusterError
from twinlog.ledger.view import LedgerView
from twinlog.model.health.loss_range import LossRange, last_copied, lived_until, loss_range
from twinlog.model.ledger.source_ends import CHORE, known_ends, seen_at
from twinlog.model.names import TopicPartition
from twinlog.model.naming import ReplicationNaming
from twinlog.recovery.context import StepResult, SwitchContext

_ASK_WITHIN_S: Final = 5.0
_NAMED: Final = 20


async def loss(ctx: SwitchContext) -> StepResult:
    """Everything between the cut and the last end that the source was known to have."""
    view = await ctx.ledger(ctx.link)
    unnoted = {TopicPartition.parse(name): int(n) for name, n in ctx.facts("stop-link").get("unnoted", {}).items()}
    ends, at_ms = await _ends(ctx, view)
    if at_ms is None:
        says = f"what {ctx.link.source} held at last is not known: it may be anything since the last copy"
        return StepResult(says, {"records": None, "known_at_ms": None, "lost": {}})
    lost: dict[str, list[int]] = {}
    for partition, end in sorted(ends.items()):
        if ctx.link.naming.is_heartbeats(partition.topic):
            continue  # nobody's data
        state = view.states.get(partition)
        topic = view.roster[partition.topic]
        here = state is not None and state.incarnation == topic.incarnation
        reached = state.source_next if state and here else topic.origins[partition.partition]
        first = reached + unnoted.get(partition, 0)
        if end > first:
            lost[str(partition)] = [first, end]
    total = sum(end - first for first, end in lost.values())
    found = LossRange(total, total, at_ms, loss_of(view, ctx.link.naming).copied_ms)
    if at_ms == remembered_ends(view)[1]:
        found = loss_of(view, ctx.link.naming, unnoted)
    named = "; ".join(f"{name}: offsets {first}..{end - 1}" for name, (first, end) in list(lost.items())[:_NAMED])
    later = f"What was written to {ctx.link.source} later is not known"
    says = f"{found.says(ctx.link.source)}. {later}" + (f". Known to be lost: {named}" if lost else "")
    facts = {"records": total, "at_most": found.at_most, "known_at_ms": at_ms, "copied_ms": found.copied_ms}
    return StepResult(says, {**facts, "lost": lost})


def loss_of(
    view: LedgerView, naming: ReplicationNaming, unnoted: Mapping[TopicPartition, int] | None = None
) -> LossRange:
    """The range of what is lost with a source that does not answer; `unnoted` was copied and not yet in the ledger."""
    mine = {name: topic for name, topic in view.roster.items() if not naming.is_heartbeats(name)}
    states = {p: s for p, s in view.states.items() if p.topic in mine and s.incarnation == mine[p.topic].incarnation}
    positions = {
        place: (states[place].source_next if place in states else origin) + (unnoted or {}).get(place, 0)
        for name, topic in mine.items()
        for number, origin in enumerate(topic.origins)
        for place in [TopicPartition(name, number)]
    }
    memos = view.memos.get(CHORE, {})
    known = known_ends(memos, positions, {name: topic.source_id for name, topic in mine.items()})
    copied_ms = last_copied((s.newest_ms, s.at_ms) for s in states.values())
    until_ms = lived_until(seen_at(memos), copied_ms, view.engine, _now())
    return loss_range(known, positions, seen_at(memos), copied_ms, until_ms)


async def _ends(ctx: SwitchContext, view: LedgerView) -> tuple[dict[TopicPartition, int], int | None]:
    """From the source itself if it still answers, else what the ledger remembers of it."""
    wanted = [TopicPartition(t.topic, n) for t in view.roster.values() for n in range(t.partitions)]
    if await ctx.reachable(ctx.source, _ASK_WITHIN_S) is None:
        committed = ctx.link.fetch.isolation == "read_committed"
        try:
            answers = await asyncio.to_thread(ctx.source.fetch_end_offsets, wanted, committed=committed)
        except ClusterError:
            return remembered_ends(view)  # it went away again
        return merged_ends(wanted, answers, remembered_ends(view), _now())
    return remembered_ends(view)


def merged_ends(
    wanted: Collection[TopicPartition],
    answers: Mapping[TopicPartition, int | ClusterError],
    remembered: tuple[dict[TopicPartition, int], int | None],
    now_ms: int,
) -> tuple[dict[TopicPartition, int], int | None]:
    """What the source said, and what is remembered of partitions it said nothing about, as old as the older (R7)."""
    fresh = {p: int(end) for p, end in answers.items() if not isinstance(end, ClusterError)}
    if all(partition in fresh for partition in wanted):
        return fresh, now_ms
    ends, at_ms = remembered
    return ends | fresh, at_ms


def remembered_ends(view: LedgerView) -> tuple[dict[TopicPartition, int], int | None]:
    """The last ends that the engine noted, and when it last heard of the source."""
    memos: Mapping[str, Any] = view.memos.get(CHORE, {})
    nexts = {partition: state.source_next for partition, state in view.states.items()}
    ids = {topic.topic: topic.source_id for topic in view.roster.values()}
    known = known_ends(memos, nexts, ids)
    mirrored = {p: k.end for p, k in known.items() if p.partition < view.roster[p.topic].partitions}
    return mirrored, seen_at(memos)


def _now() -> int:
    return int(time.time() * 1000)
