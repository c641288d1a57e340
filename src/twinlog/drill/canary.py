"""The canary drill: a topic of its own really fails over and back, with its own producer, consumer and engine.

    topic, records, a group half-way ─▶ engine copies ─▶ failover --planned ─▶ the group continues, records are produced
                                    ─▶ failback --delta ─▶ both logs are equal ─▶ everything is deleted

Production is not touched: the link of the drill has aliases of its own (`A-drill->B-drill`), hence a ledger, writers'
identities and a switch log of its own, no redirects, and no other link mirrors its topic. Everything else is the real
thing: the same clusters and credentials, the same engine, the same steps. Runs in the command's process.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from twinlog.config.pair import Pair
from twinlog.config.settings import ClientSettings, LinkSettings
from twinlog.drill.outcome import DrillOutcome
from twinlog.engine.engine import LinkEngine
from twinlog.errors import ClusterError, DrillStopped, TwinlogError
from twinlog.kafka.admin import ClusterAdmin, TopicOrder
from twinlog.kafka.clients import NewRecord, RecordProducer
from twinlog.kafka.shadow_group import delete_groups, read_as_group
from twinlog.kafka.spans import read_topic
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.groups.observed import GroupPosition
from twinlog.model.ledger.records import ledger_topic
from twinlog.model.names import TopicPartition
from twinlog.model.naming import DRILL_ALIAS, DRILL_PREFIX
from twinlog.model.routes.provenance import Provenance
from twinlog.model.selection import Selection
from twinlog.model.start import Earliest
from twinlog.model.switch.events import as_lines
from twinlog.model.switch.log import Command
from twinlog.recovery.own_engines import EngineCopier, StartQuery
from twinlog.recovery.report import Report
from twinlog.recovery.switching import Switching
from twinlog.sync.ends import LinkEnds
from twinlog.sync.jobs import SyncJobs
from twinlog.sync.link_jobs import sync_jobs_of
from twinlog.sync.link_topics import LinkTopics
from twinlog.wire.connection import Cluster
from twinlog.wire.groups import GroupCoordinators

_BEFORE: Final = 100
_COMMITTED: Final = 40
_AFTER: Final = 20
_WITHIN_S: Final = 120.0
_LOOK_S: Final = 0.1


def canary_pair(pair: Pair, name: str) -> Pair:
    """The pair of clusters under aliases of the drill's own, for one topic and one group of that name."""
    return Pair(_canary(pair.link, name), _canary(pair.back, name), back_enabled=False)


def _canary(link: LinkSettings, name: str) -> LinkSettings:
    source, target = f"{link.source}{DRILL_ALIAS}", f"{link.target}{DRILL_ALIAS}"
    only = Selection((name,), (), heartbeats=False)
    naming = dataclasses.replace(link.naming, policy="identity", source_alias=source)
    small = link.updated(
        copies={"start_from": Earliest(), "refresh_seconds": 1},
        mm2={"takeover": "off"},
        reading={"tasks_max": 1},
        writing={"ledger_shards": 1},
        group_offsets={"enabled": True, "seconds": 1, "refresh_seconds": 1},
        checkpoints={"enabled": True, "seconds": 1},
        heartbeats={"enabled": False},
        offset_syncs={"enabled": False},
        acls={"enabled": False},
        # Nobody is sent anywhere because of a rehearsal.
        switch={"redirects": (), "timeout_seconds": int(_WITHIN_S)},
    )
    return small.model_copy(
        update={
            "source": source,
            "target": target,
            "topics": only,
            "groups": only,
            "naming": naming,
            "provenance": Provenance("batch"),
        }
    )


