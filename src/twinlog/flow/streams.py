"""Fetching from the leaders of the source: over a long line by several connections each. Runs in the reader's loop.

A partition's next fetch needs the offset at which the last one ended, so one connection waits a round trip for each
answer. On a short line that is nothing. On a long one the partitions of a leader are dealt to a few connections, of
which some receive while others wait, and each asks for as much as the line holds (`window`).

    leader 1 ─┬─ stream 0: orders-0, orders-3        a short line has stream 0 only
              ├─ stream 1: orders-1, orders-4
              └─ stream 2: orders-2, orders-5

Topics that come first (`first_lane`) have streams of their own, on a short line too.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from twinlog.config.link_values import FetchSettings
from twinlog.errors import ClusterUnreachable, told
from twinlog.flow.first_lane import FirstLane
from twinlog.flow.window import Window
from twinlog.model.backoff import Backoff
from twinlog.model.names import TopicPartition
from twinlog.model.pace import Pace
from twinlog.wire.connection import Cluster
from twinlog.wire.fetch import FetchedPartition, FetchPosition, FetchRefused, FetchSession

log = logging.getLogger("twinlog.read")

LONG_S: Final = 0.01
"""A round trip from which on a line is long."""
MOST_STREAMS: Final = 4
PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 2.0


@dataclass
class Stream:
    """One connection's conversation with a leader."""

    session: FetchSession
    first: bool = False  # it carries topics that come first
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


@dataclass
class SourceLeader:
    """All that is fetched from one broker."""

    node: int
    streams: list[Stream] = field(default_factory=list)
    window: Window = field(default_factory=Window)

    @property
    def busy(self) -> int:
        """Streams that have something to fetch."""
        return max(1, sum(bool(stream.session.positions) for stream in self.streams))

    def lane(self, first: bool) -> list[Stream]:
        """Streams of the topics that come first, or of the others."""
        return [stream for stream in self.streams if stream.first == first]


