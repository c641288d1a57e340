"""All links and pipelines of one process: what is built for each, in which order it starts and stops, and why.

    settings ─▶ Spark session (once, slow: it starts while the clusters are asked) ─▶ one engine per link, side by side,
                                                                                    each with its sync jobs
                                                                                  ─▶ one job per pipeline

Stopping goes the other way: engines first, each letting its epoch finish, then Spark. A changed settings file replaces
single engines meanwhile (engine/fleet.py). No logic lives here.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from twinlog.config.pair import Pair, stand_in_pair
from twinlog.config.settings import HeartbeatPair, LinkSettings
from twinlog.control.kind import Position
from twinlog.control.states import EngineView
from twinlog.drill.canary import Canary
from twinlog.drill.reports import Reports
from twinlog.drill.run import Drills
from twinlog.engine.engine import LinkEngine
from twinlog.engine.fleet import Fleet, Job
from twinlog.engine.spec_changes import Change, Spec
from twinlog.errors import ConnectorRefused
from twinlog.flow.source import LinkRun
from twinlog.kafka.admin import ClusterAdmin
from twinlog.model.switch.events import OnSwitchEvent, ignore_event
from twinlog.model.verify.conflicts import ConflictReport
from twinlog.model.verify.report import VerifyReport
from twinlog.pipelines.preview import preview
from twinlog.pipelines.preview_rows import Preview
from twinlog.pipelines.spec import PipelineSpec
from twinlog.recovery.guard import ReturnGuard
from twinlog.recovery.own_engines import EngineCopier
from twinlog.recovery.switching import Switching
from twinlog.service.actions import forget_topic
from twinlog.service.link_transforms import check_transforms, start_link_query
from twinlog.service.pipeline_job import PipelineJob
from twinlog.service.questions import looking, observer
from twinlog.spark.place import SPARE_SLOTS, SparkPlace, spark_session
from twinlog.spark.session import session_for, stop_session
from twinlog.spark.work import MIRROR, Work
from twinlog.sync.ends import LinkEnds
from twinlog.sync.heartbeat_pairs import HeartbeatPairs
from twinlog.sync.jobs import SyncJobs
from twinlog.sync.link_jobs import sync_jobs_of
from twinlog.sync.link_topics import LinkTopics
from twinlog.sync.settings_file import SettingsFile
from twinlog.verify.conflicts import ConflictSearch, ConflictWish
from twinlog.verify.plan import Planner, VerifyWish
from twinlog.verify.run import OnProgress, Verification

_SPARK_STOP_SECONDS: Final = 3.0
"""How long whoever stops us while Spark starts waits for it, so that it is stopped in order."""


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
        group: str = "",
        take_over: bool = False,
        work: Work = MIRROR,
    ) -> None:
        """Nothing is started yet. One that `stays` begins without links: `become` brings them, at once or over HTTP.

        `group` names the services that are standbys of each other. `take_over`: the first engine of each of these links
        takes it even from a living engine of somebody else. `work` is what the JVM is started for.
        """
        self.worker_id = "twinlog"  # what the status topic calls this service
        self._work = work
        self._group = group
        self._to_take = {link.name for link in links} if take_over else set()
        self._stays = stays
        self._links = links
        self._heartbeats = heartbeats
        self._heartbeat_pairs = HeartbeatPairs()
        self._spark = spark
        self._state = state
        self._session: Any = None
        self._asked = asyncio.Event()
        self._cores = os.cpu_count() or 1
        self._slots = sum(link.reading.tasks_max or self._cores for link in links) + SPARE_SLOTS
        self._makers: dict[type, Callable[[Any], Job]] = {LinkSettings: self._engine, PipelineSpec: self._pipeline}
        self._fleet = Fleet(self._job, stays=stays)
        self._settings_file = SettingsFile()

    @property
    def jobs(self) -> list[Job]:
        """Everything that runs, or has ended by itself."""
        return self._fleet.jobs

    @property
    def links(self) -> list[LinkSettings]:
        """The links among the jobs."""
        return [job.spec for job in self.jobs if isinstance(job.spec, LinkSettings)]

    def _job(self, spec: Spec) -> Job:
        return self._makers[type(spec)](spec)

    def _engine(self, link: LinkSettings) -> LinkEngine:
        ends = LinkEnds.of(link)
        topics = LinkTopics(link, ends.source, ends.target)
        chores = SyncJobs(link.name, [*sync_jobs_of(ends), self._settings_file])
        return LinkEngine(
            link,
            topics,
            self._start_query,
            self._state / "checkpoints",
            self._cores,
            chores,
            on_held=ReturnGuard(stand_in_pair(link)),
            take_over=link.name in self._to_take,
            stands_by=self._stays,
            service=self._group,
        )

    def _pipeline(self, spec: PipelineSpec) -> PipelineJob:
        return PipelineJob(spec, lambda: self._session, self._state / "pipelines", self.worker_id)

    def _start_query(self, run: LinkRun, checkpoint: Path) -> Any:
        mirror = self._session if self._work is MIRROR else session_for(self._session, MIRROR)
        return start_link_query(self._session, mirror, run, checkpoint)

    async def run(self) -> None:
        """Run all links until each has ended. One link's end does not end another's (R8)."""
        # Before Spark, which is slow: settings that cannot work on this machine are told at once.
        check_transforms(self._links, "settings")
        engines = [] if self._stays else [self._engine(link) for link in self._links]
        starting = asyncio.create_task(asyncio.to_thread(self._start_spark))
        asked = asyncio.create_task(self._asked.wait())
        await asyncio.wait({starting, asked}, return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        if not starting.done():
            await asyncio.wait({starting}, timeout=_SPARK_STOP_SECONDS)
        if not starting.done():
            return  # nothing was begun; a JVM that is still starting ends with the process that started it
        starting.result()
        try:
            await self._heartbeat_pairs.become(self._heartbeats)
            await self._fleet.run(engines)
        finally:
            await self._heartbeat_pairs.become(())
            await asyncio.to_thread(self._stop_spark)

    def stop(self) -> None:
        """Ask every engine for a clean end."""
        self._asked.set()
        self._fleet.stop()

    async def apply(
        self, links: Sequence[LinkSettings], heartbeats: Sequence[HeartbeatPair] = ()
    ) -> tuple[Change, ...]:
        """Make these the links: a changed file was read and is in order. Links that are equal are not touched."""
        changes = await self.become(links, heartbeats)
        self.accept()
        return changes

    async def become(self, specs: Sequence[Spec], heartbeats: Sequence[HeartbeatPair]) -> tuple[Change, ...]:
        """Run these jobs and nothing else, wherever they were written."""
        changes = await self._fleet.apply(specs)
        self._to_take -= {spec.name for spec in specs}
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
        planner = Planner(link, ClusterAdmin(link.clients.source_admin), ClusterAdmin(link.clients.target_admin))
        return Verification(self._session, planner, self._cores, on_progress).run(wish, planner.plan(wish))

    def conflicts(self, link: LinkSettings, wish: ConflictWish) -> ConflictReport:
        """Search both logs for keys that were written on both sides. Blocks: call it in a thread."""
        return ConflictSearch(link, wish).run(self._session, self._cores)

    def preview(self, spec: PipelineSpec, rows: int) -> Preview:
        """Sample records of a pipeline after each step, on the session that is there. Blocks: call it in a thread."""
        if self._session is None:
            raise ConnectorRefused(spec.connector_name, f"{spec.connector_name}: Spark is starting; ask again soon")
        return preview(self._session, spec.connector(), spec.worker, rows)

    def switching(self, pair: Pair, folder: Path, on_event: OnSwitchEvent = ignore_event) -> Switching:
        """Switches of a pair, with engines on the session that is there."""
        return Switching(pair, EngineCopier(lambda: self._start_query, self._state / "switch"), folder, on_event)

    def drills(self, pair: Pair, reports: Path, say: Callable[[str], None]) -> Drills:
        """Rehearsals of a pair, with engines on the session that is there."""
        state = self._state / "drill"
        canary = Canary(pair, lambda: self._start_query, state, say)
        return Drills(
            pair, looking(pair.link), self.switching(pair, state / "switch"), canary.run, Reports(reports), say
        )

    # --- what connectors ask -------------------------------------------------------------------------------------

    async def begun(self) -> None:
        """Wait until jobs can run: Spark has started."""
        await self._fleet.begun()

    async def restart(self, name: str) -> None:
        await self._fleet.restart(name)

    def snapshot(self, name: str) -> EngineView | None:
        """The state of a job; None when there is none of this name."""
        job = next((known for known in self.jobs if known.spec.name == name), None)
        if job is None:
            return None
        failure = self._fleet.failure(name)
        if failure is not None:
            return EngineView("waiting", str(failure), 0)
        if isinstance(job, PipelineJob):
            return EngineView(job.phase, job.trouble, job.tasks, job.task_troubles, job.topics)
        return EngineView(job.phase, job.trouble, job.tasks)

    def check(self, spec: Spec) -> None:
        """Build a job and drop it: settings that cannot work on this machine raise."""
        self._job(spec)

    async def positions(self, link: LinkSettings) -> list[Position]:
        """How far a link is, by its ledger."""
        status = await observer(link).look()
        return [(part.partition.topic, part.partition.partition, part.source_next) for part in status.partitions]

    async def forget(self, link: LinkSettings, topic: str) -> None:
        """Let a topic begin anew."""
        await forget_topic(link, topic)

    def _start_spark(self) -> None:
        self._session = spark_session(self._spark, self._slots, self._state, self._work)

    def _stop_spark(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            stop_session(session)
