"""Steps that copy what was written on the other side back to the old primary."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final

from twinlog.config.settings import LinkSettings
from twinlog.errors import SwitchStopped
from twinlog.model.counted import counted
from twinlog.model.ledger.records import Engine, PartitionState
from twinlog.model.names import TopicPartition
from twinlog.model.switch.facts import (
    BackStopped,
    CopiedAll,
    CopiedBack,
    DrainedBack,
    LinkStopped,
    SourceFence,
    TargetFence,
    findings_of,
)
from twinlog.recovery.context import StepResult, SwitchContext
from twinlog.recovery.copies import sentences_about
from twinlog.recovery.forced_stop import stop_by_force
from twinlog.recovery.seeding import seed_ledger
from twinlog.recovery.skipping import pass_over_own, skip_tails
from twinlog.recovery.steps.copying import let_copy, let_stop
from twinlog.recovery.steps.engines import cut_of, drain_link
from twinlog.recovery.steps.schemas_ahead import Bring, schemas_ahead
from twinlog.recovery.steps.tail import tail_ends
from twinlog.recovery.strays import strays_in_copies, strays_on_source
from twinlog.recovery.topics import merged_topics
from twinlog.wire.offset_lists import fetch_offsets
from twinlog.wire.offsets import LATEST

NEARLY: Final = 1000
"""Offsets that may be left when producers are shut out: the rest is copied while they wait."""
_ANSWER_WITHIN_S: Final = 5.0


async def copy_back(ctx: SwitchContext) -> StepResult:
    """Copy from the cut on, and append or leave the tail; the other side stays active meanwhile."""
    seeded, findings = await seed_back(ctx)
    shut = ctx.ends(SourceFence) if ctx.link.naming.keeps_names else {}
    ends = {partition: end for partition, end in shut.items() if partition.topic not in merged_topics(ctx)}
    why = f"deleted by retention of {ctx.link.source} before the failback {ctx.journal.switch_id}"
    findings += await pass_over_own(ctx, ctx.link, ctx.back, ends, why)
    tails = tail_ends(ctx)
    appends = bool(tails) and ctx.link.switch.tail == "append"
    bring = await schemas_ahead(ctx)
    await bring()
    who = await let_copy(ctx, ctx.back)
    if appends:
        await let_copy(ctx, ctx.link)
    left = await _await_nearly(ctx, "copy-back", ctx.back, bring)
    said = [f"{ctx.back.name} {begun(ctx, seeded)}, is copied by {who} and is {left} offsets behind"]
    if appends:
        await ctx.wait("copy-back", "the tail is not appended yet", lambda: _left(ctx, tails), lambda gone: not gone)
        await let_stop(ctx, "copy-back", ctx.link, "the tail is appended")
        said.append(f"the tail is appended to {ctx.link.target}; it lies in another order there")
    elif tails:
        why = f"kept on {ctx.link.source} at the failback {ctx.journal.switch_id}; exported"
        skipped = await skip_tails(ctx, ctx.link, tails, why)
        said.append(f"{skipped} offsets of the tail are noted as a gap of {ctx.link.name}")
    return StepResult("; ".join(said), CopiedBack(seeded=tuple(seeded), appended=appends, **findings_of(findings)))


async def seed_back(ctx: SwitchContext) -> tuple[list[str], list[str]]:
    """Let the way back begin at the cut of the failover, where names are the same. Also what is lost there.

    A way back that was used before stands where it stopped then. All between there and the cut came from the source.
    """
    if not ctx.link.naming.keeps_names:
        return [], []  # with prefixes it carries other topics, from their first record
    merged = merged_topics(ctx)
    noted = (ctx.earlier(LinkStopped) or LinkStopped()).cut
    cut = {topic: rows for topic, rows in noted.items() if topic not in merged}
    names = {topic: ctx.link.naming.remote(ctx.link.source, topic) for topic in cut}
    origins = {names[topic]: [row.target for row in rows] for topic, rows in cut.items()}
    seeded = await seed_ledger(ctx, ctx.back, origins)
    upto = {TopicPartition(topic, n): at for topic, offsets in origins.items() for n, at in enumerate(offsets)}
    why = f"deleted by retention of {ctx.link.target} before the failback {ctx.journal.switch_id}"
    return seeded, await pass_over_own(ctx, ctx.back, ctx.link, upto, why)


def begun(ctx: SwitchContext, seeded: Sequence[str]) -> str:
    """Where the way back begins, for the report."""
    if not ctx.link.naming.keeps_names:
        return f"copies topics created on {ctx.link.target}"
    return f"begins at the cut ({counted(len(seeded), 'topic')})" if seeded else "continues where it stopped"


async def _left(ctx: SwitchContext, tails: Mapping[TopicPartition, int]) -> list[str]:
    view = await ctx.ledger(ctx.link)
    reached = {partition: view.states[partition].source_next for partition in tails if partition in view.states}
    return [str(partition) for partition, end in tails.items() if reached.get(partition, 0) < end]


async def copy_all(ctx: SwitchContext) -> StepResult:
    """Copy everything back, also what was born on the side that it goes to."""
    await ctx.journal.decide(f"a full failback copies to {ctx.link.source}", links={ctx.link.name: "held"})
    bring = await schemas_ahead(ctx)
    await bring()
    who = await let_copy(ctx, ctx.back, whole=True)
    left = await _await_nearly(ctx, "copy-all", ctx.back, bring)
    says = f"{ctx.back.name} copies everything, is copied by {who} and is {left} offsets behind"
    return StepResult(says, CopiedAll(full=True))


async def _await_nearly(ctx: SwitchContext, step: str, link: LinkSettings, bring: Bring) -> int:
    """Wait until a link has nearly caught up with its source as it is now, while schemas are brought ahead."""
    cluster = ctx.cluster(link.source)
    committed = link.reading.fetch.isolation == "read_committed"

    async def behind() -> int | str:
        await bring()
        view = await ctx.ledger(link)
        # The roster is what our engine found only once it runs: before, topics that were made meanwhile are not in it.
        if not _copies(ctx, link, view.engine):
            ctx.say_progress(f"waiting for the engine of {link.name} to start")
            return f"the engine of {link.name} does not run yet"
        wanted = [
            TopicPartition(t.topic, n) for t in view.roster.values() if not t.problem for n in range(t.partitions)
        ]
        ends = await fetch_offsets(cluster, wanted, LATEST, committed=committed, within_s=_ANSWER_WITHIN_S)
        for partition, end in ends.items():
            if isinstance(end, str):
                return f"{partition} on {link.source}: {end}"
        left = 0
        for partition, end in ends.items():
            origin = view.roster[partition.topic].origins[partition.partition]
            left += max(0, int(end) - _reached(view.states.get(partition), origin))
        ctx.say_progress(f"waiting for the engine of {link.name} to copy: {left:,} offsets left")
        return left

    left_over: int = await ctx.wait(step, "offsets left", behind, lambda left: isinstance(left, int) and left <= NEARLY)
    return left_over


def _copies(ctx: SwitchContext, link: LinkSettings, engine: Engine | None) -> bool:
    """Whether the engine that was chosen to copy runs by now: ours, or the service's."""
    if engine is None or engine.phase != "running":
        return False
    if ctx.engines.runs(link.name):
        return engine.pid == os.getpid()
    return ctx.journal.state is not None and engine.heeded >= ctx.journal.state.generation


