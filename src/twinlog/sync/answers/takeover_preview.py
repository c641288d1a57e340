"""What a link would go on from if it started now, for `twinlog import mm2`. Runs in the command; writes nothing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never

from twinlog.ledger.reading import look_at_ledger
from twinlog.model.mirrormaker.takeover_decision import Decision, Fresh, Inherited, Postponed, Refused
from twinlog.model.names import TopicPartition
from twinlog.model.selection import replicates
from twinlog.model.topics.target_topics import TopicFacts
from twinlog.sync.ends import LinkEnds
from twinlog.sync.mirrormaker_takeover import MirrorMakerTakeover

How: TypeAlias = Literal["mirrored", "compared", "not compared", "begins", "refused", "postponed"]


@dataclass(frozen=True)
class TakeoverRow:
    """One source partition: what MirrorMaker 2 noted, where copying starts, and how that is known."""

    partition: TopicPartition
    remote: str
    noted: int | None
    starts_at: int | None  # None: by start.from, or not at all
    how: How
    why: str = ""


async def preview_takeover(
    ends: LinkEnds, *, offsets_topic: str | None = None, connector: str | None = None
) -> list[TakeoverRow]:
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
    for partition, decision in decisions.items():
        rows.append(_row(partition, link.naming.remote(link.source, partition.topic), decision))
    return sorted(rows, key=lambda row: row.partition)


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
