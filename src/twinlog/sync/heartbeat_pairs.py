"""Heartbeats of pairs that are no links, as MirrorMaker 2 writes them. Runs in the service's loop, beside the engines.

With A->B alone, B->A is such a pair: its heartbeats go to A, the link carries them to B, and so B knows that A lives.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Final

from twinlog.config.settings import HeartbeatPair
from twinlog.errors import TwinlogError
from twinlog.kafka.admin import ClusterAdmin
from twinlog.model.backoff import Backoff
from twinlog.sync.heartbeats import Pulse

log = logging.getLogger("twinlog.heartbeats")

_LONGEST_PAUSE_S: Final = 60.0


class HeartbeatPairs:
    """The pairs that beat now. There is no ledger to note their trouble in: it is logged, once, and when it is over."""

    def __init__(self) -> None:
        self._beating: dict[HeartbeatPair, asyncio.Task[None]] = {}

    async def become(self, pairs: Iterable[HeartbeatPair]) -> None:
        """Let these beat and no others; those that are equal continue."""
        wanted = list(pairs)
        gone = [self._beating.pop(pair) for pair in list(self._beating) if pair not in wanted]
        for task in gone:
            task.cancel()
        await asyncio.gather(*gone, return_exceptions=True)
        for pair in wanted:
            if pair not in self._beating:
                self._beating[pair] = asyncio.create_task(_keep_beating(pair))


async def _keep_beating(pair: HeartbeatPair) -> None:
    pulse = Pulse(pair, ClusterAdmin(pair.target_admin))
    backoff, told = Backoff(min(max(1.0, pair.seconds * 2), _LONGEST_PAUSE_S), _LONGEST_PAUSE_S), ""
    try:
        while True:
            try:
                trouble = await pulse.beat() or ""
            except (TwinlogError, TimeoutError) as error:
                trouble = str(error) or type(error).__name__
            except Exception as error:  # a mistake of ours ends neither the heartbeats nor the links
                log.exception("%s", pair.name)
                trouble = f"unexpected: {type(error).__name__}; the log says more"
            if trouble and trouble != told:
                log.warning("%s: heartbeats: %s", pair.name, trouble)
            elif told and not trouble:
                log.info("%s: heartbeats: recovered", pair.name)
            told = trouble
            if not trouble:
                backoff.reset()
            await asyncio.sleep(backoff.next_s() if trouble else pair.seconds)
    finally:
        await pulse.close()
