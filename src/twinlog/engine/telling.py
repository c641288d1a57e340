"""Notes of an engine in the ledger while nothing is copied: why it waits, why it failed. Runs in the engine.

Who says nothing is taken for dead by others (R9), and an engine that is only silent has no cause (R14).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from typing import Final

from twinlog.engine.rivals import HEARTBEAT_SECONDS
from twinlog.engine.state import EngineState
from twinlog.engine.switch_watch import SwitchWatch
from twinlog.errors import ClusterError, told
from twinlog.ledger.writer import LedgerWriter, roster_writer
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.moments import clock
from twinlog.wire.connection import Cluster

log = logging.getLogger("twinlog.engine")

_TELL_SECONDS: Final = 2.0
_SLOW_START_SECONDS: Final = 20.0
_TICK_S: Final = 0.25


async def tell_why_it_waits(
    state: EngineState, writer: LedgerWriter, watch: SwitchWatch, held: Callable[[], bool]
) -> None:
    """Until cancelled: say that the first steps are under way, and why they wait, for instance for a source (R14).

    Nothing is copied meanwhile, so whatever the switch decides is obeyed.
    """
    said: tuple[str | None, int] = (None, watch.generation)
    again = time.monotonic() + HEARTBEAT_SECONDS
    while True:
        now = (state.trouble, watch.generation)
        if state.phase in {"starting", "waiting"} and (now != said or time.monotonic() >= again):
            said, again = now, time.monotonic() + HEARTBEAT_SECONDS
            state.heeded = watch.generation
            try:
                async with asyncio.timeout(_TELL_SECONDS):
                    await writer.write([state.record("switched" if held() else "starting", state.generation)])
            except (TimeoutError, ClusterError) as error:
                log.warning("%s: could not report why it waits: %s", state.link.name, error)
        await asyncio.sleep(_TICK_S)


async def tell_failure(state: EngineState, target: Cluster, error: Exception) -> None:
    """Say why nothing moves; the engine is about to end (R14)."""
    log.error("%s: the engine failed", state.link.name, exc_info=error)
    state.enter("waiting", told(error))
    if state.generation < 0 or state.phase == "superseded":
        return
    try:
        async with asyncio.timeout(_TELL_SECONDS):
            writer = roster_writer(target, state.link.source, state.link.name)
            await writer.write([state.record("starting", state.generation)])
    except (TimeoutError, ClusterError) as trouble:
        log.warning("%s: the ledger could not be written: %s", state.link.name, trouble)


async def beat_while_starting(state: EngineState, writer: LedgerWriter) -> None:
    """Until cancelled: say that the engine lives. Spark may take its time (R9)."""
    began, since = time.monotonic(), clock(SYSTEM_CLOCK.now_ms())
    while True:
        await asyncio.sleep(HEARTBEAT_SECONDS)
        if time.monotonic() - began > _SLOW_START_SECONDS:
            # The same words each time: the log has them once.
            state.say(f"Spark has been starting the query since {since}; nothing is copied meanwhile")
        with contextlib.suppress(TimeoutError, ClusterError):
            async with asyncio.timeout(_TELL_SECONDS):
                await writer.write([state.record("starting", state.generation)])
