"""The engine of one link: keeps the roster, the query and the engine record alive. Runs in the service's process.

    ledger topic ─▶ engine record (its offset is our generation) ─▶ roster ─▶ query ─▶ watch, refresh, repeat
         ▲                                                                                     │
         └───────────── the switch holds the link (switch_watch): wait, then sign in anew ◀────┘

Nothing here touches records. Every trouble is a visible state (`phase`, `trouble`), and everything that may pass is
waited for with growing pauses (R9, R14).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias

from twinlog.config.settings import LinkSettings
from twinlog.engine.binding import bind, check_before_signing_in
from twinlog.engine.query_run import QueryRun
from twinlog.engine.rivals import (
    HEARTBEAT_SECONDS,
    RIVAL_SECONDS,
    Rival,
    RivalListener,
    has_ended,
    is_ours,
    name_of,
)
from twinlog.engine.roster_cycle import RosterCycle, Topics
from twinlog.engine.switch_watch import SwitchWatch
from twinlog.errors import ClusterError, EngineBroke, LinkToItself, told
from twinlog.flow.source import LinkRun
from twinlog.flow.task_failures import TaskFailures
from twinlog.ledger.view import LedgerView
from twinlog.ledger.writer import LedgerWriter, roster_writer
from twinlog.ledger.writers import await_known_everywhere
from twinlog.model.backoff import Backoff
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.ledger.records import SWITCH_ENGINE, Engine, Memo, PartitionState
from twinlog.model.names import LinkName
from twinlog.model.naming import TOPIC
from twinlog.model.routes.provenance import ClusterIds
from twinlog.model.switch.log import StateEntry, pair_of
from twinlog.wire.connection import Cluster

log = logging.getLogger("twinlog.engine")

STOP_SECONDS: Final = 6.0
_IDLE_STOP_SECONDS: Final = 1.0
"""Before the first query there is nothing to bring to an end: only a request or two that are under way."""
_TELL_SECONDS: Final = 2.0
_SLOW_START_SECONDS: Final = 20.0
_TICK_S: Final = 0.25

Phase: TypeAlias = Literal["starting", "running", "waiting", "switched", "superseded", "stopped"]


class Beside(Protocol):
    """What is kept in step beside the records while the engine lives (given by the service: sync.chores)."""

    async def run(self, view: LedgerView, writer: LedgerWriter) -> None:
        """Until cancelled."""


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
    heeds_switch: bool = True
    # What to do while the switch holds the link (given by the service: recovery.guard).
    on_held: Callable[[StateEntry], Awaitable[None]] | None = None
    # Whether it may take the link from another engine that lives; whether it waits for the end of one that took it.
    take_over: bool = True
    stands_by: bool = False
    service: str = ""
    phase: Phase = "starting"
    trouble: str | None = None
    view: LedgerView | None = None
    generation: int = -1
    _roster: RosterCycle = field(init=False)
    _run: QueryRun = field(init=False)
    _engine_id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _beside_tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _following: asyncio.Task[None] | None = None
    _chores: asyncio.Task[None] | None = None
    _rival: Rival | None = None  # who has the link instead of us
    _since_ms: int = 0
    _took_from: str = ""
    _heeded: int = 0
    _carries_all: bool = False  # the query copies what came from the target, too
    _signed_out: bool = False  # by a switch: what we do needs a new generation
    _noted: bool = False  # a task of a query noted a partition
    _task_failures: TaskFailures = field(default_factory=TaskFailures)
    _task_trouble: str | None = None
    _out_of_time: bool = False  # the end was asked for and did not come

    def __post_init__(self) -> None:
        self._roster = RosterCycle(self.link, self.topics, self.cores)
        self._run = QueryRun(self.start_query, self.checkpoints / f"{self.link.source}-{self.link.target}")

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
        return self.link.tasks_max or self.cores

    async def run(self) -> None:
        """Until stopped or superseded by a later engine. Raises EngineDied when Spark is gone."""
        life = asyncio.create_task(self._live())
        asked = asyncio.create_task(self._stopping.wait())
        await asyncio.wait({life, asked}, return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        await asyncio.wait({life}, timeout=STOP_SECONDS + 1 if self._run.was_started else _IDLE_STOP_SECONDS)
        if not life.done():  # a cluster that is away would hold us for ever; stopping is safe at any moment
            self._out_of_time = True
            life.cancel()
            await asyncio.wait({life})
            if self._run.was_started:
                log.warning("%s: stopped hard: %s", self.link.name, self.trouble or "the epoch did not end in time")
            self._enter("stopped", self.trouble)
        elif not life.cancelled():
            life.result()
            if self.phase in {"starting", "waiting"}:
                self._enter("stopped", self.trouble)

    async def _live(self) -> None:
        target = Cluster(self.link.target_producer, f"twinlog|{self.link.name}|engine")
        watch = SwitchWatch(self.link, target)
        following = None
        try:
            shards: int | None = await self._patiently("preparing the ledger", lambda: self._prepare(target))
            if shards is None or await self._patiently("reading the switch", lambda: watch.read("target")) is None:
                return
            self._following = following = asyncio.create_task(watch.follow())
            while not self._stopping.is_set():
                if self._rival is not None:
                    await self._stand_by(target, self._rival)
                elif self._held(watch):
                    await self._stand_still(watch)
                    shards = None  # a full failback deletes the ledger of the way back meanwhile
                else:
                    await self._copy(target, shards, watch)
        except Exception as error:  # whoever keeps the engines starts it again; what happened is told here
            await self._tell_failure(target, error)
            raise
        finally:
            if following is not None:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
            await watch.close()
            await target.close()

    async def _copy(self, target: Cluster, shards: int | None, watch: SwitchWatch) -> None:
        """From signing in until stopped, or until the switch holds the link."""
        writer = roster_writer(target, self.link.source, self.link.name)
        tasks = self._beside_tasks
        self._signed_out = False
        self._enter("starting")
        if shards is None:
            shards = await self._patiently("preparing the ledger", lambda: self._prepare(target), watch)
        if shards is None:
            return
        try:
            self.view = view = LedgerView(dict.fromkeys(range(1 + shards), 0), keep_maps=True)
            ours = partial(check_before_signing_in, self.link, target, view, self._identify)
            if await self._patiently("asking whose ledger it is", ours, watch) is None:
                return
            await self._sign_in(target, writer, view, watch)
            if self._over or self._held(watch):
                return
            telling = asyncio.create_task(self._tell_why(writer, watch))
            tasks.append(telling)
            # The source may know of a switch that the target never heard of.
            looked = await self._patiently("reading the switch", lambda: watch.read("source"), watch)
            if looked is None or self._held(watch):
                return
            hear = partial(self._hear, watch)
            tasks.append(asyncio.create_task(view.follow(target, self.link.source, hear, lane="engine")))
            clusters = await self._patiently("reading cluster IDs", lambda: self._bind(writer, view))
            if clusters is None:
                return
            self._carries_all = self._wants_all(watch)
            if await self._patiently("reading the topics", lambda: self._refresh(writer, view)) is None:
                return
            link = self.link.carrying_all() if self._carries_all else self.link
            run = LinkRun(link, self.generation, shards, self.cores, clusters)
            telling.cancel()
            await self._drive(run, writer, view, watch)
        finally:
            try:
                await self._end_query(writer, watch)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                tasks.clear()
                self._chores = None

    @property
    def _pair(self) -> str:
        return pair_of(LinkName(self.link.source, self.link.target))

    @property
    def _over(self) -> bool:
        """Whether nothing more is to be copied, for now or for good."""
        return self._stopping.is_set() or self._rival is not None or self._signed_out

    async def _stand_by(self, target: Cluster, rival: Rival) -> None:
        """Wait for the end of the engine that has the link; it may be stopped, killed, or taken over itself."""
        listener = RivalListener(rival, target, self.link.source)
        while not self._stopping.is_set() and not rival.gone:
            self.trouble = rival.says(self.link.name)
            await self._pause(RIVAL_SECONDS)
            await listener.listen()
        if not self._stopping.is_set():
            log.warning("%s: %s has ended: this engine continues", self.link.name, name_of(rival.engine))
            self._rival, self._engine_id, self.generation = None, uuid.uuid4().hex[:12], -1
            self.phase, self.trouble = "starting", None

    def _give_way(self, engine: Engine) -> None:
        """Another engine has the link: nothing more is written (R10)."""
        self._rival = Rival(engine)
        self.phase = "superseded"
        self.trouble = self._rival.says(self.link.name) if self.stands_by else f"{name_of(engine)} took over"
        log.warning("%s: superseded: %s", self.link.name, self.trouble)
        if not self.stands_by:
            self._stopping.set()

    def _held(self, watch: SwitchWatch) -> bool:
        return self.heeds_switch and watch.holds

    async def _stand_still(self, watch: SwitchWatch) -> None:
        """Until the switch lets the link copy again; meanwhile an old primary that comes back is shut."""
        self._enter("switched", watch.reason)
        log.warning("%s: %s", self.link.name, watch.reason)
        while watch.holds and not self._stopping.is_set():
            self._see_that_all_live()
            if self.on_held is not None and watch.state is not None:
                await self.on_held(watch.state)
            self.trouble = watch.reason
            await self._pause(_TICK_S)
        self.trouble = None
        if not self._stopping.is_set():
            self._enter("starting")

    async def _tell_why(self, writer: LedgerWriter, watch: SwitchWatch) -> None:
        """Say in the ledger that the first steps are under way, and why they wait, for instance for a source (R14).

        Who says nothing is taken for dead by others (R9). Nothing is copied meanwhile, so whatever the switch decides
        is obeyed.
        """
        told: tuple[str | None, int] = (None, watch.generation)
        again = time.monotonic() + HEARTBEAT_SECONDS
        while True:
            now = (self.trouble, watch.generation)
            if self.phase in {"starting", "waiting"} and (now != told or time.monotonic() >= again):
                told, again = now, time.monotonic() + HEARTBEAT_SECONDS
                self._heeded = watch.generation
                phase = "switched" if self._held(watch) else "starting"
                try:
                    async with asyncio.timeout(_TELL_SECONDS):
                        await writer.write([self._record(phase, self.generation)])
                except (TimeoutError, ClusterError) as error:
                    log.warning("%s: not told why it waits: %s", self.link.name, error)
            await asyncio.sleep(_TICK_S)

    async def _tell_failure(self, target: Cluster, error: Exception) -> None:
        """Say in the ledger, too, why nothing moves: an engine that is only silent has no cause (R14)."""
        log.error("%s: the engine failed", self.link.name, exc_info=error)
        self._enter("waiting", told(error))
        if self.generation < 0 or self.phase == "superseded":
            return
        try:
            async with asyncio.timeout(_TELL_SECONDS):
                writer = roster_writer(target, self.link.source, self.link.name)
                await writer.write([self._record("starting", self.generation)])
        except (TimeoutError, ClusterError) as trouble:
            log.warning("%s: the ledger was not told: %s", self.link.name, trouble)

    def _enter(self, phase: Phase, trouble: str | None = None) -> None:
        """Go on to another phase. Superseded is the last one, whatever was under way when it was heard (R10)."""
        if self.phase != "superseded":
            self.phase, self.trouble = phase, trouble

    def _say(self, trouble: str | None) -> None:
        """The trouble of the present phase. Work that ends late must not hide who has the link (R14)."""
        self._enter(self.phase, trouble)

    def stop(self) -> None:
        """Ask for a clean end: what was read is written and noted."""
        self._stopping.set()

    # --- steps --------------------------------------------------------------------------------------------------------

    async def _patiently(self, what: str, work: Callable[[], Any], watch: SwitchWatch | None = None) -> Any:
        """Try until it works; None when stopped or held meanwhile. Clusters that are away are waited for."""
        backoff = Backoff(0.5, 10.0)
        while not self._over and not (watch is not None and self._held(watch)):
            try:
                done = await work()
            except (ClusterError, TimeoutError) as error:
                self._enter("waiting", f"{what}: {error}")
                log.warning("%s: waiting: %s: %s", self.link.name, what, error)
                await self._pause(backoff.next_s())
            else:
                self._say(None)
                return done
        return None

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return

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

    async def _sign_in(self, target: Cluster, writer: LedgerWriter, view: LedgerView, watch: SwitchWatch) -> None:
        """Become the link's engine: the log decides who came last (R10).

        What a switch wrote is looked at before, so that its record stays the last word while we have not read its
        decision; and behind our own, because it may have signed in just before us.
        """
        await view.catch_up(target, self.link.source)
        watch.shut_out = view.shut_out(self._pair)
        if self._held(watch):
            return
        there = await self._living(target, view)
        if there is not None and not self.take_over:
            self._give_way(there)
            return
        self._since_ms, self._took_from = SYSTEM_CLOCK.now_ms(), "" if there is None else name_of(there)
        await writer.write([self._record("starting", generation=None)])
        await view.catch_up(target, self.link.source)
        watch.shut_out = view.shut_out(self._pair)
        if view.engine is not None and view.engine.engine_id == SWITCH_ENGINE:
            self._signed_out = True
            return
        if view.engine is None or view.engine.engine_id != self._engine_id:
            self.phase = "superseded"
            if view.engine is not None:
                self._give_way(view.engine)
            self._stopping.set()
            return
        self.take_over = self.take_over and not self.stands_by  # an order to take it counts once
        self.generation = view.engine.generation or 0
        if self._held(watch):  # our record covers that of the switch, so it must say the same
            await writer.write([self._record("switched", self.generation)])
            return
        log.info("%s: signed in as generation %d", self.link.name, self.generation)

    async def _living(self, target: Cluster, view: LedgerView) -> Engine | None:
        """The engine of somebody else that has the link, once it is known to live; waits where that is in doubt."""
        if view.engine is None or is_ours(view.engine, self.service) or has_ended(view.engine):
            return None
        rival = Rival(view.engine)
        listener = RivalListener(rival, target, self.link.source)
        while not (self.take_over or rival.heard or rival.gone or self._stopping.is_set()):
            self._enter("waiting", f"{name_of(rival.engine)} had this link; waiting to see whether it still runs")
            await self._pause(RIVAL_SECONDS)
            await listener.listen()
        self._enter("starting")
        return None if rival.gone else rival.engine

    def _record(self, phase: Any, generation: int | None) -> Engine:
        return Engine(
            engine_id=self._engine_id,
            generation=generation,
            host=socket.gethostname(),
            pid=os.getpid(),
            phase=phase,
            replan=self._roster.replan,
            trouble=self.trouble,
            heeded=self._heeded,
            shut_out=self.view.shut_out(self._pair) if self.view is not None else 0,
            shut_out_pair=self._pair,
            epochs=self.epochs,
            epochs_failed=self.epochs_failed,
            service=self.service,
            since_ms=self._since_ms,
            took_from=self._took_from,
            at_ms=SYSTEM_CLOCK.now_ms(),
        )

    def _hear(self, watch: SwitchWatch, entry: Any) -> None:
        self._noted |= isinstance(entry, PartitionState)
        if isinstance(entry, Memo):
            self._task_failures.hear(entry, self.generation, time.monotonic())
        if isinstance(entry, Engine) and (entry.generation or 0) > self.generation >= 0:
            if entry.engine_id == SWITCH_ENGINE and self.heeds_switch:
                watch.shut_out, self._signed_out = entry.shut_out, True
            else:
                self._give_way(entry)

    async def _drive(self, run: LinkRun, writer: LedgerWriter, view: LedgerView, watch: SwitchWatch) -> None:
        """Keep the query running, the roster fresh and the engine record warm."""
        next_refresh = time.monotonic() + self.link.refresh_topics_seconds
        next_beat = 0.0
        refreshing: asyncio.Task[None] | None = None
        while not self._over and not self._held(watch) and self._wants_all(watch) == self._carries_all:
            self._see_that_all_live()
            if await self._heed_draining(writer, view, watch):
                next_beat = 0.0
                if self._drains(watch):
                    # Before it is told that we obey: the switch relies on us to know every topic.
                    await self._refresh_once(writer, view)
            if self._run.query is None:
                failure = await self._start(run, writer)
                if failure is not None:
                    await self._after_failure(failure, writer)
                    continue
                self._enter("running")
            if self._hear_of_tasks():
                next_beat = 0.0
            now = time.monotonic()
            failure = await self._run.look(count=now >= next_beat)
            if failure is not None:
                await self._after_failure(failure, writer)
                continue
            if now >= next_beat:
                self._see_ledger(writer, view)
                await writer.write([self._record("running", self.generation)])
                next_beat = now + HEARTBEAT_SECONDS
            if refreshing is not None and refreshing.done():
                self._beside_tasks.remove(refreshing)
                refreshing.result()
                refreshing = None
                next_refresh = time.monotonic() + self.link.refresh_topics_seconds
            elif self.link.refresh_topics_enabled and now >= next_refresh and refreshing is None:
                # Beside us: a source that is away takes a minute to say nothing, and we must go on hearing.
                refreshing = asyncio.create_task(self._refresh_once(writer, view))
                self._beside_tasks.append(refreshing)
            await self._pause(_TICK_S)

    async def _start(self, run: LinkRun, writer: LedgerWriter) -> str | None:
        """Start a query; tells what it failed with."""
        beating = asyncio.create_task(self._beat_while_starting(writer))
        try:
            return await self._run.start(run)
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)

    async def _beat_while_starting(self, writer: LedgerWriter) -> None:
        """Spark may take its time, and who says nothing is taken for dead by others (R9)."""
        began = time.monotonic()
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            if (so_far := time.monotonic() - began) > _SLOW_START_SECONDS:
                self._say(f"Spark has been starting the query for {so_far:.0f} s; nothing is copied meanwhile")
            with contextlib.suppress(TimeoutError, ClusterError):
                async with asyncio.timeout(_TELL_SECONDS):
                    await writer.write([self._record("starting", self.generation)])

    async def _after_failure(self, failure: str, writer: LedgerWriter) -> None:
        """Report what the query failed with, and wait before the next one."""
        pause = self._run.fail(failure)
        self._enter("waiting", failure)
        log.warning("%s: the query failed: %s", self.link.name, failure)
        await writer.write([self._record("starting", self.generation)])
        await self._pause(pause)

    def _hear_of_tasks(self) -> bool:
        """What query and tasks fail with is the link's trouble, unless it has another; tells if it is new (R14)."""
        now = time.monotonic()
        before = self._task_trouble
        self._task_trouble = self._task_failures.trouble(now) or self._run.trouble(now)
        if self.trouble is None or self.trouble == before:
            self._say(self._task_trouble)
        return before != self._task_trouble

    async def _heed_draining(self, writer: LedgerWriter, view: LedgerView, watch: SwitchWatch) -> bool:
        """SyncJobs run, unless the switch is changing what they would change back; tells whether anything is new.

        That they rest is told in the engine's record: the switch waits for it before it touches the clusters.
        """
        drains = self._drains(watch)
        if drains and self._chores is not None:
            self._chores.cancel()
            await asyncio.gather(self._chores, return_exceptions=True)
            self._beside_tasks.remove(self._chores)
            self._chores = None
        elif not drains and self._chores is None and self.beside is not None:
            self._chores = asyncio.create_task(self.beside.run(view, writer))
            self._beside_tasks.append(self._chores)
        before, self._heeded = self._heeded, watch.generation
        return before != self._heeded

    def _drains(self, watch: SwitchWatch) -> bool:
        return self.heeds_switch and watch.drains

    def _wants_all(self, watch: SwitchWatch) -> bool:
        return self.heeds_switch and watch.wants_all

    def _see_ledger(self, writer: LedgerWriter, view: LedgerView) -> None:
        """Name parts of the ledger that have no leader: what their shards hold is not copied meanwhile (R14)."""
        begins = f"{writer.topic}: no leader for its partitions "
        lost = view.leaderless(writer.cluster, self.link.source)
        if lost:
            self._say(f"{begins}{', '.join(map(str, lost))}; the topics noted there are not copied meanwhile")
        elif (self.trouble or "").startswith(begins):
            self._say(None)

    def _see_that_all_live(self) -> None:
        """What runs beside waits for clusters by itself; when it ends it met a mistake of ours: begin anew."""
        for task in (*self._beside_tasks, *filter(None, [self._following])):
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                raise EngineBroke(self.link.name, f"{type(error).__name__}; the log says more") from error

    async def _refresh(self, writer: LedgerWriter, view: LedgerView) -> bool:
        # What is copied back whole is read from its first record on, whatever `start.from` says.
        return await self._roster.refresh(writer, view, whole=self._carries_all)

    async def _refresh_once(self, writer: LedgerWriter, view: LedgerView) -> None:
        try:
            await self._refresh(writer, view)
        except (ClusterError, TimeoutError) as error:
            self._say(f"reading the topics: {error}")
            log.warning("%s: reading the topics: %s", self.link.name, error)
        else:
            self._say(None)

    async def _end_query(self, writer: LedgerWriter, watch: SwitchWatch) -> None:
        """Let the running epoch finish (readers see "stopping" in the ledger), then stop the query."""
        if self._run.query is None:
            return
        held = self._held(watch) and not self._stopping.is_set()
        superseded = self.phase == "superseded"
        try:
            if not superseded and not self._out_of_time:
                async with asyncio.timeout(STOP_SECONDS):
                    before = await self._run.last_batch()
                    await writer.write([self._record("stopping", self.generation)])
                    await self._run.await_end_of_epoch(before, lambda: self._noted)
        except (TimeoutError, ClusterError) as error:
            log.warning("%s: stopping hard: %s", self.link.name, str(error) or "the epoch did not end in time")
        await self._run.stop()
        if not superseded:
            self._enter("switched" if held else "stopped", watch.reason if held else self.trouble)
            self._heeded = watch.generation
            try:
                async with asyncio.timeout(1.0):
                    await writer.write([self._record(self.phase, self.generation)])
            except (TimeoutError, ClusterError) as error:
                log.warning("%s: not signed out: %s", self.link.name, str(error) or "the target does not answer")
