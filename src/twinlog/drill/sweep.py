"""Measuring a link over values of one setting, with a load of its own on topics of its own. Runs in the command.

    topic twinlog-drill-sweep-… on the source, filled once ─▶ for each value: an engine under an alias of its own copies
    it ─▶ speed by the ends of the copy's log ─▶ everything is deleted

As in a drill, production is not touched: ledger, writers' identities and copies belong to the sweep's own aliases. Time
and bytes are bounded. The first value runs once more before all others, for Spark to get warm; that run is not counted.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from twinlog.config.settings import LinkSettings
from twinlog.doctor.advice.knee import Sweep, SweepPoint
from twinlog.engine.engine import LinkEngine
from twinlog.errors import ClusterError, DrillStopped, TwinlogError
from twinlog.kafka.admin import ClusterAdmin, TopicOrder
from twinlog.kafka.clients import NewRecord, RecordProducer
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.ledger.records import ledger_topic
from twinlog.model.names import TopicPartition
from twinlog.model.naming import DRILL_ALIAS, DRILL_PREFIX
from twinlog.model.routes.provenance import Provenance
from twinlog.model.selection import Selection
from twinlog.model.start import Earliest
from twinlog.recovery.own_engines import StartQuery
from twinlog.sync.ends import LinkEnds
from twinlog.sync.link_topics import LinkTopics
from twinlog.watch.processes import ProcessCosts

RECORD_BYTES: Final = 1000
_LOOK_S: Final = 0.1
_START_S: Final = 60.0
_PRODUCE_S: Final = 120.0
_WARM_S: Final = 10.0


@dataclass(frozen=True)
class SweepWish:
    """What is tried, and its bounds."""

    setting: str
    links: Sequence[tuple[str, LinkSettings]]  # the value, and the link with it
    total_bytes: int
    seconds: float  # for each value at most
    partitions: int


def sweep_link(link: LinkSettings, topic: str, number: int) -> LinkSettings:
    """The link under an alias of the sweep's own, for its one topic: records only, from the first one."""
    source = f"{link.source}-{number}{DRILL_ALIAS}"
    naming = dataclasses.replace(link.naming, policy="default", source_alias=source)
    small = link.updated(
        copies={"start_from": Earliest(), "refresh_seconds": 3600},
        mm2={"takeover": "off"},
        group_offsets={"enabled": False},
        checkpoints={"enabled": False},
        heartbeats={"enabled": False},
        offset_syncs={"enabled": False},
        acls={"enabled": False},
    )
    only = Selection((topic,), (), heartbeats=False)
    own = {"source": source, "target": f"{link.target}{DRILL_ALIAS}", "topics": only, "groups": only}
    return small.model_copy(update={**own, "naming": naming, "provenance": Provenance("off")})


