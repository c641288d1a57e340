"""The step that finds and exports what an old primary has and the other side never got."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from twinlog.errors import SwitchStopped, TopicExists
from twinlog.kafka.admin import TopicOrder
from twinlog.ledger.view import LedgerView
from twinlog.model.ledger.runs import uncovered
from twinlog.model.names import TopicPartition
from twinlog.model.switch.facts import LinkStopped, SourceFence, TailFacts, findings_of
from twinlog.model.switch.torn_transactions import counted
from twinlog.recovery.context import StepResult, SwitchContext
from twinlog.recovery.strays import runs_of
from twinlog.recovery.tail import Tail, TailFile, TailReader, exported_already, for_topic, origin_of
from twinlog.recovery.topics import merged_topics
from twinlog.recovery.torn import Around, find_torn
from twinlog.sync.internal_topics import InternalLog
from twinlog.wire.offset_lists import fetch_offsets
from twinlog.wire.offsets import EARLIEST

_NAMED: Final = 20
_ANSWER_WITHIN_S: Final = 10.0
_BRING_BACK: Final = "Bring it back, then resume."


async def tail(ctx: SwitchContext) -> StepResult:
    """Export every record of the tail, then say what becomes of it."""
    ends = ctx.ends(SourceFence)
    view = await ctx.ledger(ctx.link)
    stopped = ctx.earlier(LinkStopped)
    unnoted = {} if stopped is None else stopped.unnoted
    reader = TailReader(ctx.at_source, ctx.back.name)
    await reader.prepare()
    switch = ctx.journal.switch_id
    log = await _export_topic(ctx)
    before = await exported_already(log, switch) if log is not None else set()
    starts = await _log_starts(ctx, ends)
    back = await ctx.ledger(ctx.back)
    tails: list[Tail] = []
    findings: list[str] = []
    with TailFile(ctx.folder / f"{switch}-tail.jsonl", switch) as out:
        for partition, end in sorted(ends.items()):
            state = view.states.get(partition)
            if partition.topic in merged_topics(ctx):
                continue
            if state is None or state.incarnation != view.roster[partition.topic].incarnation:
                continue  # nothing of it was ever copied: the link does that when it continues
            own = Tail(partition, state.source_next, state.source_next)
            skip = unnoted.get(partition, 0)
            start = starts[partition]
            gone = _expired(back, partition, state.source_next + skip, min(start, end))
            if gone:
                own.expired = sum(after - first for first, after in gone)
                findings.append(_lost_words(partition, gone, ctx.link.source))
            skip = max(0, skip - max(0, start - state.source_next))
            async for record in reader.records(partition, max(start, state.source_next), end, skip):
                own.take(record)
                out.add(partition, record)
                exported = for_topic(switch, partition, record)
                if log is not None and origin_of(exported) not in before:
                    await log.write([exported])
            if own.records:
                tails.append(own)
    total = sum(each.records for each in tails)
    ranges = {each.partition: each.range() for each in tails}
    if not total:
        lost = f"; {findings[0]}" if findings else ""
        return StepResult(
            f"{ctx.link.source} has nothing that {ctx.link.target} never got{lost}",
            TailFacts(tails=ranges, **findings_of(findings), records=0),
        )
    torn = await find_torn(ctx.at_source, _around(view, ends, unnoted))
    findings += [str(transaction) for transaction in torn.transactions[:_NAMED]]
    if torn.trouble:
        findings.append(f"torn transactions may be more: {torn.trouble}")
    named = "; ".join(f"{each.partition}: offsets {each.first}..{each.next - 1}" for each in tails[:_NAMED])
    fate = f"appended to {ctx.link.target}" if ctx.link.switch.tail == "append" else f"left on {ctx.link.source}"
    says = f"{total:,} records ({named}) are exported to {out.path}; they are {fate}"
    if torn.transactions:
        says += f". The cut left {counted(torn.transactions)}"
    facts = TailFacts(
        tails=ranges,
        records=total,
        torn=tuple(transaction.as_json() for transaction in torn.transactions[:_NAMED]),
        file=str(out.path),
        topic=ctx.link.switch.tail_topic,
        **findings_of(findings),
    )
    return StepResult(says, facts)


def _around(
    view: LedgerView, ends: Mapping[TopicPartition, int], unnoted: Mapping[TopicPartition, int]
) -> dict[TopicPartition, Around]:
    return {
        partition: Around(view.states[partition].source_next, unnoted.get(partition, 0), end)
        for partition, end in ends.items()
        if partition in view.states and view.states[partition].incarnation == view.roster[partition.topic].incarnation
    }


async def _log_starts(ctx: SwitchContext, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    starts: dict[TopicPartition, int] = {}
    for partition, start in (await fetch_offsets(ctx.at_source, ends, EARLIEST, within_s=_ANSWER_WITHIN_S)).items():
        if isinstance(start, str):
            raise SwitchStopped(ctx.link.name, "tail", f"{partition} on {ctx.link.source}: {start}", _BRING_BACK)
        starts[partition] = start
    return starts


def _lost_words(partition: TopicPartition, gone: Sequence[tuple[int, int]], source: str) -> str:
    named = ", ".join(f"{first}..{after - 1}" for first, after in gone)
    return (
        f"{partition}: offsets {named} were deleted by retention of {source} before they could be exported: nobody has "
        f"these records any more"
    )


def _expired(back: LedgerView, partition: TopicPartition, first: int, log_start: int) -> list[tuple[int, int]]:
    """Offsets behind the cut that the log no longer has, without those that the way back wrote."""
    if first >= log_start:
        return []
    remote = next((entry for entry in back.roster.values() if entry.remote == partition.topic), None)
    runs = runs_of(back, TopicPartition(remote.topic, partition.partition)) if remote is not None else []
    return uncovered(runs, first, log_start)


async def _export_topic(ctx: SwitchContext) -> InternalLog | None:
    topic = ctx.link.switch.tail_topic
    if topic is None:
        return None
    order = TopicOrder(topic, 1, ctx.link.copies.replication_factor, {"cleanup.policy": "delete"})
    refusal = (await asyncio.to_thread(ctx.target.create_topics, [order]))[topic]
    if refusal is not None and not isinstance(refusal, TopicExists):
        raise refusal
    return InternalLog(ctx.at_target, topic)


def tail_ends(ctx: SwitchContext) -> dict[TopicPartition, int]:
    """Where each tail of this switch ends on the old primary."""
    tails = ctx.find(TailFacts)
    return {} if tails is None else tails.ends
