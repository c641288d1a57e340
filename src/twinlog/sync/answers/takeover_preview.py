"""What a link would continue from if it started now, for `twinlog import mm2`. Runs in the command; writes nothing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, assert_never

from twinlog.ledger.reading import look_at_ledger
from twinlog.model.mirrormaker.records import connect_offsets_topic
from twinlog.model.mirrormaker.takeover_decision import Decision, Fresh, Inherited, Postponed, Refused
from twinlog.model.mirrormaker.traces import missing_trace
from twinlog.model.names import TopicPartition
from twinlog.model.selection import replicates
from twinlog.model.start import Earliest
from twinlog.model.topics.target_topics import TopicFacts
from twinlog.sync.beginnings import fetch_beginnings
from twinlog.sync.ends import LinkEnds
from twinlog.sync.mirrormaker_takeover import MirrorMakerTakeover

How: TypeAlias = Literal["mirrored", "compared", "not compared", "begins", "refused", "postponed"]


@dataclass(frozen=True)
class TakeoverRow:
    """One source partition: what MirrorMaker 2 noted, where copying starts, and how that is known."""

    partition: TopicPartition
    remote: str
    noted: int | None
    starts_at: int | None  # None: unknown, or not at all
    how: How
    why: str = ""


@dataclass(frozen=True)
class TakeoverPreview:
    """All partitions; `no_trace` says that MirrorMaker 2 left nothing for this source, and what may be wrong."""

    rows: tuple[TakeoverRow, ...]
    no_trace: str | None


async def preview_takeover(
    ends: LinkEnds, *, offsets_topic: str | None = None, connector: str | None = None
) -> TakeoverPreview:
    """Decide for every partition that the settings select, as the engine does at its start."""
    link = ends.link
    view = await look_at_ledger(link.clients.target_consumer, link.source)
    known = {topic: entry.partitions for topic, entry in view.roster.items()} if view else {}
    partitions = await asyncio.to_thread(_partitions, ends)
    mirrored = [p for p in partitions if p.partition < known.get(p.topic, 0)]
    others = [p for p in partitions if p.partition >= known.get(p.topic, 0)]
    takeover = MirrorMakerTakeover(link, ends.source, ends.target, offsets_topic=offsets_topic, connector=connector)
    decisions = await asyncio.to_thread(takeover.decide, others, wait=False) if others else {}
    rows = []
    for partition in mirrored:
        state = view.states.get(partition) if view else None
        at = state.source_next if state else None
        remote = link.naming.remote(link.source, partition.topic)
        rows.append(TakeoverRow(partition, remote, None, at, "mirrored", "the ledger knows it; nothing is taken over"))
    fresh = [partition for partition, decision in decisions.items() if isinstance(decision, Fresh)]
    start = Earliest() if known else link.copies.start_from  # what appears later is read whole
    begins = await asyncio.to_thread(fetch_beginnings, ends.source, link.source, start, fresh)
    for partition, decision in decisions.items():
        row = _row(partition, link.naming.remote(link.source, partition.topic), decision)
        if row.how == "begins":
            why = "; ".join(filter(None, (f"start.from = {start}", row.why)))
            row = replace(row, starts_at=begins.get(partition), why=why)
        rows.append(row)
    topics = frozenset(await asyncio.to_thread(ends.target.list_topics))
    noted = offsets_topic or link.mm2.offsets_topic or connect_offsets_topic(link.source)
    no_trace = None if known else missing_trace(link.source, link.target, noted, topics)
    return TakeoverPreview(tuple(sorted(rows, key=lambda row: row.partition)), no_trace)


def _partitions(ends: LinkEnds) -> list[TopicPartition]:
    link = ends.link
    names = [
        name
        for name in ends.source.list_topics()
        if replicates(name, link.source, link.target, link.topics, link.naming)
    ]
    facts = ends.source.describe_topics(names)
    return [
        TopicPartition(name, number)
        for name, fact in facts.items()
        if isinstance(fact, TopicFacts)
        for number in range(fact.partitions)
    ]


def _row(partition: TopicPartition, remote: str, decision: Decision) -> TakeoverRow:
    match decision:
        case Fresh(remark):
            return TakeoverRow(partition, remote, None, None, "begins", remark or "")
        case Inherited(last, resume, checked, remarks):
            how: How = "compared" if checked else "not compared"
            return TakeoverRow(partition, remote, last, resume, how, "; ".join(remarks))
        case Refused(last, problem):
            return TakeoverRow(partition, remote, last, None, "refused", problem)
        case Postponed(reason):
            return TakeoverRow(partition, remote, None, None, "postponed", reason)
        case _:
            assert_never(decision)