def _reached(state: PartitionState | None, origin: int) -> int:
    return origin if state is None else max(origin, state.source_next)


async def drain_back(ctx: SwitchContext) -> StepResult:
    """Copy what is left; an interrupted switch lets an engine copy again here."""
    await (await schemas_ahead(ctx))()  # the last ones: the target is shut, its registry too
    await let_copy(ctx, ctx.back, whole=ctx.find(CopiedAll) is not None)
    return await drain_link(ctx, DrainedBack(), ctx.back, TargetFence)


async def stop_back(ctx: SwitchContext) -> StepResult:
    """Stop copying and note where both sides end."""
    await ctx.journal.decide(f"a failback to {ctx.link.source} swaps", links={ctx.link.name: "held"})
    await let_stop(ctx, "stop-back", ctx.back, "everything is copied back")
    # One that was killed before may have left writers behind.
    stopped = await stop_by_force(ctx, ctx.back)
    for reason in stopped.unproven.values():
        way = f"Look for partitions without a leader on {ctx.link.source}, then resume."
        raise SwitchStopped(ctx.link.name, "stop-back", reason, way)
    view = await ctx.ledger(ctx.back)
    cut = cut_of(view)
    copies, here = await strays_in_copies(ctx), await strays_on_source(ctx)
    findings = sentences_about(stopped.dead, view, ctx.link.source)
    findings += [
        f"{partition}: others than {ctx.link.name} wrote {counted(stray.records, 'record')} there; the way back "
        f"carries no copies, so {ctx.link.source} does not get them"
        for partition, stray in copies.items()
    ] + [
        f"{partition}: others wrote {counted(stray.records, 'record')} to {ctx.link.source}, from offset {stray.first} "
        f"on, while the failback copied; {ctx.link.name} carries them when it continues"
        for partition, stray in here.items()
    ]
    strays = {partition: stray.first for partition, stray in here.items()}
    facts = BackStopped(cut_back=cut, strays=strays, **findings_of(findings))
    return StepResult(f"{ctx.back.name} stands still ({counted(len(cut), 'topic')})", facts)