@dataclass
class Canary:
    """One canary drill of a pair."""

    production: Pair
    query_starter: Callable[[], StartQuery]
    folder: Path
    say: Callable[[str], None] = lambda _: None
    name: str = field(default_factory=lambda: f"{DRILL_PREFIX}{uuid.uuid4().hex[:8]}")

    def __post_init__(self) -> None:
        self.pair = canary_pair(self.production, self.name)
        self.link = self.pair.link
        self.source, self.target = (
            ClusterAdmin(self.link.clients.source_admin),
            ClusterAdmin(self.link.clients.target_admin),
        )
        self.place = TopicPartition(self.name, 0)

    async def run(self) -> DrillOutcome:
        """Over and back; whatever happens, nothing of the drill stays, or it is named."""
        outcome = DrillOutcome("canary", rto_covers="from the decision until a record was read and one written")
        began = time.monotonic()
        try:
            await self._prepare()
            async with self._engine() as engine:
                await self._until(lambda: self._reached(engine) >= _BEFORE, "the copy of the drill's records")
                outcome.step("prepared and copied", time.monotonic() - began, f"{_BEFORE} records")
                await self._over(outcome)
                await self._back(outcome)
        except TwinlogError as error:
            outcome.failures.append(f"{error} {error.remedy_text()}".strip())
        finally:
            outcome.remarks += await self._clean_up()
        return outcome

    # --- the story ------------------------------------------------------------------------------------------------

    async def _prepare(self) -> None:
        order = TopicOrder(self.name, 1, self.link.copies.replication_factor, {})
        refusal = (await asyncio.to_thread(self.source.create_topics, [order]))[self.name]
        if refusal is not None:
            raise refusal
        await asyncio.to_thread(_produce, self.link.clients.source_producer, self.place, range(_BEFORE))
        await self._commit(self.link.clients.source_admin, _COMMITTED)

    async def _commit(self, settings: ClientSettings, position: int) -> None:
        cluster = Cluster(settings, "twinlog|drill")
        try:
            wanted = {self.name: {self.place: GroupPosition(position)}}
            answer = (await GroupCoordinators(cluster).commit_positions(wanted))[self.name]
        finally:
            await cluster.close()
        if isinstance(answer, ClusterError):
            raise answer

    async def _over(self, outcome: DrillOutcome) -> None:
        began = time.monotonic()
        report = await self._switch("failover-planned", outcome)
        seen, position = await self._read(self.link.clients.target_consumer, self.target, "target")
        await asyncio.to_thread(
            _produce, self.link.clients.target_producer, self.place, range(_BEFORE, _BEFORE + _AFTER)
        )
        outcome.rto_seconds = time.monotonic() - began
        outcome.step("a record read and written on the target", outcome.rto_seconds, f"switch {report.switch}")
        await self._commit(self.link.clients.target_admin, position)
        _compare(outcome, "after the failover the group", seen, range(_COMMITTED, _BEFORE))
        refused = await asyncio.to_thread(_refused, self.link.clients.source_producer, self.place)
        if not refused:
            outcome.failures.append("the old side still took a record after the failover: both sides were writable")

    async def _back(self, outcome: DrillOutcome) -> None:
        await self._switch("failback-delta", outcome)
        seen, _ = await self._read(self.link.clients.source_consumer, self.source, "source")
        _compare(outcome, "after the failback the group", seen, range(_BEFORE, _BEFORE + _AFTER))
        for client, admin, side in (
            (self.link.clients.source_consumer, self.source, "source"),
            (self.link.clients.target_consumer, self.target, "target"),
        ):
            log = await asyncio.to_thread(read_topic, admin, client, self.name, within_s=_WITHIN_S, committed=True)
            numbers = [int(record.value or b"-1") for record in log[self.place]]
            _compare(outcome, f"after the failback the log of the {side}", numbers, range(_BEFORE + _AFTER))

    async def _switch(self, command: Command, outcome: DrillOutcome) -> Report:
        began = time.monotonic()
        switching = Switching(
            self.pair, EngineCopier(self.query_starter, self.folder), self.folder / "switch", as_lines(self.say)
        )
        _, plan = await switching.plan(command)
        report = await switching.execute(plan)
        for step in report.steps:
            outcome.step(f"{command}: {step['step']}", float(step["took_ms"]) / 1000, str(step["says"]))
        outcome.step(command, time.monotonic() - began, report.outcome)
        if report.outcome != "done":
            raise DrillStopped(self.link.name, f"{command} ended as {report.outcome}")
        return report

    async def _read(self, client: ClientSettings, admin: ClusterAdmin, side: str) -> tuple[list[int], int]:
        """Read as the group, from where it stands to the end; returns the numbers and its next position."""
        ends = await asyncio.to_thread(admin.fetch_end_offsets, [self.place])
        end = ends[self.place]
        if isinstance(end, ClusterError):
            raise end
        limit = _BEFORE + _AFTER + 1_000
        windows = await asyncio.to_thread(
            read_as_group, client, self.name, {self.place: int(end)}, limit=limit, within_s=_WITHIN_S
        )
        if self.place not in windows:
            raise DrillStopped(self.link.name, f"the group has no position on the {side}")
        window = windows[self.place]
        return [int(record.value or b"-1") for record in window.records], window.next

    # --- around it ------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _engine(self) -> AsyncIterator[LinkEngine]:
        """The drill's own engine, as the service would run it."""
        start_query = await asyncio.to_thread(self.query_starter)
        ends = LinkEnds.of(self.link)
        engine = LinkEngine(
            self.link,
            LinkTopics(self.link, ends.source, ends.target),
            start_query,
            self.folder / "checkpoints",
            os.cpu_count() or 1,
            SyncJobs(self.link.name, sync_jobs_of(ends)),
        )
        life = asyncio.create_task(engine.run())
        try:
            yield engine
        finally:
            engine.stop()
            await asyncio.gather(life, return_exceptions=True)

    def _reached(self, engine: LinkEngine) -> int:
        state = engine.view.states.get(self.place) if engine.view is not None else None
        return state.source_next if state is not None else -1

    async def _until(self, done: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _WITHIN_S
        while not done():
            if time.monotonic() > deadline:
                raise DrillStopped(self.link.name, f"{what} did not come within {_WITHIN_S:.0f} s")
            await asyncio.sleep(_LOOK_S)

    async def _clean_up(self) -> list[str]:
        """Delete everything that the drill made, on both sides."""
        left: list[str] = []
        checkpoints = self.link.naming.checkpoints_topic
        for admin, topics in (
            (self.source, (self.name, ledger_topic(self.link.target), checkpoints(self.link.target))),
            (self.target, (self.name, ledger_topic(self.link.source), checkpoints(self.link.source))),
        ):
            try:
                there = set(await asyncio.to_thread(admin.list_topics))
                answers = await asyncio.to_thread(_delete, admin, [name for name in topics if name in there])
                left += [f"{admin.cluster}: {name} was not deleted: {why}" for name, why in answers]
                groups = await asyncio.to_thread(delete_groups, admin, [self.name])
                left += [
                    f"{admin.cluster}: group {name} was not deleted: {why}"
                    for name, why in groups.items()
                    if why is not None and "GROUP_ID_NOT_FOUND" not in str(why)
                ]
            except TwinlogError as error:
                left.append(f"{admin.cluster}: what the drill made there ({self.name}) was not deleted: {error}")
        return left


def _delete(admin: ClusterAdmin, names: Iterable[str]) -> list[tuple[str, str]]:
    answers = admin.delete_topics(names)
    return [(name, str(answer)) for name, answer in answers.items() if answer is not None]


def _produce(settings: ClientSettings, place: TopicPartition, numbers: range) -> None:
    """Produce numbered records; raises the first refusal."""
    refusals = _send(settings, place, numbers)
    if refusals:
        raise refusals[0]


def _refused(settings: ClientSettings, place: TopicPartition) -> bool:
    """Try to produce where it must not be possible any more."""
    return bool(_send(settings, place, range(-1, 0)))


def _send(settings: ClientSettings, place: TopicPartition, numbers: range) -> list[ClusterError]:
    refusals: list[ClusterError] = []

    def done(error: ClusterError | None) -> None:
        if error is not None:
            refusals.append(error)

    producer = RecordProducer(settings, compression="none", linger_ms=5)
    for number in numbers:
        # Wide enough for a fence that refuses records by their size.
        value = str(number).encode().ljust(64)
        producer.send(place, NewRecord(b"drill", value, (), SYSTEM_CLOCK.now_ms()), done)
    producer.flush(_WITHIN_S)
    return refusals


def _compare(outcome: DrillOutcome, who: str, seen: list[int], wanted: range) -> None:
    """Numbers make skipping, repeating and disorder visible."""
    if seen == list(wanted):
        outcome.facts[who] = f"{len(seen)} records, exactly {wanted.start}..{wanted.stop - 1}"
        return
    missing, extra = sorted(set(wanted) - set(seen)), sorted(set(seen) - set(wanted))
    outcome.failures.append(
        f"{who}: expected records {wanted.start}..{wanted.stop - 1}, saw {len(seen)}; "
        f"missing {missing[:5]}, unexpected {extra[:5]}, {len(seen) - len(set(seen))} twice"
    )
