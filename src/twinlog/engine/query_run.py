"""The streaming query of a link: started, looked at, counted and stopped. Runs in the loop; Spark runs in threads."""

from __future__ import annotations

import asyncio
import shutil
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from twinlog.engine.query_failures import QueryFailures
from twinlog.engine.query_state import cause_of, failure_of, is_active, last_batch, stop_query
from twinlog.engine.query_tasks import DeadTasks
from twinlog.errors import EngineDied
from twinlog.flow.source import LinkRun

_IDLE_SECONDS: Final = 1.0


@dataclass
class QueryRun:
    """The queries of one engine, one after the other."""

    start_query: Callable[[LinkRun, Path], Any]
    folder: Path  # of the checkpoints of this link
    query: Any = None
    was_started: bool = False
    epochs: int = 0  # that came to their end
    epochs_failed: int = 0
    failures: QueryFailures = field(default_factory=QueryFailures)
    dead_tasks: DeadTasks = field(default_factory=DeadTasks)
    _epochs_before: int = 0  # of queries before the present one

    async def start(self, run: LinkRun) -> str | None:
        """Start a query; returns what it failed with. Raises EngineDied."""
        self.was_started = True
        try:
            self.query = await asyncio.to_thread(lambda: self.start_query(run, self._checkpoint()))
        except EngineDied:
            raise
        except Exception as error:  # noqa: BLE001  a disk that is full, whatever Spark raises: tried again (R9)
            return cause_of(str(error) or type(error).__name__)
        return None

    async def look(self, *, count: bool) -> str | None:
        """Return why the query ended, None while it runs; `count` also counts its epochs. Raises EngineDied."""
        try:
            failure = await asyncio.to_thread(failure_of, self.query)
            if count:
                self.epochs = self._epochs_before + 1 + await asyncio.to_thread(last_batch, self.query)
                await asyncio.to_thread(self.dead_tasks.look, self.query, time.monotonic())
        except EngineDied:
            self.query = None  # nothing left to stop
            raise
        return failure

    def fail(self, failure: str) -> float:
        """Forget the query that failed; returns how long to wait before the next one."""
        self.epochs_failed += 1
        self._epochs_before = self.epochs
        self.query = None
        return self.failures.failed(failure, time.monotonic())

    def trouble(self, now: float) -> str | None:
        """What its tasks or the query itself failed with lately."""
        return self.dead_tasks.trouble(now) or self.failures.trouble(now)

    async def last_batch(self) -> int:
        """Return the number of the last epoch that came to its end."""
        return await asyncio.to_thread(last_batch, self.query)

    async def await_end_of_epoch(self, before: int, has_noted: Callable[[], bool]) -> None:
        """Wait until an epoch behind `before` has ended, or nothing is open that wants closing."""
        idle_until = time.monotonic() + _IDLE_SECONDS
        while await self.last_batch() == before and await asyncio.to_thread(is_active, self.query):
            if not has_noted() and time.monotonic() > idle_until:
                return  # Spark is still starting its tasks, and nobody has opened a partition that wants closing
            await asyncio.sleep(0.05)

    async def stop(self) -> None:
        """Stop the query, whatever it does."""
        await asyncio.to_thread(stop_query, self.query)
        self.query = None

    def _checkpoint(self) -> Path:
        """Make a fresh folder for every query: the truth is in the ledger."""
        folder = self.folder / uuid.uuid4().hex[:8]
        shutil.rmtree(folder.parent, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder
