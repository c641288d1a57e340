"""The fence around each side of a pair: by which means it is shut, and what it was like before.

Runs in the command that switches, and in the guard of an old primary.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from twinlog.config.settings import LinkSettings
from twinlog.kafka.admin import ClusterAdmin
from twinlog.model.switch.facts import FenceNote
from twinlog.recovery.context import SwitchContext
from twinlog.recovery.fencing import Fence, choose_means
from twinlog.recovery.topics import source_topics, target_topics


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
    noted = ctx.noted(admin.cluster)
    means = None if noted is None else noted.means
    if means is None:
        means, _ = await choose_means(admin, into, ctx.link.switch, await topics(ctx))
    return Fence.around(admin, into, ctx.link.switch, means)


async def note_and_read(ctx: SwitchContext, fence: Fence, topics: list[str], *, keeps: bool) -> FenceNote:
    """Write down what a cluster is like before it is shut, unless that is noted; returns what is noted.

    Written down first: after a crash what is there then would be taken for what was there before. `keeps` makes the
    retention guard a part of the fence: where the source may hold what nobody copied.
    """
    cluster = fence.admin.cluster
    before = ctx.noted(cluster)
    new = [topic for topic in topics if before is None or topic not in before.topics]
    if new or before is None:
        await ctx.journal.note_fence(cluster, await fence.note(new, keeps=keeps))
    return ctx.noted(cluster) or FenceNote()
