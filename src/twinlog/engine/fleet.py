"""All jobs of one process: started together, replaced one by one when their settings change. Runs in the service.

A job is whatever runs until it is stopped: the engine of a link, a data pipeline. Its *spec* says what it runs. A job
is replaced when its spec changed, and only then.

One job's end is not another's (R8): a changed job stops cleanly and starts again while the others continue. One that
fails is started again by itself, after a pause that grows with each failure in a row (R9); only a fault that waiting
cannot fix is left as it is, with its reason. When Spark itself is gone all end: the process must be started again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from twinlog.engine.spec_changes import Change, Spec, diff_specs
from twinlog.errors import EngineDied, TwinlogError, told
from twinlog.model.backoff import Backoff
from twinlog.model.clock import SYSTEM_CLOCK

log = logging.getLogger("twinlog.fleet")

_BACKOFF: Final = Backoff(2.0, 60.0)
_WELL_S: Final = 120.0
"""A job that ran so long was well: its next failure is the first in a row again."""


def growing_pause(failures: int) -> float:
    """How long to wait before a job is started again that failed so often in a row."""
    return _BACKOFF.after_s(failures)


class Job(Protocol):
    """What is asked of a job (given by the service: engine.engine is one)."""

    @property
    def spec(self) -> Spec:
        """What it runs."""

    @property
    def phase(self) -> str:
        """starting, running, waiting, stopped, switched, or superseded: another process has its work."""

    @property
    def trouble(self) -> str | None:
        """Why it does not advance, if so."""

    @property
    def tasks(self) -> int:
        """How many tasks do its work."""

    take_over: bool
    """Whether it takes its work even from a living job of another process."""

    async def run(self) -> None:
        """Until stopped. An error that is raised ends the job; the fleet starts it again."""

    def stop(self) -> None:
        """Ask for a clean end."""


@dataclass(frozen=True)
class Failure:
    """Why a job failed, and when it restarts (`again_ms`; None: never)."""

    error: BaseException
    again_ms: int | None

    def __str__(self) -> str:
        why = told(self.error)
        if self.again_ms is not None:
            return f"{why}; it is started again at {time.strftime('%H:%M:%S', time.gmtime(self.again_ms / 1000))} UTC"
        remedy_text = self.error.remedy_text() if isinstance(self.error, TwinlogError) else ""
        return f"{why}; it is not started again by itself. {remedy_text}".rstrip()


@dataclass
class _Life:
    job: Job
    task: asyncio.Task[None]
    began_s: float
    failures: int = 0
    again: asyncio.TimerHandle | None = None
    again_ms: int | None = None
    unbuilt: Exception | None = None  # why it could not even be built again

    @property
    def error(self) -> BaseException | None:
        if not self.task.done() or self.task.cancelled():
            return None
        return self.unbuilt or self.task.exception()

    def forget_again(self) -> None:
        if self.again is not None:
            self.again.cancel()
        self.again = self.again_ms = None


class Fleet:
    """The jobs of a process. A fleet that `stays` continues without jobs: they may come later."""

    def __init__(
        self,
        make_job: Callable[[Any], Job],
        *,
        stays: bool = False,
        pause: Callable[[int], float] = growing_pause,
    ) -> None:
        self._make_job = make_job
        self._stays = stays
        self._pause = pause
        self._lives: dict[str, _Life] = {}
        self._revivals: set[asyncio.Task[None]] = set()
        self._changing = asyncio.Lock()
        self._begun = asyncio.Event()
        self._ended = asyncio.Event()
        self._stopping = False

    @property
    def jobs(self) -> list[Job]:
        """The jobs that run or have ended by themselves, not those that were replaced."""
        return [life.job for life in self._lives.values()]

    def failure(self, name: str) -> Failure | None:
        """What a job ended with, if it did not end well."""
        life = self._lives.get(name)
        error = life.error if life is not None else None
        return None if life is None or error is None else Failure(error, life.again_ms)

    async def run(self, jobs: Iterable[Job]) -> None:
        """Run these jobs and what `apply` makes of them, until every job has ended. Raises what one raised."""
        if self._stopping:
            return
        for job in jobs:
            self._begin(job)
        self._begun.set()
        self._see_end()
        await self._ended.wait()
        errors = [life.error for life in self._lives.values() if life.error is not None]
        if errors and not self._stopping:
            # The cause of all, if there is one: whoever started us knows what to do about it.
            raise next((error for error in errors if isinstance(error, EngineDied)), errors[0])

    def stop(self) -> None:
        """Ask every job for a clean end."""
        self._stopping = True
        for life in self._lives.values():
            life.forget_again()
            life.job.stop()
        self._see_end()

    async def begun(self) -> None:
        """Wait until jobs can run."""
        await self._begun.wait()

    async def apply(self, specs: Iterable[Spec]) -> tuple[Change, ...]:
        """Run these, and nothing else. Jobs with an equal spec are not touched; none is when one cannot be built."""
        await self._begun.wait()
        async with self._changing:
            changes = diff_specs([life.job.spec for life in self._lives.values()], specs)
            try:
                new = {change.name: self._make_job(change.after) for change in changes if change.after is not None}
                await asyncio.gather(*(self._replace(change.name, new.get(change.name)) for change in changes))
            finally:
                self._changes_done()
            return changes

    async def restart(self, name: str) -> None:
        """Restart a job with the spec it has, also when another process has its work. One not here is left alone."""
        async with self._changing:
            life = self._lives.get(name)
            if life is None:
                return
            try:
                new = self._make_job(life.job.spec)
                new.take_over = True  # an operator asked for it
                await self._end(name)
                if not self._stopping:
                    self._begin(new)
            finally:
                self._changes_done()

    async def _replace(self, name: str, new: Job | None) -> None:
        old = self._lives.get(name)
        if old is not None:
            # Another process has its work, and ours does not wait for its end: it is not taken back by a change.
            if old.job.phase == "superseded" and new is not None and not self._stays:
                return
            await self._end(name)
        if new is not None and not self._stopping:
            self._begin(new)

    async def _end(self, name: str) -> None:
        old = self._lives[name]
        old.forget_again()
        old.job.stop()
        await asyncio.wait({old.task})
        if old.error is not None:
            log.warning("%s: ended badly for its new settings: %s", name, old.error)
        # The callback of its end may run only now.
        old.forget_again()
        self._lives.pop(name, None)

    def _begin(self, job: Job, failures: int = 0) -> None:
        task = asyncio.create_task(job.run(), name=f"job {job.spec.name}")
        life = self._lives[job.spec.name] = _Life(job, task, time.monotonic(), failures)
        task.add_done_callback(lambda _: self._see_one_end(life))

    # --- ends ---------------------------------------------------------------------------------------------------------

    def _see_one_end(self, life: _Life) -> None:
        name, error = life.job.spec.name, life.error
        if error is not None and self._lives.get(name) is life and not self._stopping:
            if isinstance(error, TwinlogError) and not error.retriable:
                log.error("%s: failed and stays so: %s", name, error)
            else:
                self._start_later(life)
        self._see_end()

    def _start_later(self, life: _Life) -> None:
        life.failures = 1 if time.monotonic() - life.began_s > _WELL_S else life.failures + 1
        pause = self._pause(life.failures)
        life.again_ms = SYSTEM_CLOCK.now_ms() + int(pause * 1000)
        life.again = asyncio.get_running_loop().call_later(pause, self._start_again, life)
        log.warning("%s: %s", life.job.spec.name, self.failure(life.job.spec.name))

    def _start_again(self, life: _Life) -> None:
        task = asyncio.create_task(self._revive(life))
        self._revivals.add(task)
        task.add_done_callback(self._revivals.discard)

    async def _revive(self, life: _Life) -> None:
        async with self._changing:
            if self._lives.get(life.job.spec.name) is not life or self._stopping:
                return
            try:
                self._begin(self._make_job(life.job.spec), life.failures)
            except Exception as error:  # noqa: BLE001  a certificate may be away for a moment, as anything else
                life.unbuilt = error
                self._start_later(life)

    def _changes_done(self) -> None:
        # The lock is still ours here; who ended meanwhile is looked at when it is free.
        asyncio.get_running_loop().call_soon(self._see_end)

    def _see_end(self) -> None:
        if (
            self._begun.is_set()
            and not self._changing.locked()
            and all(life.task.done() for life in self._lives.values())
            and (self._stopping or self._spark_is_gone() or self._is_over())
        ):
            self._ended.set()

    def _spark_is_gone(self) -> bool:
        """Whether nothing runs because nothing can: whoever started us must hear of it."""
        errors = [life.error for life in self._lives.values()]
        return None not in errors and any(isinstance(error, EngineDied) for error in errors)

    def _is_over(self) -> bool:
        return not self._stays and all(life.again is None for life in self._lives.values())
