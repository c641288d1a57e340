"""Records where only a link should have written: named, because no plan expects them (R7).

Runs in the command that switches, while both sides stand still. Who wrote a batch is told by its producer id, and only
what the link's map does not cover is read: little, however much was copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from twinlog.ledger.view import LedgerView
from twinlog.model.ledger.runs import Run, uncovered
from twinlog.model.names import TopicPartition
from twinlog.model.switch.facts import LinkStopped, SourceFence, TargetFence, Wiped
from twinlog.recovery.context import SwitchContext
from twinlog.recovery.tail import TailReader
from twinlog.wire.offset_lists import fetch_offsets
from twinlog.wire.offsets import LATEST

_ANSWER_WITHIN_S: Final = 5.0


@dataclass(frozen=True)
class Strays:
    """What others wrote into one partition: the first of them, and how many."""

    first: int
    records: int


async def strays_in_copies(ctx: SwitchContext) -> dict[TopicPartition, Strays]:
    """What producers wrote into copies while the target was active, where copies have names of their own.

    Applications ought to write under the original name there; what they wrote into a copy is not copied back.
    """
    if ctx.link.naming.keeps_names:
        return {}
    reader = TailReader(ctx.at_target, ctx.link.name)
    await reader.prepare()
    view = await ctx.ledger(ctx.link)
    ends = ctx.ends(TargetFence)
    cut = (ctx.earlier(LinkStopped) or LinkStopped()).cut
    strays: dict[TopicPartition, Strays] = {}
    for topic, rows in cut.items():
        if topic in ctx.link.registry.topics:
            continue  # the registry of the target wrote there; that is merged
        for number, (_, first) in enumerate(rows):
            copy = TopicPartition(ctx.link.naming.remote(ctx.link.source, topic), number)
            runs = runs_of(view, TopicPartition(topic, number))
            await _note(reader, copy, uncovered(runs, first, ends.get(copy, first)), strays)
    return strays


async def strays_on_source(ctx: SwitchContext) -> dict[TopicPartition, Strays]:
    """What was written to the old primary while a failback copied into it, where its fence was opened for that."""
    fence = ctx.find(SourceFence)
    if not ctx.link.naming.keeps_names or (fence is not None and fence.means == "acl"):
        return {}
    reader = TailReader(ctx.at_source, ctx.back.name)
    await reader.prepare()
    view = await ctx.ledger(ctx.back)
    since = ctx.ends(SourceFence)
    if ctx.find(Wiped) is not None:
        since = dict.fromkeys(since, 0)
    there = {partition: first for partition, first in since.items() if partition.topic in view.roster}
    ends = await fetch_offsets(ctx.at_source, there, LATEST, within_s=_ANSWER_WITHIN_S)
    strays: dict[TopicPartition, Strays] = {}
    for partition, first in there.items():
        end = ends[partition]
        if isinstance(end, int):  # one that does not answer took no record either; the forced stop names it
            await _note(reader, partition, uncovered(runs_of(view, partition), first, end), strays)
    return strays


async def _note(
    reader: TailReader,
    partition: TopicPartition,
    gaps: Sequence[tuple[int, int]],
    strays: dict[TopicPartition, Strays],
) -> None:
    offsets = [record.offset for gap in gaps async for record in reader.records(partition, *gap, 0)]
    if offsets:
        strays[partition] = Strays(offsets[0], len(offsets))


def runs_of(view: LedgerView, partition: TopicPartition) -> Iterator[Run]:
    """The map of a partition: what its link wrote, in the order of the target's offsets."""
    known = view.map_of(partition)
    return known.runs() if known is not None else iter(())
