"""The composition root: what is built, in which order it starts and stops, and why.

    settings ─▶ Spark session (once, slow: it starts while the clusters are asked) ─▶ one engine per link, side by side,
                                                                                    each with its chores

Stopping goes the other way: engines first, each letting its epoch finish, then Spark. A changed settings file replaces
single engines meanwhile (flow/fleet.py). No logic lives here.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from twinlog.audit.verify import OnProgress, Verification
from twinlog.audit.verify_plan import Planner, VerifyWish
from twinlog.config.changes import Change
from twinlog.config.pair import Pair, stand_in_pair
from twinlog.config.resolve import Resolved
from twinlog.config.settings import ClientSettings, HeartbeatPair, LinkSettings
from twinlog.connectors.audit import Audit
from twinlog.connectors.states import EngineSight
from twinlog.connectors.steward import Position, Steward
from twinlog.doctor.answers import Diagnosis
from twinlog.doctor.gather import gather
from twinlog.doctor.registry import examine
from twinlog.drill.canary import Canary
from twinlog.drill.reports import Reports
from twinlog.drill.run import Drills
from twinlog.errors import EngineNotStarted, UsageError
from twinlog.flow.engine import LinkEngine
from twinlog.flow.fleet import Engine, Fleet
from twinlog.flow.forget import forget
from twinlog.flow.observe import Observer
from twinlog.flow.query import SparkRuntime, start_query, start_session
from twinlog.flow.source import LinkRun
from twinlog.kafka.admin import ClusterAdmin
from twinlog.kafka.links_topic import LinksTopic
from twinlog.ledger.view import LedgerView
from twinlog.local.java import spark_java_home
from twinlog.model.health import LinkStatus
from twinlog.model.link_diff import LinkDiff
from twinlog.model.names import TopicPartition
from twinlog.model.topics import TopicFacts
from twinlog.model.verify_report import VerifyReport
from twinlog.recovery.guard import ReturnGuard
from twinlog.recovery.own_engines import EngineCopier, StartQuery
from twinlog.recovery.switching import Switching
from twinlog.sync.chores import Chores
from twinlog.sync.ends import LinkEnds
from twinlog.sync.explain import GroupExplanation, TopicExplanation, explain_group, explain_topic
from twinlog.sync.group_report import Answer, GroupReport, report_groups, translate
from twinlog.sync.heartbeat_pairs import HeartbeatPairs
from twinlog.sync.link_chores import chores_of
from twinlog.sync.link_diff import differences
from twinlog.sync.link_topics import LinkTopics
from twinlog.sync.offset_reset import OffsetResets
from twinlog.sync.settings_file import SettingsFile
from twinlog.sync.takeover_preview import TakeoverRow, preview_takeover


@dataclass(frozen=True)
class SparkPlace:
    """Where the data path runs: this machine, or the user's cluster."""

    master: str | None = None
    options: tuple[tuple[str, str], ...] = ()


SPARE_SLOTS: Final = 256
"""Slots of local Spark for links that a changed file adds: an idle slot costs nothing, a missing one stalls a link."""


