"""Tasks that run beside the query of an engine: sync jobs, the reader of the ledger, the watch on topics."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol

from twinlog.errors import EngineBroke
from twinlog.ledger.view import LedgerView
from twinlog.ledger.writer import LedgerWriter


class Beside(Protocol):
    """What is kept in sync beside the records while the engine lives (given by the service: sync.jobs)."""

    async def run(self, view: LedgerView, writer: LedgerWriter) -> None:
        """Until cancelled."""


class BesideTasks:
    """The tasks of one engine. What runs beside waits for clusters by itself; one that ends met a mistake of ours."""

    def __init__(self, link: str, jobs: Beside | None) -> None:
        self._link = link
        self._jobs = jobs
        self._tasks: list[asyncio.Task[None]] = []
        self._running_jobs: asyncio.Task[None] | None = None

    def begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run something until it ends, or all of them are ended."""
        task = asyncio.create_task(work)
        self._tasks.append(task)
        return task

    def finish(self, task: asyncio.Task[None]) -> None:
        """Take a task that ended out of the list. Raises what it raised."""
        self._tasks.remove(task)
        task.result()

    async def run_sync_jobs(self, view: LedgerView, writer: LedgerWriter) -> None:
        """Run the sync jobs, unless they run already."""
        if self._running_jobs is None and self._jobs is not None:
            self._running_jobs = self.begin(self._jobs.run(view, writer))

    async def rest_sync_jobs(self) -> None:
        """End the sync jobs."""
        if self._running_jobs is None:
            return
        self._running_jobs.cancel()
        await asyncio.gather(self._running_jobs, return_exceptions=True)
        self._tasks.remove(self._running_jobs)
        self._running_jobs = None

    def see_that_all_live(self, *others: asyncio.Task[None] | None) -> None:
        """Raise EngineBroke when one of them failed: the engine begins anew."""
        for task in (*self._tasks, *filter(None, others)):
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                raise EngineBroke(self._link, f"{type(error).__name__}; the log says more") from error

    async def end_all(self) -> None:
        """End all of them."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        self._running_jobs = None
