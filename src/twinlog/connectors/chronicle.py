"""What happened to the links, kept beyond this process: read once at the start, written by whoever leads. Runs in the
service's loop, its reading in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from twinlog.model.event_log import dump_event, read_event
from twinlog.model.history import EVENTS, Event


class Log(Protocol):
    """Where events are kept (given by the service: kafka.events_topic). All of it blocks."""

    def read(self, most: int) -> list[bytes]:
        """The last ones, oldest first. Raises ClusterError."""

    def append(self, entry: bytes) -> None:
        """Hand one over."""

    def close(self) -> None:
        """Let what is on its way arrive."""


@dataclass
class Chronicle:
    """The events of a group. All its services see the same; the one that `leads` writes, so that each is there once."""

    log: Log
    leads: Callable[[], bool]

    async def past(self) -> list[Event]:
        """What happened before. Raises ClusterError."""
        found = await asyncio.to_thread(self.log.read, EVENTS)
        return [event for event in map(read_event, found) if event is not None]

    def keep(self, events: Iterable[Event]) -> None:
        """Write down what happened now."""
        if self.leads():
            for event in events:
                self.log.append(dump_event(event))

    async def close(self) -> None:
        """Let the last ones arrive."""
        await asyncio.to_thread(self.log.close)
