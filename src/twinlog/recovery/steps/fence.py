"""Steps that shut a side to producers, let the link in, or open the side again."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Final

from twinlog.errors import ClusterError, SwitchStopped
from twinlog.model.counted import counted
from twinlog.model.selection import replicates
from twinlog.model.switch.facts import (
    Admitted,
    FenceFacts,
    FenceNote,
    OldFence,
    SourceFence,
    SourceOpened,
    TargetFence,
)
from twinlog.model.switch.log import Copying
from twinlog.recovery.context import ShutByUs, StepResult, SwitchContext
from twinlog.recovery.fencing import Fence
from twinlog.recovery.proof import Deadline
from twinlog.recovery.side_fences import note_and_read, source_fence, target_fence
from twinlog.recovery.standstill import await_followed, stop_and_prove
from twinlog.recovery.steps.schemas_ahead import admit_schemas
from twinlog.recovery.topics import source_topics, target_topics

_LOOKS: Final = 5
_OLD_WITHIN_S: Final = 10.0
"""How long an old primary that half answers may hold an unplanned failover up."""


async def fence_source(ctx: SwitchContext) -> StepResult:
    """Shut the source and prove that it stands still."""
    return await _shut(ctx, SourceFence, await source_fence(ctx), await source_topics(ctx), ctx.timeout_s)


async def _fence_and_look_again(ctx: SwitchContext) -> StepResult:
    """Shut the source while its link drains, with every topic that the link selects: also the newest one.

    A fence cannot keep anybody from creating a topic, so the source is asked again when all known topics are shut.
    """
    for _ in range(_LOOKS):
        await _let_engine_see(ctx, await _unseen_topics(ctx))
        shut = await fence_source(ctx)
        new = await _unseen_topics(ctx)
        if not new:
            return shut
    reason = f"topics are created faster than they are shut; the last one is {new[0]}"
    raise SwitchStopped(ctx.link.name, "fence-source", reason, "Stop who creates topics, then resume.")


async def _unseen_topics(ctx: SwitchContext) -> list[str]:
    """Topics of the source that the link selects and no engine has seen yet."""
    link = ctx.link
    if not link.copies.refresh_enabled:
        return []  # new topics are not mirrored while the engine runs: that is what the settings say
    there = await asyncio.to_thread(ctx.source.list_topics)
    known = (await ctx.ledger(link)).roster
    return sorted(
        name
        for name in there
        if name not in known and replicates(name, link.source, link.target, link.topics, link.naming)
    )


async def _let_engine_see(ctx: SwitchContext, topics: Collection[str]) -> None:
    """Let the engine look at the topics of the source: it does so for each decision that it obeys while it drains."""
    if not topics:
        return
    ctx.say(f"newer than the engine's last look: {counted(len(topics), 'topic')}")
    state = await ctx.journal.decide("topics are new on the source", links={ctx.link.name: "draining"})
    await await_followed(ctx, "fence-source", ctx.link, state.generation)
    known = (await ctx.ledger(ctx.link)).roster
    missing = [topic for topic in topics if topic not in known or known[topic].problem is not None]
    if missing:
        problem = known[missing[0]].problem if missing[0] in known else None
        why = problem.says if problem is not None else f"the engine does not copy {missing[0]}"
        way = "`twinlog status` says why. Exclude the topic or help it, then resume."
        raise SwitchStopped(ctx.link.name, "fence-source", why, way)


async def fence_any_source(ctx: SwitchContext) -> StepResult:
    """Shut the source: of a failover, while its link drains; of a failback, before anything else is done with it."""
    if ctx.journal.switch.claim.command.startswith("failover"):
        return await _fence_and_look_again(ctx)
    held: dict[str, Copying] = {ctx.link.name: "held", ctx.back.name: "held"}
    state = await ctx.journal.decide(f"a failback to {ctx.link.source} begins", links=held)
    await stop_and_prove(ctx, "fence-source", ctx.back, state.generation)
    return await fence_source(ctx)


async def fence_target(ctx: SwitchContext) -> StepResult:
    """Shut the target and prove that it stands still; the switch's own engines are still allowed in by name."""
    return await _shut(ctx, TargetFence, await target_fence(ctx), await target_topics(ctx), ctx.timeout_s)


