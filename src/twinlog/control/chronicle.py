"""The history of events of the links, kept in a topic: read once at the start, written by the leading service. Runs
in the service's loop, its reading in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.health.event_log import dump_event, event_id, interrupted, read_event
from twinlog.model.health.history import EVENTS, Event


class Log(Protocol):
    """Where events are kept (given by the service: control.events_topic). All of it blocks."""

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
    on_kept: Callable[[list[Event]], None] = lambda _: None
    _own: set[str] = field(default_factory=set)  # operations that this process told of
    _led: bool = False

    async def past(self) -> list[Event]:
        """What happened before. Raises ClusterError."""
        values = await asyncio.to_thread(self.log.read, EVENTS)
        return [event for event in map(read_event, values) if event is not None]

    async def left_open(self) -> list[Event]:
        """The ends of operations that the leader before us began and did not end. Raises ClusterError.

        To be asked again and again: it reads when this service begins to lead, and has nothing to tell otherwise.
        """
        if not self.leads():
            self._led = False
        if self._led or not self.leads():
            return []
        past = await self.past()
        self._led = True
        return interrupted((event for event in past if event_id(event) not in self._own), SYSTEM_CLOCK.now_ms())

    def keep(self, events: Iterable[Event]) -> None:
        """Write down what happened now."""
        if self.leads():
            events = list(events)
            self.on_kept(events)
            for event in events:
                self.log.append(dump_event(event))
                if event.kind == "operation":
                    self._own.add(event_id(event))

    async def close(self) -> None:
        """Let the last ones arrive."""
        await asyncio.to_thread(self.log.close)
