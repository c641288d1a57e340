"""New schemas at the old home before the records that a failback or a reversed link copies there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from twinlog.ledger.writer import roster_writer
from twinlog.recovery.context import SwitchContext
from twinlog.recovery.side_fences import source_fence
from twinlog.recovery.topics import with_registry
from twinlog.registry.pair.ahead import Ahead, Bringing
from twinlog.registry.pair.reading import IndexReader
from twinlog.sync.link_topics import LinkTopics

Bring: TypeAlias = Callable[[], Awaitable[None]]


async def schemas_ahead(ctx: SwitchContext) -> Bring:
    """What brings new schemas to the source once; a step calls it before it lets copy, and again while it waits.

    Sync jobs rest during a failback, so its steps do what the job `registry-ahead` does otherwise.
    """
    if not await with_registry(ctx):
        return _nothing
    registry, back = ctx.link.registry, ctx.back
    readers = IndexReader(ctx.at_target, registry.topic), IndexReader(ctx.at_source, registry.topic)
    bringing = Bringing(*readers, registry.transactional_id)
    await asyncio.to_thread(LinkTopics(back, ctx.admin(back.source), ctx.admin(back.target)).ensure_ledger)
    ledger = roster_writer(ctx.at_source, back.source, back.name)
    last: Ahead | None = None

    async def bring() -> None:
        nonlocal last
        ahead = await bringing.step()
        if ahead is None or ahead == last:
            return
        if ahead.refused is not None and (last is None or last.refused is None):
            ctx.say(f"new schemas of {ctx.link.target} are copied back by the step registry-home only: {ahead.refused}")
        last = ahead
        await ledger.write([ahead.memo])

    return bring


async def admit_schemas(ctx: SwitchContext) -> None:
    """Let the way back write schemas, where it writes its records into topics of its own."""
    if ctx.link.naming.keeps_names or not await with_registry(ctx):
        return
    noted = ctx.noted(ctx.link.source)
    if noted is not None:
        await (await source_fence(ctx)).admit_link([ctx.link.registry.topic], noted)


async def _nothing() -> None:
    """Of a link without a registry."""
