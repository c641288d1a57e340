"""The engine of one link: keeps the roster, the query and the engine record alive. Runs in the service's process.

    ledger topic ─▶ engine record (its offset is our generation) ─▶ roster ─▶ query ─▶ watch, refresh, repeat
         ▲                                                                                     │
         └───────────── the switch holds the link (switch_watch): wait, then sign in anew ◀────┘

Nothing here touches records. Every trouble is a visible state (`phase`, `trouble`), and everything that may pass is
waited for with growing pauses (R9, R14).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from twinlog.config.settings import LinkSettings
from twinlog.engine.beside import Beside, BesideTasks
from twinlog.engine.binding import bind, check_before_signing_in
from twinlog.engine.query_run import QueryRun
from twinlog.engine.rivals import HEARTBEAT_SECONDS
from twinlog.engine.roster_cycle import RosterCycle, Topics
from twinlog.engine.signing_in import SigningIn
from twinlog.engine.state import EngineState, Phase
from twinlog.engine.switch_watch import SwitchWatch
from twinlog.engine.telling import beat_while_starting, tell_failure, tell_why_it_waits
from twinlog.errors import ClusterError, LinkToItself
from twinlog.flow.source import LinkRun
from twinlog.flow.task_failures import TaskFailures
from twinlog.ledger.view import LedgerView
from twinlog.ledger.writer import LedgerWriter, roster_writer
from twinlog.ledger.writers import await_known_everywhere
from twinlog.model.backoff import Backoff
from twinlog.model.ledger.records import SWITCH_ENGINE, Engine, Memo, PartitionState
from twinlog.model.naming import TOPIC
from twinlog.model.routes.provenance import ClusterIds
from twinlog.model.switch.log import StateEntry
from twinlog.wire.connection import Cluster

log = logging.getLogger("twinlog.engine")

STOP_SECONDS: Final = 6.0
_IDLE_STOP_SECONDS: Final = 1.0
"""Before the first query there is nothing to bring to an end: only a request or two that are under way."""
_TICK_S: Final = 0.25


@dataclass
class LinkEngine:
    """One link from start to stop."""

    link: LinkSettings
    topics: Topics
    start_query: Callable[[LinkRun, Path], Any]
    checkpoints: Path
    cores: int
    beside: Beside | None = None
    # False for the engine of a switch itself, which copies while all others are held.
    follows_switch: bool = True
    # What to do while the switch holds the link (given by the service: recovery.guard).
    on_held: Callable[[StateEntry], Awaitable[None]] | None = None
    # Whether it may take the link from another engine that lives; whether it waits for the end of one that took it.
    take_over: bool = True
    stands_by: bool = False
    service: str = ""
    _state: EngineState = field(init=False)
    _run: QueryRun = field(init=False)
    _roster: RosterCycle = field(init=False)
    _tasks: BesideTasks = field(init=False)
    _following: asyncio.Task[None] | None = None
    _carries_all: bool = False  # the query copies what came from the target, too
    _noted: bool = False  # a task of a query noted a partition
    _task_failures: TaskFailures = field(default_factory=TaskFailures)
    _task_trouble: str | None = None
    _out_of_time: bool = False  # the end was asked for and did not come

    def __post_init__(self) -> None:
        self._roster = RosterCycle(self.link, self.topics, self.cores)
        self._run = QueryRun(self.start_query, self.checkpoints / f"{self.link.source}-{self.link.target}")
        self._state = EngineState(self.link, self._roster, self._run, self.stands_by, self.service)
        self._tasks = BesideTasks(self.link.name, self.beside)

    @property
    def phase(self) -> Phase:
        return self._state.phase

    @property
    def trouble(self) -> str | None:
        """Why it does not advance, if so."""
        return self._state.trouble

    @property
    def view(self) -> LedgerView | None:
        """The ledger as it reads it; None before it signed in."""
        return self._state.view

    @property
    def generation(self) -> int:
        """The offset of its record in the ledger; -1 before it signed in."""
        return self._state.generation

    @property
    def epochs(self) -> int:
        """How many epochs came to their end."""
        return self._run.epochs

    @property
    def epochs_failed(self) -> int:
        """How many queries failed."""
        return self._run.epochs_failed

    @property
    def spec(self) -> LinkSettings:
        """What it runs, for the fleet."""
        return self.link

    @property
    def tasks(self) -> int:
        """How many tasks copy."""
        return self.link.reading.tasks_max or self.cores

    async def run(self) -> None:
        """Until stopped or superseded by a later engine. Raises EngineDied when Spark is gone."""
        life = asyncio.create_task(self._live())
        asked = asyncio.create_task(self._state.stopping.wait())
        await asyncio.wait({life, asked}, return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        await asyncio.wait({life}, timeout=STOP_SECONDS + 1 if self._run.was_started else _IDLE_STOP_SECONDS)
        if not life.done():  # a cluster that is away would hold us for ever; stopping is safe at any moment
            self._out_of_time = True
            life.cancel()
            await asyncio.wait({life})
            if self._run.was_started:
                log.warning("%s: stopped hard: %s", self.link.name, self.trouble or "the epoch did not end in time")
            self._state.enter("stopped", self.trouble)
        elif not life.cancelled():
            life.result()
            if self.phase in {"starting", "waiting"}:
                self._state.enter("stopped", self.trouble)

    async def _live(self) -> None:
        target = Cluster(self.link.clients.target_producer, f"twinlog|{self.link.name}|engine")
        watch = SwitchWatch(self.link, target)
        signing_in = SigningIn(self._state, target, take_over=self.take_over, follows_switch=self.follows_switch)
        following = None
        try:
            shards: int | None = await self._with_retries("preparing the ledger", lambda: self._prepare(target))
            if shards is None or await self._with_retries("reading the switch", lambda: watch.read("target")) is None:
                return
            self._following = following = asyncio.create_task(watch.follow())
            while not self._state.stopping.is_set():
                if self._state.rival is not None:
                    await signing_in.stand_by(self._state.rival)
                elif self._held(watch):
                    await self._stand_still(watch)
                    shards = None  # a full failback deletes the ledger of the way back meanwhile
                else:
                    await self._copy(target, shards, watch, signing_in)
        except Exception as error:  # whoever keeps the engines starts it again; what happened is told here
            await tell_failure(self._state, target, error)
            raise
        finally:
            if following is not None:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
            await watch.close()
            await target.close()

    async def _copy(self, target: Cluster, shards: int | None, watch: SwitchWatch, signing_in: SigningIn) -> None:
        """From signing in until stopped, or until the switch holds the link."""
        writer = roster_writer(target, self.link.source, self.link.name)
        self._state.signed_out = False
        self._state.enter("starting")
        if shards is None:
            shards = await self._with_retries("preparing the ledger", lambda: self._prepare(target), watch)
        if shards is None:
            return
        try:
            self._state.view = view = LedgerView(dict.fromkeys(range(1 + shards), 0), keep_maps=True)
            check = partial(check_before_signing_in, self.link, target, view, self._identify)
            if await self._with_retries("asking whose ledger it is", check, watch) is None:
                return
            await signing_in.sign_in(writer, view, watch)
            if self._state.over or self._held(watch):
                return
            telling = self._tasks.begin(tell_why_it_waits(self._state, writer, watch, lambda: self._held(watch)))
            # The source may know of a switch that the target never heard of.
            looked = await self._with_retries("reading the switch", lambda: watch.read("source"), watch)
            if looked is None or self._held(watch):
                return
            hear = partial(self._hear, watch)
            self._tasks.begin(view.follow(target, self.link.source, hear, lane="engine"))
            clusters = await self._with_retries("reading cluster IDs", lambda: self._bind(writer, view))
            if clusters is None:
                return
            self._carries_all = self._wants_all(watch)
            if await self._with_retries("reading the topics", lambda: self._refresh(writer, view)) is None:
                return
            link = self.link.carrying_all() if self._carries_all else self.link
            run = LinkRun(link, self.generation, shards, self.cores, clusters)
            telling.cancel()
            await self._drive(run, writer, view, watch)
        finally:
            try:
                await self._end_query(writer, watch)
            finally:
                await self._tasks.end_all()

    def _held(self, watch: SwitchWatch) -> bool:
        return self.follows_switch and watch.holds

    async def _stand_still(self, watch: SwitchWatch) -> None:
        """Until the switch lets the link copy again; meanwhile an old primary that comes back is shut."""
        self._state.enter("switched", watch.reason)
        log.info("%s: %s", self.link.name, watch.reason)  # the state is what is shown
        while watch.holds and not self._state.stopping.is_set():
            self._tasks.see_that_all_live(self._following)
            if self.on_held is not None and watch.state is not None:
                await self.on_held(watch.state)
            self._state.trouble = watch.reason
            await self._state.pause(_TICK_S)
        self._state.trouble = None
        if not self._state.stopping.is_set():
            self._state.enter("starting")

    def stop(self) -> None:
        """Ask for a clean end: what was read is written and noted."""
        self._state.stopping.set()

    # --- steps --------------------------------------------------------------------------------------------------------

    async def _with_retries(self, what: str, work: Callable[[], Any], watch: SwitchWatch | None = None) -> Any:
        """Try until it works; None when stopped or held meanwhile. Clusters that are away are waited for."""
        backoff = Backoff(0.5, 10.0)
        while not self._state.over and not (watch is not None and self._held(watch)):
            try:
                done = await work()
            except (ClusterError, TimeoutError) as error:
                self._state.enter("waiting", f"{what}: {error}")
                log.info("%s: waiting: %s: %s", self.link.name, what, error)  # the state is what is shown, once
                await self._state.pause(backoff.next_s())
            else:
                self._state.say(None)
                return done
        return None

    async def _prepare(self, target: Cluster) -> int:
        shards = await asyncio.to_thread(self.topics.ensure_ledger)
        await await_known_everywhere(target)
        return shards

    async def _bind(self, writer: LedgerWriter, view: LedgerView) -> ClusterIds:
        return await bind(self.link, writer, view, await self._identify())

    async def _identify(self) -> ClusterIds:
        clusters = await asyncio.to_thread(self.topics.cluster_ids)
        naming = self.link.naming
        if clusters.source == clusters.target and naming.policy == "identity" and naming.rename_format == TOPIC:
            raise LinkToItself(self.link.name, clusters.target)
        return clusters

    def _hear(self, watch: SwitchWatch, entry: Any) -> None:
        self._noted |= isinstance(entry, PartitionState)
        if isinstance(entry, Memo):
            self._task_failures.hear(entry, self.generation, time.monotonic())
        if isinstance(entry, Engine) and (entry.generation or 0) > self.generation >= 0:
            if entry.engine_id == SWITCH_ENGINE and self.follows_switch:
                watch.shut_out, self._state.signed_out = entry.shut_out, True
            else:
                self._state.give_way(entry)

    async def _drive(self, run: LinkRun, writer: LedgerWriter, view: LedgerView, watch: SwitchWatch) -> None:
        """Keep the query running, the roster fresh and the engine record warm."""
        next_refresh = time.monotonic() + self.link.copies.refresh_seconds
        next_beat = 0.0
        refreshing: asyncio.Task[None] | None = None
        while not self._state.over and not self._held(watch) and self._wants_all(watch) == self._carries_all:
            self._tasks.see_that_all_live(self._following)
            if await self._follow_draining(writer, view, watch):
                next_beat = 0.0
                if self._drains(watch):
                    # Before it is told that we obey: the switch relies on us to know every topic.
                    await self._refresh_once(writer, view)
            if self._run.query is None:
                failure = await self._start(run, writer)
                if failure is not None:
                    await self._after_failure(failure, writer)
                    continue
                self._state.enter("running")
            if self._hear_of_tasks():
                next_beat = 0.0
            now = time.monotonic()
            failure = await self._run.look(count=now >= next_beat)
            if failure is not None:
                await self._after_failure(failure, writer)
                continue
            if now >= next_beat:
                self._see_ledger(writer, view)
                await writer.write([self._state.record("running", self.generation)])
                next_beat = now + HEARTBEAT_SECONDS
            if refreshing is not None and refreshing.done():
                self._tasks.finish(refreshing)
                refreshing = None
                next_refresh = time.monotonic() + self.link.copies.refresh_seconds
            elif self.link.copies.refresh_enabled and now >= next_refresh and refreshing is None:
                # Beside us: a source that is away takes a minute to say nothing, and we must keep hearing.
                refreshing = self._tasks.begin(self._refresh_once(writer, view))
            await self._state.pause(_TICK_S)

    async def _start(self, run: LinkRun, writer: LedgerWriter) -> str | None:
        """Start a query; tells what it failed with."""
        beating = asyncio.create_task(beat_while_starting(self._state, writer))
        try:
            return await self._run.start(run)
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)

    async def _after_failure(self, failure: str, writer: LedgerWriter) -> None:
        """Report what the query failed with, and wait before the next one."""
        pause = self._run.fail(failure)
        self._state.enter("waiting", failure)
        log.warning("%s: the query failed: %s", self.link.name, failure)
        await writer.write([self._state.record("starting", self.generation)])
        await self._state.pause(pause)

    def _hear_of_tasks(self) -> bool:
        """What query and tasks fail with is the link's trouble, unless it has another; tells if it is new (R14)."""
        now = time.monotonic()
        before = self._task_trouble
        self._task_trouble = self._task_failures.trouble(now) or self._run.trouble(now)
        if self.trouble is None or self.trouble == before:
            self._state.say(self._task_trouble)
        return before != self._task_trouble

    async def _follow_draining(self, writer: LedgerWriter, view: LedgerView, watch: SwitchWatch) -> bool:
        """Sync jobs run, unless the switch is changing what they would change back; tells whether anything is new.

        That they rest is told in the engine's record: the switch waits for it before it touches the clusters.
        """
        if self._drains(watch):
            await self._tasks.rest_sync_jobs()
        else:
            await self._tasks.run_sync_jobs(view, writer)
        before, self._state.heeded = self._state.heeded, watch.generation
        return before != self._state.heeded

    def _drains(self, watch: SwitchWatch) -> bool:
        return self.follows_switch and watch.drains

    def _wants_all(self, watch: SwitchWatch) -> bool:
        return self.follows_switch and watch.wants_all

    def _see_ledger(self, writer: LedgerWriter, view: LedgerView) -> None:
        """Name parts of the ledger that have no leader: what their shards hold is not copied meanwhile (R14)."""
        begins = f"{writer.topic}: no leader for its partitions "
        lost = view.leaderless(writer.cluster, self.link.source)
        if lost:
            self._state.say(f"{begins}{', '.join(map(str, lost))}; the topics noted there are not copied meanwhile")
        elif (self.trouble or "").startswith(begins):
            self._state.say(None)

    async def _refresh(self, writer: LedgerWriter, view: LedgerView) -> bool:
        # What is copied back whole is read from its first record on, whatever `start.from` says.
        return await self._roster.refresh(writer, view, whole=self._carries_all)

    async def _refresh_once(self, writer: LedgerWriter, view: LedgerView) -> None:
        try:
            await self._refresh(writer, view)
        except (ClusterError, TimeoutError) as error:
            self._state.say(f"reading the topics: {error}")
            log.warning("%s: reading the topics: %s", self.link.name, error)
        else:
            self._state.say(None)

    async def _end_query(self, writer: LedgerWriter, watch: SwitchWatch) -> None:
        """Let the running epoch finish (readers see "stopping" in the ledger), then stop the query."""
        if self._run.query is None:
            return
        held = self._held(watch) and not self._state.stopping.is_set()
        superseded = self.phase == "superseded"
        try:
            if not superseded and not self._out_of_time:
                async with asyncio.timeout(STOP_SECONDS):
                    before = await self._run.last_batch()
                    await writer.write([self._state.record("stopping", self.generation)])
                    await self._run.await_end_of_epoch(before, lambda: self._noted)
        except (TimeoutError, ClusterError) as error:
            log.warning("%s: stopping hard: %s", self.link.name, str(error) or "the epoch did not end in time")
        await self._run.stop()
        if not superseded:
            self._state.enter("switched" if held else "stopped", watch.reason if held else self.trouble)
            self._state.heeded = watch.generation
            try:
                async with asyncio.timeout(1.0):
                    await writer.write([self._state.record(self.phase, self.generation)])
            except (TimeoutError, ClusterError) as error:
                log.warning("%s: not signed out: %s", self.link.name, str(error) or "the target does not answer")
