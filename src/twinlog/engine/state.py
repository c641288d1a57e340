"""What an engine does at the moment, and the record of it in the ledger. Runs in the engine.

Every trouble is visible (`phase`, `trouble`). Whoever asks the engine for its end, or takes its link, sets it here.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import uuid
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from twinlog.config.settings import LinkSettings
from twinlog.engine.query_run import QueryRun
from twinlog.engine.rivals import Rival, name_of
from twinlog.engine.roster_cycle import RosterCycle
from twinlog.ledger.view import LedgerView
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.ledger.records import Engine
from twinlog.model.names import LinkName
from twinlog.model.switch.log import pair_of

log = logging.getLogger("twinlog.engine")

Phase: TypeAlias = Literal["starting", "running", "waiting", "switched", "superseded", "stopped"]


@dataclass
class EngineState:
    """The state of one engine. `stands_by`: it waits for the end of an engine that took its link."""

    link: LinkSettings
    roster: RosterCycle
    query: QueryRun
    stands_by: bool = False
    service: str = ""
    phase: Phase = "starting"
    trouble: str | None = None
    view: LedgerView | None = None
    engine_id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    generation: int = -1
    since_ms: int = 0
    took_from: str = ""
    heeded: int = 0
    rival: Rival | None = None  # who has the link instead of us
    signed_out: bool = False  # by a switch: what we do needs a new generation
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def over(self) -> bool:
        """Whether nothing more is to be copied, for now or for good."""
        return self.stopping.is_set() or self.rival is not None or self.signed_out

    @property
    def pair(self) -> str:
        """The pair of clusters, as switches name it."""
        return pair_of(LinkName(self.link.source, self.link.target))

    def enter(self, phase: Phase, trouble: str | None = None) -> None:
        """Enter another phase. Superseded is the last one: no later phase replaces it (R10)."""
        if self.phase != "superseded":
            self.phase, self.trouble = phase, trouble

    def say(self, trouble: str | None) -> None:
        """The trouble of the present phase. Work that ends late must not hide who has the link (R14)."""
        self.enter(self.phase, trouble)

    def give_way(self, engine: Engine) -> None:
        """Another engine has the link: nothing more is written (R10)."""
        self.rival = Rival(engine)
        self.phase = "superseded"
        self.trouble = self.rival.says(self.link.name) if self.stands_by else f"{name_of(engine)} took over"
        log.warning("%s: superseded: %s", self.link.name, self.trouble)
        if not self.stands_by:
            self.stopping.set()

    def begin_anew(self) -> None:
        """The engine that had the link has ended: sign in as another engine."""
        self.rival, self.engine_id, self.generation = None, uuid.uuid4().hex[:12], -1
        self.phase, self.trouble = "starting", None

    async def pause(self, seconds: float) -> None:
        """Wait, unless the end is asked for."""
        try:
            async with asyncio.timeout(seconds):
                await self.stopping.wait()
        except TimeoutError:
            return

    def record(self, phase: Any, generation: int | None) -> Engine:
        """What the ledger is told about this engine."""
        return Engine(
            engine_id=self.engine_id,
            generation=generation,
            host=socket.gethostname(),
            pid=os.getpid(),
            phase=phase,
            replan=self.roster.replan,
            trouble=self.trouble,
            heeded=self.heeded,
            shut_out=self.view.shut_out(self.pair) if self.view is not None else 0,
            shut_out_pair=self.pair,
            epochs=self.query.epochs,
            epochs_failed=self.query.epochs_failed,
            service=self.service,
            since_ms=self.since_ms,
            took_from=self.took_from,
            at_ms=SYSTEM_CLOCK.now_ms(),
        )
