"""Schemas before records: what was fetched waits until the schemas that were registered before it are copied.

    fetch answered ─▶ where does the topic of schemas end? ─▶ is its copy that far? ─▶ to Spark
                      (one question for all that waits)         (flow/schema_copies: the ledger says)

A producer registers its schema first and writes the record afterwards. So the end of the topic of schemas, asked after
the record was fetched, lies behind that schema. Batches are not opened, and nothing is asked per record. Runs in the
reader's loop.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Final, Protocol

from twinlog.config.registry_mirror import RegistryMirror
from twinlog.errors import ClusterUnreachable
from twinlog.flow.parcel import FLUSH, Parcel
from twinlog.flow.parcel_queue import ParcelQueue
from twinlog.flow.schema_copies import SchemaCopy
from twinlog.wire.connection import Cluster
from twinlog.wire.offsets import LATEST, OffsetsRefused, fetch_offset

log = logging.getLogger("twinlog.read")

_LOOK_S: Final = 0.025
"""At most one question in this time: under load many fetches share one."""
_AGAIN_S: Final = 0.05
_MOST_PARCELS: Final = 4096
_LATE_S: Final = 2.0


class Outlet(Protocol):
    """Where parcels of a reader go."""

    def put(self, item: Parcel | BaseException | None) -> None:
        """Add a parcel, an error, or None for the end."""

    async def wait_for_room(self) -> None:
        """Until more may be fetched."""


@dataclass
class SchemaGate:
    """The outlet of one reader. While the link brings no schemas everything passes at once."""

    registry: RegistryMirror
    source: Cluster
    out: ParcelQueue
    copy: SchemaCopy
    looks: int = 0
    waited_s: float = 0.0
    _held: deque[Parcel] = field(default_factory=deque)
    _bytes: int = 0
    _came: asyncio.Event = field(default_factory=asyncio.Event)
    _gone: asyncio.Event = field(default_factory=asyncio.Event)
    _behind: tuple[float, int] | None = None  # since when, and the end that the copy has not reached
    _overdue: bool = False

    def put(self, item: Parcel | BaseException | None) -> None:
        """Pass what does not wait; what waits keeps its place in the order."""
        if not isinstance(item, Parcel) or self._passes(item):
            self.out.put(item)
        else:
            self._held.append(item)
            self._bytes += len(item.payload)
            self._came.set()

    def _passes(self, parcel: Parcel) -> bool:
        """Schemas wait for nobody, nor does what pushes them on."""
        if parcel is FLUSH or parcel.partition.topic in self.registry.topics:
            return True
        return not self._held and not self.is_closed

    @property
    def is_closed(self) -> bool:
        """Whether records must wait for schemas at all."""
        return self.registry.gate_ms > 0 and self.copy.is_kept

    async def wait_for_room(self) -> None:
        """From the loop: until enough of what waits is gone, and Spark has taken enough."""
        while self._bytes > self.out.limit or len(self._held) > _MOST_PARCELS:
            self._gone.clear()
            await self._gone.wait()
        await self.out.wait_for_room()

    async def run(self) -> None:
        """Let through what may go, until cancelled."""
        while True:
            await self._came.wait()
            self._came.clear()
            began = time.monotonic()
            count = len(self._held)
            await self._until_copied(began)
            self._release(count)
            self.waited_s += time.monotonic() - began
            await asyncio.sleep(max(0.0, began + _LOOK_S - time.monotonic()))

    def says(self, now: float) -> list[str]:
        """What an operator should know while records wait, or go without waiting."""
        if self._behind is None or now - self._behind[0] < _LATE_S:
            return []
        topic, (since, end) = self.registry.topic, self._behind
        state = "records continue without them" if self._overdue else "records wait for them"
        reached = f"{self.copy.reached} of {end}" if end >= 0 else "where it ends is not known"
        return [f"the schemas of {topic} are not copied ({reached}) for {now - since:.0f} s: {state}"]

    async def _until_copied(self, began: float) -> None:
        """Return when the copy of the schemas has reached the end that the source has now, or time is over."""
        limit = began + self.registry.gate_ms / 1000
        end = -1
        while self.is_closed:
            if end < 0:
                end = await self._ask_end()
            if 0 <= end <= self.copy.reached:
                if self._overdue:
                    log.warning("%s is copied up to %d again: records wait for schemas", self.registry.topic, end)
                self._behind, self._overdue = None, False
                return
            since = began if self._behind is None else self._behind[0]
            self._behind = (since, end)
            if self._overdue:
                return
            if time.monotonic() >= limit:
                self._overdue = True
                log.error("%s: not copied up to %d in time: records continue", self.registry.topic, end)
                return
            await asyncio.sleep(_AGAIN_S)

    async def _ask_end(self) -> int:
        topic = self.registry.topic
        self.looks += 1
        try:
            if self.source.leader(topic, 0) is None:
                await self.source.refresh([topic])
            return await fetch_offset(self.source, topic, 0, LATEST)
        except (OffsetsRefused, ClusterUnreachable, TimeoutError):
            self.source.topics.pop(topic, None)  # the leader moved: ask again
            return -1

    def _release(self, count: int) -> None:
        for _ in range(count):
            parcel = self._held.popleft()
            self._bytes -= len(parcel.payload)
            self.out.put(parcel)
        if count:
            self.out.put(FLUSH)
        if self._held:
            self._came.set()
        self._gone.set()
