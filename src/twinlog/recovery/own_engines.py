"""Engines that a switch runs itself, while all others are held. Runs in the command that switches.

They are ordinary engines: exactly once, resumable after kill -9. They keep nothing in sync but the records, and they
start Spark only when the first of them is needed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from twinlog.config.settings import LinkSettings
from twinlog.sync.ends import LinkEnds
from twinlog.sync.link_topics import LinkTopics

if TYPE_CHECKING:
    from twinlog.flow.source import LinkRun

StartQuery: TypeAlias = "Callable[[LinkRun, Path], Any]"


@dataclass
class EngineCopier:
    """Starts an engine per link. `query_starter` prepares what runs queries (given by the service: Spark)."""

    query_starter: Callable[[], StartQuery]
    state: Path
    _start_query: StartQuery | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @asynccontextmanager
    async def __call__(self, link: LinkSettings) -> AsyncIterator[None]:
        """An engine while the block lasts; a clean end behind it."""
        from twinlog.engine.engine import LinkEngine  # noqa: PLC0415  it loads Spark, and most switches copy nothing

        async with self._lock:
            if self._start_query is None:
                self._start_query = await asyncio.to_thread(self.query_starter)
        ends = LinkEnds.of(link)
        engine = LinkEngine(
            link,
            LinkTopics(link, ends.source, ends.target),
            self._start_query,
            self.state / "checkpoints",
            os.cpu_count() or 1,
            follows_switch=False,
        )
        life = asyncio.create_task(engine.run())
        try:
            yield
        finally:
            engine.stop()
            await life