@dataclass
class Streams:
    """All leaders of the source.

    `deliver` gets every answer, `replace` is called when partitions have no leader any more, and `room` holds the
    fetching back while too much waits to be written.
    """

    source: Cluster
    link: str
    fetch: FetchSettings
    limit: int  # bytes that all fetches together may ask for beyond their settings
    room: Callable[[], Awaitable[None]]
    deliver: Callable[[list[FetchedPartition], FetchSession], Awaitable[None]]
    replace: Callable[[], Awaitable[None]]
    on_failure: Callable[[BaseException], None]
    pace: Pace = field(default_factory=Pace)
    first: FirstLane = field(default_factory=FirstLane)
    leaders: dict[int, SourceLeader] = field(default_factory=dict)

    def placed(self) -> Iterator[TopicPartition]:
        """Partitions that are fetched from somewhere."""
        for stream in self._all():
            yield from stream.session.positions

    def place(self, partition: TopicPartition, position: FetchPosition, node: int) -> None:
        """Fetch a partition from its leader from now on; `wake` begins."""
        leader = self.leaders.setdefault(node, SourceLeader(node))
        count, first = self.streams_wanted(), self.first.holds(partition)
        lane = leader.lane(first)
        while len(lane) < count and all(stream.session.positions for stream in lane):
            lane.append(self._start(leader, first))
        least = min(lane[:count], key=lambda stream: len(stream.session.positions))
        least.session.positions[partition] = position
        if first:
            self.first.behind.add(partition)  # until an answer tells

    def streams_wanted(self) -> int:
        """How many connections a leader gets."""
        return MOST_STREAMS if self._is_long else 1

    @property
    def _is_long(self) -> bool:
        return self.source.round_trip_s >= LONG_S

    def narrow(self) -> None:
        """A line that proved to be short needs one connection only: the others' partitions are placed anew."""
        for leader in self.leaders.values():
            for first in (True, False):
                for stream in leader.lane(first)[self.streams_wanted() :]:
                    stream.session.positions.clear()

    def remove(self, partition: TopicPartition) -> None:
        """Fetch a partition no more."""
        self.first.forget(partition)
        for stream in self._all():
            stream.session.positions.pop(partition, None)

    def wake(self) -> None:
        """Begin with what was placed."""
        for stream in self._all():
            stream.wake.set()

    async def stop(self) -> None:
        """End every conversation."""
        tasks = [stream.task for stream in self._all() if stream.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _all(self) -> Iterator[Stream]:
        for leader in self.leaders.values():
            yield from leader.streams

    def _start(self, leader: SourceLeader, first: bool) -> Stream:
        fetch = self.fetch
        committed = fetch.isolation == "read_committed"
        stream = Stream(FetchSession(fetch.max_bytes, fetch.max_wait_ms, fetch.min_bytes, committed), first)
        stream.task = asyncio.create_task(self._run(leader, stream, f"fetch-{len(leader.streams)}"))
        stream.task.add_done_callback(self._ended)
        leader.streams.append(stream)
        return stream

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.on_failure(error)

    async def _run(self, leader: SourceLeader, stream: Stream, purpose: str) -> None:
        session, backoff = stream.session, Backoff(PAUSE_S, _LONGEST_PAUSE_S)
        while True:
            if not session.positions:
                session.reset()
                stream.wake.clear()
                await stream.wake.wait()
                continue
            await self.room()
            small = None if stream.first else await self.first.turn()
            try:
                connection = await self.source.connection(leader.node, purpose)
                session.max_bytes = max(self.fetch.max_bytes // leader.busy, self._share(leader))
                slow = self.pace.fetch_bytes(len(self.leaders) * leader.busy)
                session.max_bytes = min(size for size in (session.max_bytes, slow, small) if size is not None)
                departure = leader.window.depart(time.monotonic(), 0)
                try:
                    fetched = await session.poll(connection, self.source.timeout_s)
                except BaseException:
                    leader.window.fail(departure)
                    raise
            except (FetchRefused, ClusterUnreachable) as trouble:
                log.warning("%s: fetching from broker %d: %s", self.link, leader.node, told(trouble))
                session.reset()
                for partition in session.positions:
                    self.first.forget(partition)
                session.positions.clear()  # the leaders may be elsewhere by now: they are placed anew
                await asyncio.sleep(backoff.next_s())
                await self.replace()
                continue
            backoff.reset()
            busy = [part for part in fetched if len(part.records)]
            size = sum(len(part.records) for part in busy)
            leader.window.answer(departure, time.monotonic(), size)
            share = self._share(leader)
            asked: dict[TopicPartition, int] = {}
            for part in busy:
                if (position := session.positions.get(part.partition)) is not None:
                    position.max_bytes = max(self.fetch.partition_max_bytes, share // len(busy))
                    asked[part.partition] = position.offset
            if small is not None:
                self.first.others.spend(size, time.monotonic())
            await self.deliver(fetched, session)
            self._count(stream, fetched, asked, size)

    def _count(
        self, stream: Stream, fetched: list[FetchedPartition], asked: dict[TopicPartition, int], size: int
    ) -> None:
        """Count an answer for the limits, and see whether it brought the topics that come first to their end."""
        positions, records = stream.session.positions, 0
        for partition, before in asked.items():
            if (position := positions.get(partition)) is not None:
                records += position.offset - before
        self.pace.spend(size, records, time.monotonic())
        if stream.first:
            committed = stream.session.read_committed
            for part in fetched:
                position, end = positions.get(part.partition), part.high_watermark
                if position is None or part.error:
                    self.first.forget(part.partition)
                else:
                    self.first.took(part.partition, position.offset, part.last_stable_offset if committed else end)

    def _share(self, leader: SourceLeader) -> int:
        """What one stream may ask for, of all that the line to its leader wants to hold; of a short line nothing."""
        if not self._is_long:
            return 0  # there an answer takes as long as its bytes, and the window would only grow with them
        return min(leader.window.bytes, self.limit // len(self.leaders)) // leader.busy
