"""Shutting an old primary when it comes back. Runs in the service, in every engine that the switch holds.

An unplanned failover cannot shut a cluster that does not answer. The decision then says which clusters are to be shut
on their return. Whichever engine of the pair sees one first does it, before anything else happens there: as long as the
decision stands, nothing is copied in either direction, so there is nothing else that it could do.

The cluster that returns may bring a later decision, made while the other one was away. So its own log is read first: an
engine is held by the first decision that it reads, and shutting by an earlier one would shut the active side (R10).
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from twinlog.config.pair import Pair
from twinlog.errors import AccessDenied, ClusterError, SwitchStopped
from twinlog.model.switch.facts import ends_as_lists
from twinlog.model.switch.log import StateEntry
from twinlog.recovery.context import SwitchContext
from twinlog.recovery.proof import Deadline
from twinlog.recovery.side_fences import note_and_read, source_fence
from twinlog.recovery.topics import source_topics
from twinlog.wire.connection import Cluster

log = logging.getLogger("twinlog.recovery")

_EVERY_S: Final = 2.0
_ASK_WITHIN_S: Final = 3.0
_READ_WITHIN_S: Final = 15.0
_STILL_WITHIN_S: Final = 30.0


@dataclass
class ReturnGuard:
    """Watches for the return of the source of a pair."""

    pair: Pair
    shut: dict[str, int] = field(default_factory=dict)  # by cluster: the generation that wanted it
    trouble: str | None = None
    _next: float = 0.0

    async def __call__(self, state: StateEntry) -> None:
        """Called again and again while a link is held."""
        source = self.pair.link.source
        if source not in state.fence_on_return or self.shut.get(source) == state.generation:
            return
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _EVERY_S
        if not await self._is_back():
            return
        ctx = SwitchContext.of(self.pair, _no_copier, Path(), "guard")
        try:
            if not await self._is_wanted(ctx):
                return
            await self._shut(ctx)
            self.shut[source] = state.generation
            self.trouble = None
        except (ClusterError, SwitchStopped, TimeoutError) as error:
            self.trouble = f"{source} is back and could not be shut yet: {error}"
            log.warning("%s: %s", self.pair.name, self.trouble)
        finally:
            await ctx.close()

    async def _is_back(self) -> bool:
        cluster = Cluster(self.pair.link.clients.source_admin, f"twinlog|{self.pair.name}|guard")
        try:
            async with asyncio.timeout(_ASK_WITHIN_S):
                await cluster.refresh(None)
        except (ClusterError, TimeoutError):
            return False
        finally:
            await cluster.close()
        return True

    async def _is_wanted(self, ctx: SwitchContext) -> bool:
        """Whether the newest decision of both clusters still wants the source to be shut."""
        await ctx.journal.home.catch_up()
        try:
            async with asyncio.timeout(_READ_WITHIN_S):
                await ctx.journal.other.catch_up()
        except AccessDenied as denied:
            log.warning("%s: a later decision on %s would not be noticed: %s", self.pair.name, ctx.link.source, denied)
        decided = ctx.journal.state
        return decided is not None and ctx.link.source in decided.fence_on_return

    async def _shut(self, ctx: SwitchContext) -> None:
        fence, topics = await source_fence(ctx), await source_topics(ctx)
        noted = await note_and_read(ctx, fence, topics, keeps=True)
        deadline = Deadline(ctx.link.name, "fence-on-return", _STILL_WITHIN_S)
        ends = await fence.shut(topics, deadline, noted)
        log.warning("%s: %s is back and shut: %s", self.pair.name, ctx.link.source, ends_as_lists(ends))


def _no_copier(_: object) -> AbstractAsyncContextManager[None]:
    raise AssertionError("a guard copies nothing")