async def fence_old(ctx: SwitchContext) -> StepResult:
    """Shut an old primary if it answers; otherwise note that it is to be shut when it returns."""
    trouble = await ctx.reachable(ctx.source, _OLD_WITHIN_S / 2)
    if trouble is None:
        try:
            async with asyncio.timeout(_OLD_WITHIN_S):
                fence, topics = await source_fence(ctx), await source_topics(ctx)
                return await _shut(ctx, OldFence, fence, topics, _OLD_WITHIN_S / 2)
        except TimeoutError:
            trouble = f"it did not stand still within {_OLD_WITHIN_S:.0f} s"
        except (ClusterError, SwitchStopped) as error:
            trouble = str(error) or type(error).__name__
    if ctx.link.switch.fence == "none":
        unshut = OldFence(pending=False, why=trouble)
        return StepResult(f"{ctx.link.source} is not shut: switch.fence = none", unshut)
    why = f"{ctx.link.source} is lost"
    await ctx.journal.decide(why, fence_on_return={ctx.link.source: ctx.link.switch.fence})
    return StepResult(
        f"{ctx.link.source} could not be closed ({trouble}); when it returns, it is closed before anything else",
        OldFence(pending=True, why=trouble),
    )


async def _shut(
    ctx: SwitchContext, kind: type[FenceFacts], fence: Fence, topics: list[str], within_s: float
) -> StepResult:
    cluster = fence.admin.cluster
    keeps = kind is not TargetFence and ctx.journal.switch.claim.command != "failover-planned"
    noted = await note_and_read(ctx, fence, topics, keeps=keeps)
    ctx.shut[cluster] = ShutByUs(fence, tuple(topics), noted)
    ends = await fence.shut(topics, Deadline(ctx.link.name, kind.step, within_s), noted, ctx.journal.prove_owner)
    await ctx.journal.decide(f"{cluster} is shut", fence_on_return=_without(ctx, cluster))
    kept = "; they keep everything until a failback" if noted.kept is not None else ""
    says = f"{counted(len(topics), 'topic')} of {cluster} shut ({fence.means}), standing still{kept}"
    return StepResult(says, kind(ends=ends, means=fence.means))


async def undo_if_lifted(ctx: SwitchContext) -> None:
    """Lift what this process shut after somebody else had ended the switch and lifted the fence (R10).

    Between the question whether the switch is ours and the change lies a moment; a process can be frozen in it.
    """
    await ctx.journal.home.catch_up()
    for cluster, shut in ctx.shut.items():
        if cluster not in ctx.journal.log.fenced:
            await shut.fence.lift(list(shut.topics), shut.noted)


def _without(ctx: SwitchContext, cluster: str) -> dict[str, str]:
    state = ctx.journal.state
    return {} if state is None else {name: how for name, how in state.fence_on_return.items() if name != cluster}


async def admit(ctx: SwitchContext) -> StepResult:
    """Let the way back write into the source while producers stay out."""
    return StepResult(await admit_back(ctx), Admitted())


async def admit_back(ctx: SwitchContext) -> str:
    """Let the way back in, where it writes into the topics that are shut."""
    if not ctx.link.naming.keeps_names:
        await admit_schemas(ctx)
        return f"the way back writes into topics of its own: those of the producers on {ctx.link.source} stay shut"
    fence = await source_fence(ctx)
    return await fence.admit_link(await source_topics(ctx), ctx.noted(ctx.link.source) or FenceNote())


async def open_source(ctx: SwitchContext) -> StepResult:
    """Give the source back to its producers."""
    noted, topics = ctx.noted(ctx.link.source), await source_topics(ctx)
    if noted is not None:
        await (await source_fence(ctx)).lift(topics, noted)
        await ctx.journal.note_lifted(ctx.link.source)
    return StepResult(f"{counted(len(topics), 'topic')} of {ctx.link.source} open to records again", SourceOpened())


async def open_target_for_link(ctx: SwitchContext) -> str:
    """After a failback the target belongs to the link again: it may write, others as far as can be kept out not.

    Where the file enables the way back, records are born there too and are carried: it is opened to its producers.
    """
    noted = ctx.noted(ctx.link.target)
    if noted is None:
        return "it was opened before"
    fence, topics = await target_fence(ctx), noted.topics
    if ctx.pair.back_enabled:
        await fence.lift(topics, noted)
        await ctx.journal.note_lifted(ctx.link.target)
        return f"open to its producers, for {ctx.back.name} carries what they write"
    says = await fence.admit_link(topics, noted)
    if fence.means == "topic-config":
        await ctx.journal.note_lifted(ctx.link.target)
    return says