@dataclass
class Sweeping:
    """One sweep: copies of one load, one for each value of a setting."""

    link: LinkSettings
    wish: SweepWish
    query_starter: Callable[[], StartQuery]
    folder: Path
    say: Callable[[str], None] = lambda _: None
    topic: str = field(default_factory=lambda: f"{DRILL_PREFIX}sweep-{uuid.uuid4().hex[:8]}")

    def __post_init__(self) -> None:
        self.source = ClusterAdmin(self.link.clients.source_admin)
        self.target = ClusterAdmin(self.link.clients.target_admin)
        self.tried: list[LinkSettings] = []

    async def run(self) -> Sweep:
        """Measure every value; whatever happens, nothing stays, or it is named."""
        points: list[SweepPoint] = []
        left: list[str] = []
        try:
            records = await asyncio.to_thread(self._fill)
            self.say(f"{self.link.source}: {records:,} records in {self.topic}; Spark starts")
            start_query = await asyncio.to_thread(self.query_starter)
            await self._measure(*self.wish.links[0], start_query, records, min(_WARM_S, self.wish.seconds))
            for value, link in self.wish.links:
                point = await self._measure(value, link, start_query, records, self.wish.seconds)
                self.say(f"{self.wish.setting} = {value}: {point.records_per_second:,.0f} records/s")
                points.append(point)
        finally:
            left = await asyncio.to_thread(self._clean_up)
            for line in left:
                self.say(line)
        return Sweep(self.link.name, self.wish.setting, tuple(points), tuple(left))

    def _fill(self) -> int:
        """Produce the load. Raises the first refusal; ends early when its time is over."""
        order = TopicOrder(self.topic, self.wish.partitions, self.link.copies.replication_factor, {})
        refusal = self.source.create_topics([order])[self.topic]
        if refusal is not None:
            raise refusal
        refusals: list[ClusterError] = []
        producer = RecordProducer(self.link.clients.source_producer, compression="none", linger_ms=20)
        deadline, body, count = time.monotonic() + _PRODUCE_S, os.urandom(RECORD_BYTES), 0
        for number in range(max(self.wish.partitions, self.wish.total_bytes // RECORD_BYTES)):
            place = TopicPartition(self.topic, number % self.wish.partitions)
            value = number.to_bytes(8, "big") + body[8:]
            record = NewRecord(None, value, (), SYSTEM_CLOCK.now_ms())
            producer.send(place, record, lambda error: None if error is None else refusals.append(error))
            count += 1
            if refusals:
                raise refusals[0]
            if number % 1000 == 0:
                producer.serve(0)
                if time.monotonic() > deadline:
                    break
        producer.flush(_PRODUCE_S)
        if refusals:
            raise refusals[0]
        return count

    async def _measure(
        self, value: str, link: LinkSettings, start_query: StartQuery, records: int, seconds: float
    ) -> SweepPoint:
        own = sweep_link(link, self.topic, len(self.tried))
        self.tried.append(own)
        ends = LinkEnds.of(own)
        topics = LinkTopics(own, ends.source, ends.target)
        engine = LinkEngine(
            own, topics, start_query, self.folder / own.source, os.cpu_count() or 1, follows_switch=False
        )
        life = asyncio.create_task(engine.run())
        try:
            return await self._watch(value, engine, life, records, seconds)
        finally:
            engine.stop()
            await asyncio.gather(life, return_exceptions=True)

    async def _watch(
        self, value: str, engine: LinkEngine, life: asyncio.Task[None], records: int, seconds: float
    ) -> SweepPoint:
        costs = ProcessCosts()
        started = began = time.monotonic()
        used, copied = _used_s(costs), 0
        while True:
            if life.done():
                life.result()
                raise DrillStopped(self.link.name, f"the engine ended at {self.wish.setting} = {value}")
            now, copied = time.monotonic(), await asyncio.to_thread(self._copied, engine.link)
            if not copied:
                began, used = now, _used_s(costs)
                if now - started > _START_S:
                    said = engine.trouble or f"the engine is {engine.phase}"
                    problem = f"{self.wish.setting} = {value}: nothing was copied within {_START_S:.0f} s: {said}"
                    raise DrillStopped(self.link.name, problem)
            elif copied >= records or now - began >= seconds:
                break
            await asyncio.sleep(_LOOK_S)
        took = max(0.001, time.monotonic() - began)
        cpu = None if used is None else (_used_s(costs) or used) - used
        return SweepPoint(value, copied, copied * RECORD_BYTES, took, cpu, copied >= records)

    def _copied(self, own: LinkSettings) -> int:
        remote = own.naming.remote(own.source, self.topic)
        places = [TopicPartition(remote, number) for number in range(self.wish.partitions)]
        return sum(int(end) for end in self.target.fetch_end_offsets(places).values() if isinstance(end, int))

    def _clean_up(self) -> list[str]:
        """Delete everything that the sweep made, on both sides."""
        left: list[str] = []
        copies = [own.naming.remote(own.source, self.topic) for own in self.tried]
        ledgers = [ledger_topic(own.source) for own in self.tried]
        for admin, topics in ((self.source, [self.topic]), (self.target, [*copies, *ledgers])):
            try:
                there = set(admin.list_topics())
                answers = admin.delete_topics([name for name in topics if name in there])
                left += [f"{admin.cluster}: {name} was not deleted: {why}" for name, why in answers.items() if why]
            except TwinlogError as error:
                left.append(f"{admin.cluster}: {', '.join(topics)} were not deleted: {error}")
        return left


def _used_s(costs: ProcessCosts) -> float | None:
    by_role = costs.look()
    return sum(cost.cpu_s for cost in by_role.values()) if by_role else None
