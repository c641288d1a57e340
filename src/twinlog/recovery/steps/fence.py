"""Steps that shut a side to producers, let the link in, or open the side again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Final

from twinlog.config.settings import LinkSettings
from twinlog.errors import ClusterError, SwitchStopped
from twinlog.kafka.admin import ClusterAdmin
from twinlog.model.selection import replicates
from twinlog.model.switch.log import Copying
from twinlog.model.switch.plan import Means
from twinlog.recovery.context import ShutByUs, StepResult, SwitchContext
from twinlog.recovery.fencing import Fence, choose_means
from twinlog.recovery.offsets import ends_as_lists
from twinlog.recovery.proof import Patience
from twinlog.recovery.standstill import await_heeded, stop_and_prove
from twinlog.wire.connection import ConnectionTrouble

_LOOKS: Final = 5
_OLD_WITHIN_S: Final = 10.0
"""How long an old primary that half answers may hold an unplanned failover up."""


async def source_fence(ctx: SwitchContext) -> Fence:
    """The fence around the source: what may write there is the way back."""
    return await _fence(ctx, ctx.source, ctx.back, source_topics)


async def target_fence(ctx: SwitchContext) -> Fence:
    """The fence around the target."""
    return await _fence(ctx, ctx.target, ctx.link, target_topics)


async def _fence(
    ctx: SwitchContext, admin: ClusterAdmin, into: LinkSettings, topics: Callable[[SwitchContext], Awaitable[list[str]]]
) -> Fence:
    """As the cluster was shut, if it is; otherwise as it is to be shut."""
    means: Means | None = noted_of(ctx, admin.cluster).get("means")
    if means is None:
        means, _ = await choose_means(admin, into, ctx.link.switch, await topics(ctx))
    return Fence.around(admin, into, ctx.link.switch, means)


async def source_topics(ctx: SwitchContext) -> list[str]:
    """The mirrored topics, as the source calls them. Heartbeats are nobody's data: they may go on, and be lost."""
    return sorted(topic for topic in (await ctx.ledger(ctx.link)).roster if not ctx.link.naming.is_heartbeats(topic))


async def target_topics(ctx: SwitchContext) -> list[str]:
    """Topics of the target that producers write to while it is active: the copies, and their originals' names."""
    roster = (await ctx.ledger(ctx.link)).roster
    names = await source_topics(ctx)
    there = {roster[name].remote for name in names}
    if not ctx.link.naming.keeps_names:
        there |= set(names)
    return sorted(there)


async def fence_source(ctx: SwitchContext) -> StepResult:
    """Shut the source and prove that it stands still."""
    return await _shut(ctx, "fence-source", await source_fence(ctx), await source_topics(ctx), ctx.timeout_s)


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
    if not link.refresh_topics_enabled:
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
    ctx.say(f"{len(topics)} topics are newer than the engine's last look")
    state = await ctx.journal.decide("topics are new on the source", links={ctx.link.name: "draining"})
    await await_heeded(ctx, "fence-source", ctx.link, state.generation)
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
    return await _shut(ctx, "fence-target", await target_fence(ctx), await target_topics(ctx), ctx.timeout_s)


async def fence_old(ctx: SwitchContext) -> StepResult:
    """Shut an old primary if it answers; otherwise note that it is to be shut when it returns."""
    trouble = await ctx.reachable(ctx.source, _OLD_WITHIN_S / 2)
    if trouble is None:
        try:
            async with asyncio.timeout(_OLD_WITHIN_S):
                fence, topics = await source_fence(ctx), await source_topics(ctx)
                return await _shut(ctx, "fence-old", fence, topics, _OLD_WITHIN_S / 2)
        except TimeoutError:
            trouble = f"it did not stand still within {_OLD_WITHIN_S:.0f} s"
        except (ClusterError, SwitchStopped, *ConnectionTrouble) as error:
            trouble = str(error) or type(error).__name__
    if ctx.link.switch.fence == "none":
        return StepResult(f"{ctx.link.source} is not shut: switch.fence = none", {"pending": False, "why": trouble})
    why = f"{ctx.link.source} is lost"
    await ctx.journal.decide(why, fence_on_return={ctx.link.source: ctx.link.switch.fence})
    return StepResult(
        f"{ctx.link.source} could not be shut ({trouble}); it is shut first of all when it comes back",
        {"pending": True, "why": trouble},
    )


