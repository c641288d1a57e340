"""Whose engine copies during a failback: the running service's where there is one, else one of the switch's own.

An engine of the switch's own starts a second Spark, which takes long while producers of the other side keep writing.
The service's engine only needs to be told. It copies records and leaves everything else alone (`draining`); for a full
failback it also copies what came from the other side (`draining-all`).
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

from twinlog.config.settings import LinkSettings
from twinlog.model.switch.log import Copying
from twinlog.recovery.context import SwitchContext
from twinlog.recovery.standstill import stop_and_prove

_SERVICE_WITHIN_S: Final = 15.0
"""An engine that is held says nothing: whether there is one is seen when it is let go."""
_LOOK_S: Final = 0.25


async def let_copy(ctx: SwitchContext, link: LinkSettings, *, whole: bool = False) -> str:
    """Let a link copy; returns whose engine does it. `whole`: also what came from the link's target."""
    if not ctx.engines.runs(link.name):
        if _in_the_file(ctx, link) and await _service_copies(ctx, link, "draining-all" if whole else "draining"):
            return "the service's engine"
        await ctx.journal.decide(f"the switch copies {link.name}", links={link.name: "by-switch"})
        ctx.say(f"starting an engine for {link.name}")
        await ctx.engines.start([link.carrying_all() if whole else link])
    return "an engine of the switch"


def _in_the_file(ctx: SwitchContext, link: LinkSettings) -> bool:
    return link.name == ctx.link.name or ctx.pair.back_enabled


async def _service_copies(ctx: SwitchContext, link: LinkSettings, mode: Copying) -> bool:
    state = await ctx.journal.decide(f"a failback copies {link.name}", links={link.name: mode})
    ctx.say(f"asking the service to copy {link.name}")
    deadline = time.monotonic() + _SERVICE_WITHIN_S
    while time.monotonic() < deadline:
        engine = (await ctx.ledger(link)).engine
        if engine is not None and engine.phase == "running" and engine.heeded >= state.generation:
            return True
        await asyncio.sleep(_LOOK_S)
    return False


async def let_stop(ctx: SwitchContext, step: str, link: LinkSettings, why: str) -> None:
    """Stop whoever copies a link, and see it stand still."""
    await ctx.engines.stop(link.name)
    state = await ctx.journal.decide(why, links={link.name: "held"})
    await stop_and_prove(ctx, step, link, state.generation)
