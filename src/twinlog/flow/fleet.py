"""All engines of one process: started together, replaced one by one when their settings change. Runs in the service.

One link's end is not another's (R8): a changed link stops cleanly and starts again while the others go on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from twinlog.config.changes import Change, diff_links
from twinlog.config.settings import LinkSettings

log = logging.getLogger("twinlog.fleet")


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

    async def run(self) -> None:
        """Until stopped."""

    def stop(self) -> None:
        """Ask for a clean end."""


@dataclass
class _Life:
    engine: Engine
    task: asyncio.Task[None]


class Fleet:
    """The engines of a process. One that `stays` goes on without links: they may come later."""

    def __init__(self, make_engine: Callable[[LinkSettings], Engine], *, stays: bool = False) -> None:
        self._make_engine = make_engine
        self._stays = stays
        self._lives: dict[str, _Life] = {}
        self._changing = asyncio.Lock()
        self._begun = asyncio.Event()
        self._ended = asyncio.Event()
        self._stopping = False

    @property
    def engines(self) -> list[Engine]:
        """The engines that run or have ended by themselves, not those that were replaced."""
        return [life.engine for life in self._lives.values()]

    def failure(self, link: str) -> BaseException | None:
        """What the engine of a link ended with, if it did not end well."""
        life = self._lives.get(link)
        if life is None or not life.task.done() or life.task.cancelled():
            return None
        return life.task.exception()

    async def run(self, engines: Iterable[Engine]) -> None:
        """Run these engines and what `apply` makes of them, until every engine has ended. Raises what one raised."""
        if self._stopping:
            return
        for engine in engines:
            self._begin(engine)
        self._begun.set()
        self._see_end()
        await self._ended.wait()
        for life in self._lives.values():
            if not life.task.cancelled() and (error := life.task.exception()) is not None:
                raise error

    def stop(self) -> None:
        """Ask every engine for a clean end."""
        self._stopping = True
        for life in self._lives.values():
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
        """Begin a link anew with the settings it has. One that is not here is left alone."""
        async with self._changing:
            life = self._lives.get(link)
            if life is None:
                return
            try:
                new = self._make_engine(life.engine.link)
                await self._end(link)
                if not self._stopping:
                    self._begin(new)
            finally:
                self._changes_done()

    async def _replace(self, name: str, new: Engine | None) -> None:
        old = self._lives.get(name)
        if old is not None:
            # Another engine has the link. It reads the same file: taking it back would start a quarrel.
            if old.engine.phase == "superseded" and new is not None:
                return
            await self._end(name)
        if new is not None and not self._stopping:
            self._begin(new)

    async def _end(self, name: str) -> None:
        old = self._lives[name]
        old.engine.stop()
        await asyncio.wait({old.task})
        if not old.task.cancelled() and (error := old.task.exception()) is not None:
            log.warning("%s: ended badly for its new settings: %s", name, error)
        self._lives.pop(name, None)

    def _begin(self, engine: Engine) -> None:
        task = asyncio.create_task(engine.run(), name=f"engine {engine.link.name}")
        task.add_done_callback(lambda _: self._see_end())
        self._lives[engine.link.name] = _Life(engine, task)

    def _changes_done(self) -> None:
        # The lock is still ours here; who ended meanwhile is looked at when it is free.
        asyncio.get_running_loop().call_soon(self._see_end)

    def _see_end(self) -> None:
        if (
            self._begun.is_set()
            and not self._changing.locked()
            and all(life.task.done() for life in self._lives.values())
            and (self._stopping or not self._stays or self._all_failed())
        ):
            self._ended.set()

    def _all_failed(self) -> bool:
        """Whether nothing runs because nothing can: whoever started us must hear of it."""
        return bool(self._lives) and all(self.failure(name) is not None for name in self._lives)
