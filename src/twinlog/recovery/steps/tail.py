"""The step that finds and exports what an old primary has and the other side never got."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from twinlog.errors import TopicExists
from twinlog.kafka.admin import TopicOrder
from twinlog.ledger.view import LedgerView
from twinlog.model.names import TopicPartition
from twinlog.model.torn_transactions import counted
from twinlog.recovery.context import StepResult, SwitchContext
from twinlog.recovery.offsets import ends_from_lists
from twinlog.recovery.tail import Tail, TailFile, TailReader, exported_already, for_topic, origin_of
from twinlog.recovery.torn import Around, find_torn
from twinlog.sync.internal_topics import InternalLog

_NAMED: Final = 20


async def tail(ctx: SwitchContext) -> StepResult:
    """Export every record of the tail, then say what becomes of it."""
    ends = ends_from_lists(ctx.facts("fence-source")["ends"])
    view = await ctx.ledger(ctx.link)
    unnoted: Mapping[str, Any] = ctx.earlier("stop-link").get("unnoted", {})
    reader = TailReader(ctx.at_source, ctx.back.name)
    await reader.prepare()
    switch = ctx.journal.switch_id
    log = await _export_topic(ctx)
    before = await exported_already(log, switch) if log is not None else set()
    tails: list[Tail] = []
    with TailFile(ctx.folder / f"{switch}-tail.jsonl", switch) as out:
        for partition, end in sorted(ends.items()):
            state = view.states.get(partition)
            if state is None or state.incarnation != view.roster[partition.topic].incarnation:
                continue  # nothing of it was ever copied: the link does that when it goes on
            found = Tail(partition, state.source_next, state.source_next)
            skip = int(unnoted.get(str(partition), 0))
            async for record in reader.records(partition, state.source_next, end, skip):
                if not found.records:
                    found.first = record.offset
                found.records += 1
                found.next = record.offset + 1
                found.oldest_ms = min(found.oldest_ms or record.timestamp, record.timestamp)
                found.newest_ms = max(found.newest_ms or record.timestamp, record.timestamp)
                out.add(partition, record)
                exported = for_topic(switch, partition, record)
                if log is not None and origin_of(exported) not in before:
                    await log.write([exported])
            if found.records:
                tails.append(found)
    total = sum(found.records for found in tails)
    facts: dict[str, Any] = {"tails": {str(found.partition): found.as_json() for found in tails}, "records": total}
    if not total:
        return StepResult(f"{ctx.link.source} has nothing that {ctx.link.target} never got", facts)
    torn = await find_torn(ctx.at_source, _around(view, ends, unnoted))
    facts["torn"] = [one.as_json() for one in torn.transactions[:_NAMED]]
    findings = [str(one) for one in torn.transactions[:_NAMED]]
    if torn.trouble:
        findings.append(f"torn transactions may be more: {torn.trouble}")
    facts["findings"] = findings
    named = "; ".join(f"{one.partition}: offsets {one.first}..{one.next - 1}" for one in tails[:_NAMED])
    fate = f"appended to {ctx.link.target}" if ctx.link.switch.tail == "append" else f"left on {ctx.link.source}"
    says = f"{total:,} records ({named}) are exported to {out.path}; they are {fate}"
    if torn.transactions:
        says += f". The cut left {counted(torn.transactions)}"
    return StepResult(says, {**facts, "file": str(out.path), "topic": ctx.link.switch.tail_topic})


def _around(
    view: LedgerView, ends: Mapping[TopicPartition, int], unnoted: Mapping[str, Any]
) -> dict[TopicPartition, Around]:
    return {
        partition: Around(view.states[partition].source_next, int(unnoted.get(str(partition), 0)), end)
        for partition, end in ends.items()
        if partition in view.states and view.states[partition].incarnation == view.roster[partition.topic].incarnation
    }


async def _export_topic(ctx: SwitchContext) -> InternalLog | None:
    topic = ctx.link.switch.tail_topic
    if topic is None:
        return None
    order = TopicOrder(topic, 1, ctx.link.replication_factor, {"cleanup.policy": "delete"})
    refusal = (await asyncio.to_thread(ctx.target.create_topics, [order]))[topic]
    if refusal is not None and not isinstance(refusal, TopicExists):
        raise refusal
    return InternalLog(ctx.at_target, topic)


def tail_ends(ctx: SwitchContext) -> dict[TopicPartition, int]:
    """Where each tail of this switch ends on the old primary."""
    tails: Mapping[str, Mapping[str, Any]] = ctx.facts("tail").get("tails", {})
    return {TopicPartition.parse(name): int(found["next"]) for name, found in tails.items()}
