"""All engines of one process: started together, replaced one by one when their settings change. Runs in the service.

One link's end is not another's (R8): a changed link stops cleanly and starts again while the others go on. One that
fails is started again by itself, after a pause that grows with each failure in a row (R9); only a fault that waiting
cannot mend is left as it is, with its reason. When Spark itself is gone all end: the process must start anew.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from twinlog.config.changes import Change, diff_links
from twinlog.config.settings import LinkSettings
from twinlog.errors import EngineDied, TwinlogError

log = logging.getLogger("twinlog.fleet")

_FIRST_PAUSE_S: Final = 2.0
_LONGEST_PAUSE_S: Final = 60.0
_WELL_S: Final = 120.0
"""An engine that ran so long was well: its next failure is the first in a row again."""


def growing_pause(failures: int) -> float:
    """How long to wait before a link is started again that failed so often in a row."""
    return min(_FIRST_PAUSE_S * 2.0 ** min(failures - 1, 10), _LONGEST_PAUSE_S)


class Engine(Protocol):
    """What is asked of the engine of a link (given by the service: flow.engine)."""

    @property
    def link(self) -> LinkSettings:
        """What it runs."""

    @property
    def phase(self) -> str:
        """How far it is; `superseded` is the end."""

    @property
    def trouble(self) -> str | None:
        """Why it does not get on, if so."""

    take_over: bool

    async def run(self) -> None:
        """Until stopped."""

    def stop(self) -> None:
        """Ask for a clean end."""


@dataclass(frozen=True)
class Failure:
    """Why an engine failed, and when it restarts (`again_ms`; None: never)."""

    error: BaseException
    again_ms: int | None

    def __str__(self) -> str:
        why = str(self.error) or repr(self.error)
        if self.again_ms is not None:
            return f"{why}; it is started again at {time.strftime('%H:%M:%S', time.gmtime(self.again_ms / 1000))} UTC"
        remedy_text = self.error.remedy_text() if isinstance(self.error, TwinlogError) else ""
        return f"{why}; it is not started again by itself. {remedy_text}".rstrip()


@dataclass
class _Life:
    engine: Engine
    task: asyncio.Task[None]
    began_s: float
    failures: int = 0
    again: asyncio.TimerHandle | None = None
    again_ms: int | None = None
    unbuilt: Exception | None = None  # why its next engine could not even be built

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
    """The engines of a process. One that `stays` goes on without links: they may come later."""

    def __init__(
        self,
        make_engine: Callable[[LinkSettings], Engine],
        *,
        stays: bool = False,
        pause: Callable[[int], float] = growing_pause,
    ) -> None:
        self._make_engine = make_engine
        self._stays = stays
        self._pause = pause
        self._lives: dict[str, _Life] = {}
        self._revivals: set[asyncio.Task[None]] = set()
        self._changing = asyncio.Lock()
        self._begun = asyncio.Event()
        self._ended = asyncio.Event()
        self._stopping = False

    @property
    def engines(self) -> list[Engine]:
        """The engines that run or have ended by themselves, not those that were replaced."""
        return [life.engine for life in self._lives.values()]

    def failure(self, link: str) -> Failure | None:
        """What the engine of a link ended with, if it did not end well."""
        life = self._lives.get(link)
        error = life.error if life is not None else None
        return None if life is None or error is None else Failure(error, life.again_ms)

    async def run(self, engines: Iterable[Engine]) -> None:
        """Run these engines and what `apply` makes of them, until every engine has ended. Raises what one raised."""
        if self._stopping:
            return
        for engine in engines:
            self._begin(engine)
        self._begun.set()
        self._see_end()
        await self._ended.wait()
        errors = [life.error for life in self._lives.values() if life.error is not None]
        if errors and not self._stopping:
            # The cause of all, if there is one: whoever started us knows what to do about it.
            raise next((error for error in errors if isinstance(error, EngineDied)), errors[0])

    def stop(self) -> None:
        """Ask every engine for a clean end."""
        self._stopping = True
        for life in self._lives.values():
            life.forget_again()
            life.engine.stop()
        self._see_end()

    async def apply(self, links: Iterable[LinkSettings]) -> tuple[Change, ...]:
        """Make these the links. Engines of links that are equal are not touched; none is when one cannot be built."""
        await self._begun.wait()
        async with self._changing:
            changes = diff_links([life.engine.link for life in self._lives.values()], links)
            try:
                new = {change.name: self._make_engine(change.after) for change in changes if change.after is not None}
                await asyncio.gather(*(self._replace(change.name, new.get(change.name)) for change in changes))
            finally:
                self._changes_done()
            return changes

    async def restart(self, link: str) -> None:
        """Restart a link with the settings it has, also when another engine has it. One not here is left alone."""
        async with self._changing:
            life = self._lives.get(link)
            if life is None:
                return
            try:
                new = self._make_engine(life.engine.link)
                new.take_over = True  # an operator asked for it
                await self._end(link)
                if not self._stopping:
                    self._begin(new)
            finally:
                self._changes_done()

    async def _replace(self, name: str, new: Engine | None) -> None:
        old = self._lives.get(name)
        if old is not None:
            # Another engine has the link, and ours does not wait for its end: it is not taken back by a change.
            if old.engine.phase == "superseded" and new is not None and not self._stays:
                return
            await self._end(name)
        if new is not None and not self._stopping:
            self._begin(new)

    async def _end(self, name: str) -> None:
        old = self._lives[name]
        old.forget_again()
        old.engine.stop()
        await asyncio.wait({old.task})
        if old.error is not None:
            log.warning("%s: ended badly for its new settings: %s", name, old.error)
        # The callback of its end may run only now.
        old.forget_again()
        self._lives.pop(name, None)

    def _begin(self, engine: Engine, failures: int = 0) -> None:
        task = asyncio.create_task(engine.run(), name=f"engine {engine.link.name}")
        life = self._lives[engine.link.name] = _Life(engine, task, time.monotonic(), failures)
        task.add_done_callback(lambda _: self._see_one_end(life))

    # --- ends ---------------------------------------------------------------------------------------------------------

    def _see_one_end(self, life: _Life) -> None:
        name, error = life.engine.link.name, life.error
        if error is not None and self._lives.get(name) is life and not self._stopping:
            if isinstance(error, TwinlogError) and not error.retriable:
                log.error("%s: failed and stays so: %s", name, error)
            else:
                self._start_later(life)
        self._see_end()

    def _start_later(self, life: _Life) -> None:
        life.failures = 1 if time.monotonic() - life.began_s > _WELL_S else life.failures + 1
        pause = self._pause(life.failures)
        life.again_ms = int((time.time() + pause) * 1000)
        life.again = asyncio.get_running_loop().call_later(pause, self._start_again, life)
        log.warning("%s: %s", life.engine.link.name, self.failure(life.engine.link.name))

    def _start_again(self, life: _Life) -> None:
        task = asyncio.create_task(self._revive(life))
        self._revivals.add(task)
        task.add_done_callback(self._revivals.discard)

    async def _revive(self, life: _Life) -> None:
        async with self._changing:
            if self._lives.get(life.engine.link.name) is not life or self._stopping:
                return
            try:
                self._begin(self._make_engine(life.engine.link), life.failures)
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