class Service:
    """All links of one process."""

    def __init__(
        self,
        links: Sequence[LinkSettings],
        spark: SparkPlace,
        state: Path,
        heartbeats: Sequence[HeartbeatPair] = (),
        *,
        stays: bool = False,
    ) -> None:
        """Nothing is started yet. One that `stays` begins without links: `become` brings them, at once or over HTTP."""
        self._stays = stays
        self._links = links
        self._heartbeats = heartbeats
        self._heartbeat_pairs = HeartbeatPairs()
        self._spark = spark
        self._state = state
        self._session: Any = None
        self._cores = os.cpu_count() or 1
        self._slots = sum(link.tasks_max or self._cores for link in links) + SPARE_SLOTS
        self._fleet = Fleet(self._engine, stays=stays)
        self._settings_file = SettingsFile()

    @property
    def engines(self) -> list[Engine]:
        """The engines of all links."""
        return self._fleet.engines

    def _engine(self, link: LinkSettings) -> LinkEngine:
        ends = LinkEnds.of(link)
        topics = LinkTopics(link, ends.source, ends.target)
        chores = Chores(link.name, [*chores_of(ends), self._settings_file])
        return LinkEngine(
            link,
            topics,
            self._start_query,
            self._state / "checkpoints",
            self._cores,
            chores,
            on_held=ReturnGuard(stand_in_pair(link)),
        )

    def _start_query(self, run: LinkRun, checkpoint: Path) -> Any:
        return start_query(self._session, run, checkpoint)

    async def run(self) -> None:
        """Run all links until each has ended. One link's end does not end another's (R8)."""
        # Before Spark, which is slow: settings that cannot work on this machine are told at once.
        engines = [] if self._stays else [self._engine(link) for link in self._links]
        await asyncio.to_thread(self._start_spark)
        try:
            await self._heartbeat_pairs.become(self._heartbeats)
            await self._fleet.run(engines)
        finally:
            await self._heartbeat_pairs.become(())
            await asyncio.to_thread(self._stop_spark)

    def stop(self) -> None:
        """Ask every engine for a clean end."""
        self._fleet.stop()

    async def apply(
        self, links: Sequence[LinkSettings], heartbeats: Sequence[HeartbeatPair] = ()
    ) -> tuple[Change, ...]:
        """Make these the links: a changed file was read and is in order. Links that are equal are not touched."""
        changes = await self.become(links, heartbeats)
        self.accept()
        return changes

    async def become(self, links: Sequence[LinkSettings], heartbeats: Sequence[HeartbeatPair]) -> tuple[Change, ...]:
        """Make these the links, wherever they were written."""
        changes = await self._fleet.apply(links)
        await self._heartbeat_pairs.become(heartbeats)
        return changes

    def accept(self) -> None:
        """Show in the status of every link that the file is in force."""
        self._settings_file.accepted()

    def reject(self, reasons: Iterable[str]) -> None:
        """Show in the status of every link that the file is wrong and that it runs with what was read before."""
        self._settings_file.rejected(reasons)

    def verify(self, link: LinkSettings, wish: VerifyWish, on_progress: OnProgress) -> VerifyReport:
        """Compare both logs of a link on the session that its engine runs on. Blocks: call it in a thread."""
        on_progress("planning", 0, 0)
        planner = Planner(link, ClusterAdmin(link.source_admin), ClusterAdmin(link.target_admin))
        return Verification(self._session, planner, self._cores, on_progress).run(wish, planner.plan(wish))

    def switching(self, pair: Pair, folder: Path) -> Switching:
        """Switches of a pair, with engines on the session that is there."""
        return Switching(pair, EngineCopier(lambda: self._start_query, self._state / "switch"), folder)

    def drills(self, pair: Pair, reports: Path, say: Callable[[str], None]) -> Drills:
        """Rehearsals of a pair, with engines on the session that is there."""
        eyes = observer(pair.link)

        async def look() -> tuple[LinkStatus, LedgerView]:
            return await eyes.look(), eyes.view

        state = self._state / "drill"
        canary = Canary(pair, lambda: self._start_query, state, say)
        return Drills(pair, look, self.switching(pair, state / "switch"), canary.run, Reports(reports), say)

    # --- what the steward of connectors asks ---------------------------------------------------------------------

    async def restart(self, link: str) -> None:
        """Begin a link anew."""
        await self._fleet.restart(link)

    def sight(self, link: str) -> EngineSight | None:
        """How the engine of a link stands; None when it has none here."""
        engine = next((one for one in self.engines if one.link.name == link), None)
        if engine is None:
            return None
        failure = self._fleet.failure(link)
        if failure is not None:
            return EngineSight("waiting", str(failure), 0)
        return EngineSight(engine.phase, engine.trouble, engine.link.tasks_max or self._cores)

    def check(self, link: LinkSettings) -> None:
        """Build a link's engine and drop it: settings that cannot work on this machine raise."""
        self._engine(link)

    async def positions(self, link: LinkSettings) -> list[Position]:
        """How far a link is, by its ledger."""
        status = await observer(link).look()
        return [(part.partition.topic, part.partition.partition, part.source_next) for part in status.partitions]

    async def forget(self, link: LinkSettings, topic: str) -> None:
        """Let a topic begin anew."""
        await forget_topic(link, topic)

    def _start_spark(self) -> None:
        self._session = _spark_session(self._spark, self._slots, self._state)

    def _stop_spark(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            _stop_session(session)


def store_of(file: Resolved) -> ClientSettings:
    """The cluster that keeps what is made over HTTP."""
    store = file.service.store or next((link.target_admin for link in file.links), None)
    if store is None:
        raise UsageError("links made over HTTP need a place: set store.bootstrap.servers, or a link in the file")
    return store


def cluster_id_of(file: Resolved) -> Callable[[], str]:
    """Ask that cluster for its id, once."""
    admin = ClusterAdmin(store_of(file))
    return functools.cache(admin.fetch_cluster_id)


def steward(service: Service, file: Resolved, instance: str, url: str | None) -> Steward:
    """The steward of a service's connectors; the file says where they are kept."""
    settings, store = file.service, store_of(file)
    return Steward(
        service,
        lambda on_news, on_turn: LinksTopic(
            store,
            settings.group_id,
            replication_factor=settings.store_replication_factor,
            on_news=on_news,
            on_turn=on_turn,
        ),
        settings.group_id,
        instance,
        url,
        os.environ,
        Audit(settings.http.audit_file),
    )


def _spark_session(place: SparkPlace, slots: int, state: Path) -> Any:
    java_home = os.environ.get("JAVA_HOME") if place.master else str(spark_java_home())
    runtime = SparkRuntime(place.master, slots, java_home, dict(place.options), state / "spark.log")
    try:
        return start_session(runtime)
    except Exception as error:
        raise EngineNotStarted(str(error).strip().split("\n", 1)[0], _tail(runtime.log)) from error


def _stop_session(session: Any) -> None:
    with contextlib.suppress(Exception):  # its JVM may be gone already, which is what we want
        session.stop()


def verify_link(
    link: LinkSettings, wish: VerifyWish, spark: SparkPlace, state: Path, on_progress: OnProgress
) -> VerifyReport:
    """Compare both logs of a link on a Spark session of its own; the link may run meanwhile, here or elsewhere."""
    on_progress("planning", 0, 0)
    planner = Planner(link, ClusterAdmin(link.source_admin), ClusterAdmin(link.target_admin))
    plan = planner.plan(wish)
    slots = os.cpu_count() or 1
    on_progress("starting Spark", 0, 0)
    session = _spark_session(spark, slots, state)
    try:
        return Verification(session, planner, slots, on_progress).run(wish, plan)
    finally:
        _stop_session(session)


def offset_resets(links: Sequence[LinkSettings], cluster: str) -> OffsetResets:
    """The consumer groups of one cluster of the file, by its alias."""
    admins = {link.target: link.target_admin for link in links} | {link.source: link.source_admin for link in links}
    if cluster not in admins:
        raise UsageError(f"{cluster}: no enabled link has that cluster; there are {', '.join(sorted(admins))}")
    return OffsetResets(admins[cluster], ClusterAdmin(admins[cluster]))


def observer(link: LinkSettings) -> Observer:
    """Eyes on a link, from anywhere."""
    admin = ClusterAdmin(link.source_admin)
    committed = link.fetch.isolation == "read_committed"
    return Observer(
        link,
        lambda wanted: admin.fetch_end_offsets(wanted, committed=committed),
        admin.fetch_end_offsets if committed else None,
    )


async def group_report(link: LinkSettings, wanted: Callable[[str], bool]) -> GroupReport:
    """How the consumer groups of a link stand on both sides."""
    return await report_groups(LinkEnds.of(link), wanted)


async def translate_position(link: LinkSettings, asked: TopicPartition, offset: int, *, reverse: bool) -> Answer:
    """One position on the other side of a link."""
    return await translate(LinkEnds.of(link), asked, offset, reverse=reverse)


async def link_differences(link: LinkSettings, wanted: Callable[[str], bool]) -> LinkDiff:
    """What is not the same on both ends of a link."""
    return await differences(LinkEnds.of(link), wanted)


async def topic_explanation(link: LinkSettings, topic: str) -> TopicExplanation:
    """Whether and why a link mirrors a topic."""
    return await explain_topic(LinkEnds.of(link), topic)


async def group_explanation(link: LinkSettings, group: str) -> GroupExplanation:
    """Whether and why a link translates a group's positions."""
    return await explain_group(LinkEnds.of(link), group)


async def takeover_preview(
    link: LinkSettings, *, offsets_topic: str | None, connector: str | None
) -> list[TakeoverRow]:
    """Where a link would go on behind MirrorMaker 2."""
    return await preview_takeover(LinkEnds.of(link), offsets_topic=offsets_topic, connector=connector)


async def examine_link(link: LinkSettings) -> list[Diagnosis]:
    """Ask both clusters everything that a disaster would test, and judge it."""
    eyes = observer(link)

    async def look() -> tuple[LinkStatus, LedgerView]:
        return await eyes.look(), eyes.view

    return examine(await gather(link, look))


@contextlib.contextmanager
def switching(pair: Pair, spark: SparkPlace, folder: Path, state: Path) -> Iterator[Switching]:
    """Switches of a pair of clusters. Spark starts only for a step that copies, and ends with the block."""
    with _spark_when_needed(spark, state) as starter:
        yield Switching(pair, EngineCopier(starter, state), folder)


@contextlib.contextmanager
def drills(
    pair: Pair, spark: SparkPlace, reports: Path, state: Path, say: Callable[[str], None] = print
) -> Iterator[Drills]:
    """Rehearsals of a link. Spark starts only for a canary, and ends with the block."""
    eyes = observer(pair.link)

    async def look() -> tuple[LinkStatus, LedgerView]:
        return await eyes.look(), eyes.view

    with _spark_when_needed(spark, state) as starter:
        switch = Switching(pair, EngineCopier(starter, state), state / "switch")
        canary = Canary(pair, starter, state, say)
        yield Drills(pair, look, switch, canary.run, Reports(reports), say)


@contextlib.contextmanager
def _spark_when_needed(spark: SparkPlace, state: Path) -> Iterator[Callable[[], StartQuery]]:
    sessions: list[Any] = []

    def starter() -> StartQuery:
        if not sessions:
            sessions.append(_spark_session(spark, SPARE_SLOTS, state))
        return lambda run, checkpoint: start_query(sessions[0], run, checkpoint)

    try:
        yield starter
    finally:
        for session in sessions:
            _stop_session(session)


def _tail(log: Path, lines: int = 15) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:]) if log.exists() else ""


async def forget_topic(link: LinkSettings, topic: str) -> None:
    """Let a topic begin anew, once its target topic is gone."""
    admin = ClusterAdmin(link.target_admin)
    remote = link.naming.remote(link.source, topic)
    there = admin.describe_topics([remote])[remote]
    if isinstance(there, TopicFacts):
        raise UsageError(f"{remote}: still exists on {link.target}; delete it first, or its records would be doubled")
    await forget(link, topic)


def scratch_folder() -> Path:
    """Where Spark keeps what may be lost."""
    return Path(tempfile.mkdtemp(prefix="twinlog-"))


__all__ = [
    "Service",
    "SparkPlace",
    "drills",
    "examine_link",
    "forget_topic",
    "group_explanation",
    "group_report",
    "link_differences",
    "observer",
    "offset_resets",
    "scratch_folder",
    "steward",
    "store_of",
    "switching",
    "takeover_preview",
    "topic_explanation",
    "translate_position",
    "verify_link",
]
