"""Which service of a group runs which pipeline. Runs in the service's loop.

    group's members (Kafka) ─▶ leader: deal ─▶ leader's record in the links topic ─▶ each service runs its share
    each service ─▶ its report in the status topic: what it holds, and the state of it

A pipeline moves by a clean stop: its new service waits until the report of the former one no longer holds it, or the
former one is no member any more. Should both run it for a moment, the fences of sources and sinks keep the former one
from writing (R10). A service that is alone deals nothing and tells nothing.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from twinlog.control.kind import Plan, Runner
from twinlog.control.kinds import kind_of
from twinlog.control.leadership import Leadership
from twinlog.control.planning import Planning
from twinlog.control.worker_reports import PipelineReport, WorkerReport, WorkerReports
from twinlog.engine.spec_changes import Spec
from twinlog.errors import ClusterError
from twinlog.model.connectors import Connector, GroupState, Leader, Share
from twinlog.model.dealing import deal
from twinlog.pipelines.spec import PipelineSpec

log = logging.getLogger("twinlog.connectors")

Numbers = Mapping[str, float | None]
_RELEASE_S: Final = 60.0
"""How long a service waits for another one to let go of a pipeline. A clean stop takes 30 s at most."""
_AGAIN_S: Final = 1.0
_TROUBLED_S: Final = 5.0
_NOT_DEALT: Final = "pipelines cannot be dealt"
_NOT_TOLD: Final = "services of the group cannot tell each other of their pipelines"
_TELL_S: Final = 1.0
_NUMBERS_S: Final = 5.0


@dataclass
class Sharing:
    """The share of one service, and what the others tell of theirs. Without `reports` the leader runs everything."""

    leadership: Leadership
    planning: Planning
    runner: Runner
    reports: WorkerReports | None = None
    numbers: Callable[[str], Numbers] = lambda _: {}  # of a pipeline that runs here: rate, lag and so on
    ready: bool = False  # whether jobs can run here: Spark has started
    members: Mapping[str, str | None] = field(default_factory=dict)  # the others that can run pipelines, by instance
    _troubles: dict[str, str] = field(default_factory=dict)  # what cannot be done, and why
    _changed: bool = True  # members came or went since they were asked for
    _holds: dict[str, int] = field(default_factory=dict)  # what runs here -> the tenure that it was started in
    _waiting: dict[str, float] = field(default_factory=dict)  # ours, but not let go of: since when
    _restarts: Mapping[str, int] = field(default_factory=dict)
    _told_at: float = 0.0
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _publishing: asyncio.Lock = field(default_factory=asyncio.Lock)

    # --- who runs what ------------------------------------------------------------------------------------------------

    @property
    def _leader(self) -> Leader | None:
        return self.leadership.group_state.leader

    @property
    def is_shared(self) -> bool:
        """Whether several services run pipelines."""
        return self._leader is not None and bool(self._leader.work)

    def owner_of(self, name: str) -> str | None:
        """The instance of the service that runs a pipeline; None: nobody leads."""
        return None if self._leader is None else self._leader.owner_of(name)

    def runs_here(self, name: str) -> bool:
        """Whether a pipeline is ours to run."""
        owner = self.owner_of(name)
        is_leader = self.leadership.active and self._leader is not None and owner == self._leader.instance
        return is_leader or owner == self.leadership.instance

    def url_of(self, name: str) -> str | None:
        """Where the service can be asked that runs a pipeline."""
        owner = self.owner_of(name)
        if self._leader is None or owner is None or owner == self.leadership.instance:
            return self.leadership.url
        return self._leader.url_of(owner)

    def told_of(self, name: str) -> PipelineReport | None:
        """What another service tells of a pipeline that it runs; None for one of ours, or when it told nothing."""
        owner = self.owner_of(name)
        if self.reports is None or owner is None or self.runs_here(name):
            return None
        report = self.reports.of_services.get(owner)
        return None if report is None else report.pipelines.get(name)

    def holder_of(self, name: str) -> str | None:
        """Where another service still runs a pipeline, which it does not own any more, or which has to stop."""
        return next((instance for instance, report in self._others().items() if name in report.holds), None)

    def own(self, plan: Plan) -> tuple[Spec, ...]:
        """The jobs that are ours: our share of the pipelines, and everything else if we lead."""
        return tuple(
            spec
            for spec in plan.jobs
            if (self.runs_here(spec.connector_name) if isinstance(spec, PipelineSpec) else self.leadership.active)
        )

    @property
    def holds(self) -> frozenset[str]:
        """The pipelines that run here."""
        return frozenset(self._holds)

    def _others(self) -> Mapping[str, WorkerReport]:
        """The reports of the other living services; empty for one that told nothing yet."""
        leader = self._leader
        if self.reports is None or leader is None or not leader.work:
            return {}
        told = self.reports.of_services
        living = {leader.instance, *leader.work} - {self.leadership.instance}
        return {instance: told[instance] for instance in living if instance in told}

    # --- the leader deals ---------------------------------------------------------------------------------------------

    def members_changed(self) -> None:
        """Services came or went."""
        self._changed = True
        if self.leadership.active:
            self.leadership.due()

    async def deal(self) -> None:
        """Deal the pipelines over the members, if that is due. Raises NotActive."""
        leader = self._leader
        if self.reports is None or leader is None:
            return
        try:
            if self._changed and not await self._ask_members():
                self._later(_AGAIN_S)
                return
            work = self._dealt(leader)
            if work == leader.work:
                return
            if work:
                await self._open()
                await self._tell()  # before anybody can take something that still runs here
            await self.leadership.share(work)
            said = "; ".join(f"{share.url or instance}: {len(share.connectors)}" for instance, share in work.items())
            log.info("group %s: pipelines are dealt: %s", self.leadership.group, said or "this service runs all")
            await self.reports.forget({self.leadership.instance, *self.members})
        except ClusterError as error:
            self._in_trouble(_NOT_DEALT, error)
        else:
            self._troubles.pop(_NOT_DEALT, None)

    async def _ask_members(self) -> bool:
        self._changed = False
        try:
            announced = await asyncio.to_thread(self.leadership.members)
        except ClusterError:
            self._changed = True
            raise
        if announced is None:
            self._changed = True
            return False
        known = [service for text in announced if (service := self.leadership.trust.announced(text)) is not None]
        self.members = {instance: url for instance, url in known if instance != self.leadership.instance}
        return True

    def _dealt(self, leader: Leader) -> dict[str, Share]:
        if not self.members:
            return {}
        names = [connector.name for connector in self._pipelines() if connector.state != "STOPPED"]
        if not names:
            return {}
        urls = dict(self.members)
        if self.ready:
            urls[self.leadership.instance] = self.leadership.url
        before = {instance: share.connectors for instance, share in leader.work.items()}
        dealt = deal(names, urls, before or {self.leadership.instance: names})
        return {instance: Share(urls[instance], its) for instance, its in dealt.items()}

    def _pipelines(self) -> list[Connector]:
        """All that can be dealt. A class that this service does not have may be there in another one."""
        made = [each for each in self.planning.connectors(self.leadership.group_state) if not each.in_file]
        return [each for each in made if (kind := kind_of(each)) is None or kind.role == "pipeline"]

    # --- each service runs its share ----------------------------------------------------------------------------------

    async def begin(self, plan: Plan) -> tuple[Spec, ...]:
        """The jobs to run now, told to the others before they start."""
        if self.is_shared:
            await self._told(self._open)
        jobs = tuple(spec for spec in self.own(plan) if self._is_free(spec))
        self._holds = {name: self._tenure(name) for name in _names(jobs)} | self._holds
        if self.is_shared:
            await self._told(self._tell)
        return jobs

    async def begun(self, jobs: Sequence[Spec]) -> None:
        """These run, and what ran before has ended."""
        names = _names(jobs)
        if ended := self._holds.keys() - names:
            log.info("group %s: stopped here: %s", self.leadership.group, ", ".join(sorted(ended)))
        if ended & _names(self.own(self.planning.plan)):
            self._later(0)  # another service had it meanwhile, and it is ours again
        self._holds = {name: tenure for name, tenure in self._holds.items() if name in names}
        self._waiting = {name: since for name, since in self._waiting.items() if self.runs_here(name)}
        if self.is_shared:
            await self._told(self._tell)
        elif self.reports is not None:
            await self._told(self.reports.withdraw)

    def _is_free(self, spec: Spec) -> bool:
        """Whether no other service holds a pipeline that is ours, or we have waited for long enough."""
        leader = self._leader
        if not isinstance(spec, PipelineSpec) or leader is None:
            return True
        name, told = spec.connector_name, self._others()
        if name in self._holds:  # another service may have run it since we looked last: then it is ended first
            return self._holds[name] == self._tenure(name)
        living = {leader.instance, *leader.work} - {self.leadership.instance} if leader.work else set()
        if all(instance in told and name not in told[instance].holds for instance in living):
            self._waiting.pop(name, None)
            return True
        left = self._waiting.setdefault(name, time.monotonic()) + _RELEASE_S - time.monotonic()
        if left > 0:
            self._later(left)
            return False
        log.warning("group %s: %s is started here; the service that ran it did not tell that it stopped",
                    self.leadership.group, name)  # fmt: skip
        return True

    def _tenure(self, name: str) -> int:
        return self.leadership.group_state.tenure_of(name)

    def heard(self) -> None:
        """Another service told something."""
        if self._waiting:
            self.leadership.due()

    # --- what is told -------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Until cancelled: become a member once jobs can run, and tell the others when something changed."""
        if self.reports is None:
            return
        await self.runner.begun()
        self.ready = True
        self.leadership.announce(self.leadership.trust.announcement(self.leadership.instance, self.leadership.url))
        self.leadership.due()
        try:
            while True:
                await asyncio.sleep(_TELL_S)
                await self._tell_changes(self.reports)
        finally:
            await self.reports.close()

    async def _tell_changes(self, reports: WorkerReports) -> None:
        before = reports.written
        if not self.is_shared or before is None:
            return
        is_due = time.monotonic() - self._told_at > _NUMBERS_S
        if is_due or self._report().without_numbers() != before.without_numbers():
            await self._told(self._tell)

    async def _told(self, how: Callable[[], Awaitable[None]]) -> None:
        """Tell the others, or ask them. Where that fails links continue, and so does every pipeline that runs (R8)."""
        try:
            await how()
        except ClusterError as error:
            self._in_trouble(_NOT_TOLD, error)
        else:
            self._troubles.pop(_NOT_TOLD, None)

    @property
    def trouble(self) -> str | None:
        """Why pipelines cannot be dealt, or why the others do not hear of ours."""
        return "; ".join(f"{what}: {why}" for what, why in self._troubles.items()) or None

    def _in_trouble(self, what: str, error: ClusterError) -> None:
        if self._troubles.get(what) != str(error):
            log.warning("group %s: %s: %s", self.leadership.group, what, error)
        self._troubles[what] = str(error)
        self._later(_TROUBLED_S)

    async def _open(self) -> None:
        if self.reports is not None:
            await self.reports.open()

    async def _tell(self) -> None:
        if self.reports is not None:
            async with self._publishing:
                self._told_at = time.monotonic()
                await self.reports.write(self._report())

    def _report(self) -> WorkerReport:
        plan = self.planning.plan
        told = {}
        for connector in self._pipelines():
            name, job = connector.name, f"pipeline {connector.name}"
            if self.runs_here(name):
                refused = plan.troubles.get(name) or plan.refused.get(job)
                told[name] = PipelineReport.of(self.runner.snapshot(job), refused, self.numbers(name))
        return WorkerReport(self.holds, told)

    # --- orders -------------------------------------------------------------------------------------------------------

    def begin_orders(self, group_state: GroupState) -> None:
        """Remember what was ordered before our time."""
        self._restarts = group_state.restarts

    def take_orders(self, group_state: GroupState) -> None:
        """Restart what somebody ordered to restart since, and what runs here."""
        before, self._restarts = self._restarts, group_state.restarts
        for name, at_ms in self._restarts.items():
            if before.get(name) != at_ms and name in self._holds:
                task = asyncio.create_task(self.runner.restart(f"pipeline {name}"))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    def _later(self, seconds: float) -> None:
        asyncio.get_running_loop().call_later(seconds, self.leadership.due)


def _names(jobs: Sequence[Spec]) -> frozenset[str]:
    return frozenset(spec.connector_name for spec in jobs if isinstance(spec, PipelineSpec))
