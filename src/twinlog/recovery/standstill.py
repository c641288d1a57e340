"""Waits until a link's engine obeys the switch and the link copies nothing. Runs in the command that switches."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from twinlog.config.settings import LinkSettings
from twinlog.errors import SwitchStopped
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.counted import counted
from twinlog.model.health.pulse import Pulse
from twinlog.model.ledger.records import ENGINE_DEAD_MS, SWITCH_ENGINE, Engine
from twinlog.recovery.context import SwitchContext
from twinlog.recovery.forced_stop import Stopped, stop_by_force

_FOLLOWED_WITHIN_S: Final = 20.0
_WATCH_S: Final = 11.0
"""An engine speaks every 5 s."""
_LOOK_S: Final = 0.5
_GONE: Final = frozenset({"stopped", "switched"})


async def stop_and_prove(ctx: SwitchContext, step: str, link: LinkSettings, generation: int) -> tuple[str, Stopped]:
    """See a link stand still: its engine says so, or it is shut out by force. Also what it wrote and did not note."""
    engine = await await_followed(ctx, step, link, generation, hard=False)
    why = "no engine answered"
    if engine is not None and engine.phase in _GONE and engine.engine_id != SWITCH_ENGINE:
        left_open = await _not_closed(ctx, link)
        if not left_open:
            return f"the engine on {engine.host} stopped cleanly", Stopped()
        # It ran out of time, or gave batches up that may still arrive.
        why = f"the engine on {engine.host} stopped without closing {counted(left_open, 'partition')}"
    # Dead, frozen, or cut off: whatever it is, it must not write any more (R10).
    stopped = await stop_by_force(ctx, link)
    count = sum(stopped.unnoted.values())
    return f"{why}; its writers are shut out by force; written but not noted: {counted(count, 'record')}", stopped


async def _not_closed(ctx: SwitchContext, link: LinkSettings) -> int:
    """How many partitions of a link the ledger does not show as closed."""
    view = await ctx.ledger(link)
    current = {topic.topic: topic.incarnation for topic in view.roster.values()}
    return sum(
        state.phase != "closed" and current.get(partition.topic) == state.incarnation
        for partition, state in view.states.items()
    )


async def await_followed(
    ctx: SwitchContext, step: str, link: LinkSettings, generation: int, *, hard: bool = True
) -> Engine | None:
    """The engine once it obeys this generation, or said good-bye. None for one that does not live.

    Whether it lives is seen from its record, which must change while we look: clocks of hosts differ. An engine that
    may be stopped by force (`hard=False`) is not waited for when its record looks old.
    """
    pulse = Pulse()

    async def look() -> Engine | None:
        engine = (await ctx.ledger(link)).engine
        if engine is not None:
            pulse.hear(_spoken(engine), engine.at_ms, _now_ms(), time.monotonic())
        return engine

    def dead(engine: Engine) -> bool:
        looks_old = _now_ms() - engine.at_ms > ENGINE_DEAD_MS
        return pulse.unmoved_s(time.monotonic()) > _WATCH_S or (not hard and looks_old)

    def settled(engine: Engine | None) -> bool:
        if engine is None or engine.phase in _GONE or dead(engine):
            return True
        stands = ctx.journal.state is not None and ctx.journal.state.links.get(link.name) == "held"
        return engine.heeded >= generation and not stands

    try:
        engine: Engine | None = await ctx.wait(
            step, f"the engine of {link.name} to obey", look, settled, _FOLLOWED_WITHIN_S
        )
    except SwitchStopped as stopped:
        if not hard:
            return None
        way = "Has it the right to read __twinlog-switch on both clusters?"
        raise SwitchStopped(link.name, step, stopped.reason, way) from stopped
    return None if engine is None or (engine.phase not in _GONE and dead(engine)) else engine


async def silent_engine(ctx: SwitchContext, link: LinkSettings, engine: Engine) -> str | None:
    """Why an engine cannot be counted on: it said good-bye, or its record does not change. None while it lives."""
    if engine.phase in _GONE:
        return f"the one on {engine.host} is {engine.phase}"
    if abs(_now_ms() - engine.at_ms) <= ENGINE_DEAD_MS:
        return None
    # Its clock or ours is wrong, or it is dead: an engine that lives speaks every few seconds.
    deadline = time.monotonic() + _WATCH_S
    while time.monotonic() < deadline:
        await asyncio.sleep(_LOOK_S)
        now = (await ctx.ledger(link)).engine
        if now is not None and _spoken(now) != _spoken(engine):
            return None
    return f"the one on {engine.host} is {engine.phase} and did not speak for {_WATCH_S:.0f} s"


def gone(engine: Engine | None) -> bool:
    """Whether no engine works on the link."""
    return engine is None or engine.phase in _GONE


def _spoken(engine: Engine) -> tuple[object, ...]:
    return engine.generation, engine.at_ms, engine.phase


def _now_ms() -> int:
    return SYSTEM_CLOCK.now_ms()