async def _shut(ctx: SwitchContext, step: str, fence: Fence, topics: list[str], within_s: float) -> StepResult:
    cluster = fence.admin.cluster
    new = [topic for topic in topics if topic not in noted_of(ctx, cluster).get("topics", ())]
    if new or cluster not in ctx.journal.log.fenced:
        # Written down first: after a crash what is there now would be taken for what was there before.
        await ctx.journal.note_fence(cluster, await fence_facts(fence, new, keeps=_keeps(ctx, step)))
    noted = noted_of(ctx, cluster)
    ctx.shut[cluster] = ShutByUs(fence, tuple(topics), noted)
    ends = await fence.shut(topics, Patience(ctx.link.name, step, within_s), noted, ctx.journal.prove_owner)
    await ctx.journal.decide(f"{cluster} is shut", fence_on_return=_without(ctx, cluster))
    kept = "; they keep everything until a failback" if "kept" in noted else ""
    says = f"{len(topics)} topics of {cluster} are shut ({fence.means}) and stand still{kept}"
    return StepResult(says, {"ends": ends_as_lists(ends), "means": fence.means})


def _keeps(ctx: SwitchContext, step: str) -> bool:
    """Whether the retention guard is part of the fence: where the source may hold what nobody copied."""
    planned = ctx.journal.switch.claim.command == "failover-planned"
    return step in {"fence-old", "fence-source"} and not planned


async def fence_facts(fence: Fence, topics: list[str], *, keeps: bool) -> dict[str, Any]:
    """What must be known to open a cluster again: how it is shut, and what it was like before."""
    keeps = keeps and fence.means != "none"
    return {"topics": topics, "means": fence.means, **await fence.former(topics, keeps=keeps)}


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
    return StepResult(await admit_back(ctx), {})


async def admit_back(ctx: SwitchContext) -> str:
    """Let the way back in, where it writes into the topics that are shut."""
    if not ctx.link.naming.keeps_names:
        return f"the way back writes into topics of its own: those of the producers on {ctx.link.source} stay shut"
    fence = await source_fence(ctx)
    return await fence.admit_link(await source_topics(ctx), noted_of(ctx, ctx.link.source))


async def open_source(ctx: SwitchContext) -> StepResult:
    """Give the source back to its producers."""
    noted, topics = noted_of(ctx, ctx.link.source), await source_topics(ctx)
    if noted:
        await (await source_fence(ctx)).lift(topics, noted)
        await ctx.journal.note_lifted(ctx.link.source)
    return StepResult(f"{len(topics)} topics of {ctx.link.source} take records again", {})


async def open_target_for_link(ctx: SwitchContext) -> str:
    """After a failback the target belongs to the link again: it may write, others as far as can be kept out not.

    Where the file enables the way back, records are born there too and are carried: it is opened to its producers.
    """
    noted = noted_of(ctx, ctx.link.target)
    if not noted:
        return "it was opened before"
    fence, topics = await target_fence(ctx), list(noted.get("topics", ()))
    if ctx.pair.back_enabled:
        await fence.lift(topics, noted)
        await ctx.journal.note_lifted(ctx.link.target)
        return f"open to its producers, for {ctx.back.name} carries what they write"
    says = await fence.admit_link(topics, noted)
    if fence.means == "topic-config":
        await ctx.journal.note_lifted(ctx.link.target)
    return says


def noted_of(ctx: SwitchContext, cluster: str) -> Mapping[str, Any]:
    """What a cluster was like before it was shut."""
    return ctx.journal.log.fenced.get(cluster, {})
