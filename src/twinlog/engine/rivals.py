"""Two engines of one link: which of them runs, and when the link is free again. Runs in the service's loop.

    a later engine signed in          ─▶ superseded: the earlier one writes nothing more (R10)
    … and that one stopped or is dead ─▶ free: an engine that stands by signs in again (R9)

Dead is an engine whose process is gone from this machine, or of which nothing was heard for a while by our own clock:
the clock of its machine may be wrong.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from twinlog.errors import ClusterError
from twinlog.ledger.view import LedgerView
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.ledger.records import ENGINE_DEAD_MS, ROSTER_PARTITION, Engine
from twinlog.wire.connection import Cluster

log = logging.getLogger("twinlog.engine")

HEARTBEAT_SECONDS: Final = 2.0
"""How often an engine writes its record."""
RIVAL_SECONDS: Final = 1.0
"""How often it is looked whether another engine still has the link."""
_LISTEN_WITHIN_S: Final = 10.0
_MISSED_S: Final = HEARTBEAT_SECONDS + 5.0
"""Long enough to hear a living engine once, also one of an older version, which speaks every 5 s."""


@dataclass
class Rival:
    """The engine that has the link now, as another engine of the same link hears of it."""

    engine: Engine
    heard: bool = False  # it said something since we listen: it lives
    _heard_s: float = field(default_factory=lambda: time.monotonic())  # noqa: PLW0108 - a test replaces the clock
    _limit_s: float = 0.0

    def __post_init__(self) -> None:
        # A record that is old by its own clock may be of a machine whose clock is wrong: one heartbeat is waited for.
        old = SYSTEM_CLOCK.now_ms() - self.engine.at_ms > ENGINE_DEAD_MS
        self._limit_s = _MISSED_S if old else ENGINE_DEAD_MS / 1000

    def hear(self, engine: Engine) -> bool:
        """Take its newest record; tells whether it says something new: then it lives."""
        new = (engine.engine_id, engine.at_ms, engine.phase) != (
            self.engine.engine_id,
            self.engine.at_ms,
            self.engine.phase,
        )
        if new:
            self.heard, self.engine = True, engine
            self._heard_s, self._limit_s = time.monotonic(), ENGINE_DEAD_MS / 1000
        return new

    def unheard(self) -> None:
        """The ledger could not be read: its silence does not count."""
        self._heard_s = time.monotonic()

    @property
    def gone(self) -> bool:
        """Whether it has ended, or must be dead."""
        if has_ended(self.engine):
            return True
        return time.monotonic() - self._heard_s > self._limit_s

    def says(self, link: str) -> str:
        """Who has the link, since when, and how it comes back."""
        since = self.engine.since_ms or self.engine.at_ms
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(since / 1000))
        return (
            f"{name_of(self.engine)} has run this link since {at}. This service waits, and continues by itself when "
            f"that engine ends. To take the link back now: `twinlog link restart '{link}'`"
        )


class RivalListener:
    """Reads the ledger for what is new of a rival."""

    def __init__(self, rival: Rival, target: Cluster, source: str) -> None:
        self._rival, self._target, self._source = rival, target, source
        self._view = LedgerView({ROSTER_PARTITION: 0})

    async def listen(self) -> None:
        """Once. While the ledger cannot be read the silence of the rival proves nothing."""
        try:
            async with asyncio.timeout(_LISTEN_WITHIN_S):
                await self._view.catch_up(self._target, self._source)
        except (TimeoutError, ClusterError) as error:
            self._rival.unheard()
            log.warning("waiting for %s: %s", name_of(self._rival.engine), str(error) or "the ledger does not answer")
        if self._view.engine is not None:
            self._rival.hear(self._view.engine)


def name_of(engine: Engine) -> str:
    """An engine for people."""
    return f"the engine on {engine.host} (pid {engine.pid})"


def is_own(engine: Engine, service: str) -> bool:
    """Whether a record is of this process, of its service, or of a process that had our place before us."""
    same_process = (engine.host, engine.pid) == (socket.gethostname(), os.getpid())
    return same_process or (bool(service) and engine.service == service)


def has_ended(engine: Engine) -> bool:
    """Whether an engine has signed out, or its process is gone from this machine."""
    if engine.phase in {"stopped", "switched"}:
        return True
    return engine.host == socket.gethostname() and not _process_lives(engine.pid)


def _process_lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # of somebody else, but there
    try:
        # A process that was killed and not yet collected by its parent does nothing any more.
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return True  # no /proc here
