"""The connectors of one service, put together: leadership, sharing, plan, orders. It has no logic of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from twinlog.config.resolve import Resolved
from twinlog.control.audit import Audit
from twinlog.control.connectors import Connectors
from twinlog.control.group_trust import GroupTrust
from twinlog.control.kind import Runner
from twinlog.control.leadership import Leadership, MakeStore
from twinlog.control.levels import OrderedLevels
from twinlog.control.orders import Orders
from twinlog.control.planning import Planning
from twinlog.control.sealing import Seal
from twinlog.control.sharing import Sharing
from twinlog.control.worker_reports import MakeTable, WorkerReports
from twinlog.engine.spec_changes import Change
from twinlog.model.connectors import GroupState
from twinlog.pipelines.worker_settings import Worker


class ConnectorService:
    """Links of the settings file go the same way as connectors: one list of jobs, and one rule who runs them."""

    def __init__(
        self,
        runner: Runner,
        make_store: MakeStore,
        *,
        group: str,
        instance: str,
        url: str | None,
        environment: Mapping[str, str],
        audit: Audit | None = None,
        trust: GroupTrust | None = None,
        worker: Worker | None = None,
        reports: MakeTable | None = None,
    ) -> None:
        """Nothing is read yet. `worker` says where pipelines run; without one there are links only.

        `reports` is where services of the group tell each other of their pipelines; without it one of them runs all.
        """
        self.runner = runner
        self.audit = audit or Audit()
        self.trust = trust or GroupTrust()
        self.levels = OrderedLevels()
        self.planning = Planning(runner.check, environment, Seal(group, self.trust.secret), worker=worker)
        self.leadership = Leadership(
            make_store,
            group,
            instance,
            url,
            self.audit,
            self.trust,
            self._links_of_file,
            on_read=self._begin_orders,
            on_news=self._take_orders,
        )
        self.sharing = Sharing(self.leadership, self.planning, runner)
        if reports is not None:
            self.sharing.reports = WorkerReports(reports, self.trust, instance, self.sharing.heard)
            self.leadership.on_members = self.sharing.members_changed
        self.connectors = Connectors(self.leadership, self.planning, runner, self.sharing)
        self.orders = Orders(self.leadership, self.planning, self.connectors, self.audit, self.levels)
        self._runs = False
        self._changing = asyncio.Lock()

    def _links_of_file(self) -> tuple[str, ...]:
        file = self.planning.file
        return () if file is None else tuple(link.name for link in file.links)

    async def run(self) -> None:
        """Until cancelled: read the store, lead when it is our turn, run what is to run."""
        sharing = asyncio.create_task(self.sharing.run())
        try:
            await self.leadership.run(
                self._bring_into_force, lambda: self.planning.refresh(self.leadership.group_state)
            )
        finally:
            sharing.cancel()
            await asyncio.gather(sharing, return_exceptions=True)

    def _begin_orders(self, group_state: GroupState) -> None:
        self.levels.begin(group_state)
        self.sharing.begin_orders(group_state)

    def _take_orders(self, group_state: GroupState) -> None:
        self.levels.take(group_state)
        self.sharing.take_orders(group_state)

    async def use_file(self, file: Resolved) -> tuple[Change, ...]:
        """Take the links of a settings file, at first and whenever it changed."""
        self.planning.file = file
        return await self._bring_into_force() if self.leadership.is_open else ()

    async def _bring_into_force(self) -> tuple[Change, ...]:
        async with self._changing:
            await self.planning.refresh(self.leadership.group_state)
            leads = self.leadership.active
            if leads:
                await self.leadership.say_who_leads()
                await self.sharing.deal()
            jobs = await self.sharing.begin(self.planning.plan)
            # Whoever is only a standby must not wait for Spark to start before it can lead.
            if not (leads or jobs or self._runs):
                return ()
            self._runs = True
            changes = await self.runner.become(jobs, self.planning.plan.heartbeats if leads else ())
            await self.sharing.begun(jobs)
            self._runs = leads or bool(jobs)
            return changes

    @property
    def superseded(self) -> dict[str, str]:
        """Jobs of ours that another process has, each with its sentence."""
        if not self.leadership.active:
            return {}
        snapshots = {spec.name: self.runner.snapshot(spec.name) for spec in self.sharing.own(self.planning.plan)}
        return {
            name: snapshot.trouble or "another process has it"
            for name, snapshot in snapshots.items()
            if snapshot and snapshot.phase == "superseded"
        }
