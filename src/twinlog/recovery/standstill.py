"""Seeing that a link's engine obeys the switch, and that a link stands still. Runs in the command that switches."""

from __future__ import annotations

import time
from typing import Final

from twinlog.config.settings import LinkSettings
from twinlog.errors import SwitchStopped
from twinlog.model.health import ENGINE_SILENT_MS
from twinlog.model.ledger import Engine
from twinlog.recovery.context import SwitchContext
from twinlog.recovery.forced_stop import Stopped, stop_by_force

_HEED_WITHIN_S: Final = 20.0
_GONE: Final = frozenset({"stopped", "switched"})


async def stop_and_prove(ctx: SwitchContext, step: str, link: LinkSettings, generation: int) -> tuple[str, Stopped]:
    """See a link stand still: its engine says so, or it is shut out by force. Also what it wrote and did not note."""
    engine = await await_heeded(ctx, step, link, generation, hard=False)
    if engine is not None and engine.phase in _GONE:
        return f"the engine on {engine.host} stopped cleanly", Stopped()
    # Dead, frozen, or cut off: whatever it is, it must not write any more (R10).
    found = await stop_by_force(ctx, link)
    count = sum(found.unnoted.values())
    return f"no engine answered; its writers are shut out by force; {count} records were written but not noted", found


async def await_heeded(
    ctx: SwitchContext, step: str, link: LinkSettings, generation: int, *, hard: bool = True
) -> Engine | None:
    """The engine once it obeys this generation; one that is silent or gone is not waited for."""

    async def look() -> Engine | None:
        return (await ctx.ledger(link)).engine

    def settled(engine: Engine | None) -> bool:
        if engine is None or not alive(engine):
            return True
        stands = ctx.journal.state is not None and ctx.journal.state.links.get(link.name) == "held"
        return engine.heeded >= generation and (not stands or engine.phase in _GONE)

    try:
        engine: Engine | None = await ctx.wait(
            step, f"the engine of {link.name} to obey", look, settled, _HEED_WITHIN_S
        )
    except SwitchStopped as stopped:
        if not hard:
            return None
        way = "Has it the right to read __twinlog-switch on both clusters?"
        raise SwitchStopped(link.name, step, stopped.reason, way) from stopped
    return engine


def alive(engine: Engine) -> bool:
    """Whether an engine works on the link now."""
    return engine.phase not in _GONE and time.time() * 1000 - engine.at_ms < ENGINE_SILENT_MS
