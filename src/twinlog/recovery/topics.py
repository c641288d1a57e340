"""Which topics a switch is about. Runs in the command that switches, and in the guard; changes nothing."""

from __future__ import annotations

from twinlog.recovery.context import SwitchContext


async def source_topics(ctx: SwitchContext) -> list[str]:
    """The mirrored topics, as the source calls them. Heartbeats are nobody's data: they may continue, and be lost."""
    return sorted(topic for topic in (await ctx.ledger(ctx.link)).roster if not ctx.link.naming.is_heartbeats(topic))


async def with_registry(ctx: SwitchContext) -> bool:
    """Whether the link mirrors a schema registry. Its topics are shut like others, and merged, not copied back."""
    registry = ctx.link.registry
    return registry.mirrored and registry.topic in (await ctx.ledger(ctx.link)).roster


def merged_topics(ctx: SwitchContext) -> tuple[str, ...]:
    """Topics that no step copies, deletes or exports: the schemas in them are merged."""
    return ctx.link.registry.topics if ctx.link.registry.mirrored else ()


async def target_topics(ctx: SwitchContext) -> list[str]:
    """Topics of the target that producers write to while it is active: the copies, and their originals' names."""
    names = await source_topics(ctx)
    roster = (await ctx.ledger(ctx.link)).roster
    there = {roster[name].remote for name in names}
    if not ctx.link.naming.keeps_names:
        there |= set(names)
    return sorted(there)
