"""The operations that HTTP handlers may call, and their implementation over a running service.

Routers and pages know only `Backend`. They parse and render; everything that is decided is decided behind it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from twinlog.config.pair import Pair, load_pair, stand_in_pair
from twinlog.config.resolve import load_file
from twinlog.config.settings import ClientSettings, LinkSettings
from twinlog.config.text.lookup import Origin
from twinlog.control.connector_service import ConnectorService
from twinlog.control.states import ConnectorStatus
from twinlog.doctor.answers import Diagnosis
from twinlog.drill.outcome import Kind as DrillKind
from twinlog.drill.reports import Reports
from twinlog.errors import ConnectorUnknown, UsageError
from twinlog.ledger.view import LedgerView
from twinlog.machine.folders import state_folder
from twinlog.model.ledger.control import Control
from twinlog.model.names import TopicPartition
from twinlog.model.switch.events import OnSwitchEvent, ignore_event
from twinlog.model.switch.log import Command
from twinlog.model.switch.plan import Facts, Plan
from twinlog.model.verify.conflicts import ConflictReport
from twinlog.model.verify.report import VerifyReport
from twinlog.recovery.report import Report
from twinlog.recovery.switching import Standing, Switching
from twinlog.registry.pair.site import Site
from twinlog.service import examine_link, group_report, observer, translate_position
from twinlog.service.actions import order_control
from twinlog.service.links import Service
from twinlog.service.pipeline_queries import PipelineQueries, PipelineView
from twinlog.service.questions import record_pair, topic_explanation
from twinlog.service.registries import Registries
from twinlog.sync.answers.explain import TopicExplanation
from twinlog.sync.answers.group_report import Answer, GroupReport
from twinlog.sync.answers.record_pair import RecordPair
from twinlog.verify.conflicts import ConflictWish
from twinlog.verify.plan import VerifyWish
from twinlog.verify.run import OnProgress
from twinlog.watch.clusters import ClusterCard, look_at_card
from twinlog.watch.monitor import LinkObserver

if TYPE_CHECKING:
    from twinlog.control.kind import Offset
    from twinlog.pipelines.engine import Engine
    from twinlog.pipelines.parked import Parked
    from twinlog.pipelines.preview_rows import Preview

Say = Callable[[str], None]
OrderChange = Callable[[Control, LedgerView], Control]


class Pipelines(Protocol):
    """What can be asked of pipelines, and ordered (service/pipeline_queries.py)."""

    def names(self) -> Sequence[str]:
        """All of them, those that stand still included."""

    def engines(self) -> Sequence[Engine]:
        """Those that run here."""

    def view(self, name: str) -> PipelineView:
        """One of them. Raises ConnectorUnknown."""

    async def offsets(self, name: str) -> Sequence[Offset]:
        """How far it is."""

    async def parked(self, name: str) -> Sequence[Parked]:
        """Its dead letters."""

    async def replay(self, name: str, at: Sequence[str], repaired: Mapping[str, bytes], to: str | None) -> int:
        """Write dead letters back to their topics."""

    async def drop(self, name: str, at: Sequence[str]) -> int:
        """Say of dead letters that nothing will be done with them."""

    async def preview(self, name: str, rows: int) -> Preview:
        """Sample records after each step."""


class Backend(Protocol):
    """Everything that a face can ask for."""

    def links(self) -> Sequence[LinkSettings]:
        """The links of this service."""

    def connectors(self) -> Mapping[str, ConnectorStatus]:
        """The connectors that this service runs; none while it stands by."""

    @property
    def pipelines(self) -> Pipelines:
        """The pipelines of this service."""

    def link_of(self, connector: str) -> str | None:
        """The link that a connector is about."""

    async def registries(self) -> Sequence[Site]:
        """The schema registries of the clusters, as far as links mirror them."""

    def observer(self, link: LinkSettings) -> LinkObserver:
        """Eyes on a link."""

    def superseded(self, link: LinkSettings) -> str | None:
        """Who has a link instead of the engine of this service; None while that is nobody."""

    async def groups(self, link: LinkSettings) -> GroupReport:
        """How its groups stand on both sides."""

    async def translate(self, link: LinkSettings, asked: TopicPartition, offset: int, *, reverse: bool) -> Answer:
        """One position on the other side."""

    async def order(self, link: LinkSettings, change: OrderChange, *, dry_run: bool) -> tuple[Control, Control]:
        """Change an operator's order for a running link; the order before and after."""

    async def explain(self, link: LinkSettings, topic: str) -> TopicExplanation:
        """Why a topic is mirrored or not, and its configs on both sides."""

    async def record_pair(self, link: LinkSettings, place: TopicPartition, offset: int) -> RecordPair:
        """One record and its copy."""

    async def look_at_cluster(self, client: ClientSettings) -> ClusterCard:
        """How a cluster stands."""

    async def standing(self, link: LinkSettings) -> Standing:
        """Which side is active, and every switch there was."""

    async def plan(self, link: LinkSettings, command: Command) -> tuple[Facts, Plan]:
        """What a switch would do. Changes nothing."""

    async def switch(self, link: LinkSettings, command: Command, on_event: OnSwitchEvent) -> Report:
        """Switch."""

    async def resume(self, link: LinkSettings, on_event: OnSwitchEvent) -> Report:
        """Go on with an interrupted switch."""

    async def abort(self, link: LinkSettings, on_event: OnSwitchEvent) -> Report:
        """Give an open switch up."""

    async def verify(self, link: LinkSettings, wish: VerifyWish, on_progress: OnProgress) -> VerifyReport:
        """Compare both logs."""

    async def conflicts(self, link: LinkSettings, wish: ConflictWish) -> ConflictReport:
        """Search both logs for keys that were written on both sides."""

    async def examine(self, link: LinkSettings) -> list[Diagnosis]:
        """Everything that a disaster would test."""

    async def drill(self, link: LinkSettings, kind: DrillKind, say: Say) -> dict[str, Any]:
        """Rehearse a disaster; returns the report."""

    def drills(self, link: LinkSettings) -> list[dict[str, Any]]:
        """The reports of all drills of a link that this machine keeps, oldest first."""

    def settings(self, link: LinkSettings) -> Mapping[str, Origin]:
        """Every setting of a link with the line that decided it. Secrets are masked."""


@dataclass
class ServiceBackend:
    """The rooms of a running service. `config` is its file; None when its links come from elsewhere.

    A service that stands by runs no link; it looks at those of its file.
    """

    service: Service
    control: ConnectorService
    config: Path | None = None
    of_file: Sequence[LinkSettings] = ()
    folder: Path = field(default_factory=lambda: state_folder() / "switch")
    reports: Path = field(default_factory=lambda: state_folder() / "drills.jsonl")
    _registries: Registries = field(default_factory=Registries, repr=False)

    def links(self) -> Sequence[LinkSettings]:
        # By name: the order of engines changes with every one that is restarted, and lists must not jump.
        return sorted(self.service.links, key=lambda link: link.name) or self.of_file

    def connectors(self) -> Mapping[str, ConnectorStatus]:
        statuses: dict[str, ConnectorStatus] = {}
        if not self.control.leadership.active:
            return statuses
        for name in self.control.connectors.names():
            with contextlib.suppress(ConnectorUnknown):  # deleted this moment
                statuses[name] = self.control.connectors.status(name)
        return statuses

    @property
    def pipelines(self) -> Pipelines:
        return PipelineQueries(self.service, self.control)

    def link_of(self, connector: str) -> str | None:
        return self.control.connectors.about(connector)

    async def registries(self) -> Sequence[Site]:
        return await self._registries.look(self.links())

    def observer(self, link: LinkSettings) -> LinkObserver:
        return observer(link)

    def superseded(self, link: LinkSettings) -> str | None:
        snapshot = self.service.snapshot(link.name)
        return snapshot.trouble if snapshot is not None and snapshot.phase == "superseded" else None

    async def groups(self, link: LinkSettings) -> GroupReport:
        return await group_report(link, lambda _: True)

    async def translate(self, link: LinkSettings, asked: TopicPartition, offset: int, *, reverse: bool) -> Answer:
        return await translate_position(link, asked, offset, reverse=reverse)

    async def order(self, link: LinkSettings, change: OrderChange, *, dry_run: bool) -> tuple[Control, Control]:
        return await order_control(link, change, dry_run=dry_run)

    async def explain(self, link: LinkSettings, topic: str) -> TopicExplanation:
        return await topic_explanation(link, topic)

    async def record_pair(self, link: LinkSettings, place: TopicPartition, offset: int) -> RecordPair:
        return await record_pair(link, place, offset)

    async def look_at_cluster(self, client: ClientSettings) -> ClusterCard:
        return await look_at_card(client)

    async def standing(self, link: LinkSettings) -> Standing:
        # To look at both clusters the clients of the link are enough.
        return await self.service.switching(stand_in_pair(link), self.folder.absolute()).standing()

    async def plan(self, link: LinkSettings, command: Command) -> tuple[Facts, Plan]:
        return await (await self._switching(link)).plan(command)

    async def switch(self, link: LinkSettings, command: Command, on_event: OnSwitchEvent) -> Report:
        switching = await self._switching(link, on_event)
        _, plan = await switching.plan(command)
        return await switching.execute(plan)

    async def resume(self, link: LinkSettings, on_event: OnSwitchEvent) -> Report:
        return await (await self._switching(link, on_event)).resume()

    async def abort(self, link: LinkSettings, on_event: OnSwitchEvent) -> Report:
        return await (await self._switching(link, on_event)).abort()

    async def _switching(self, link: LinkSettings, on_event: OnSwitchEvent = ignore_event) -> Switching:
        return self.service.switching(await self._pair(link), self.folder.absolute(), on_event)

    async def _pair(self, link: LinkSettings) -> Pair:
        if self.config is None or link.name not in {known.name for known in self.of_file}:
            raise UsageError(
                f"{link.name}: it was made over HTTP; a switch and a drill need both clusters, and their way back, in "
                "the settings file"
            )
        return await asyncio.to_thread(load_pair, self.config, link.name)

    async def drill(self, link: LinkSettings, kind: DrillKind, say: Say) -> dict[str, Any]:
        return await self.service.drills(await self._pair(link), self.reports, say).run(kind)

    def drills(self, link: LinkSettings) -> list[dict[str, Any]]:
        reports = [json.loads(line) for line in Reports(self.reports).read()]
        return [report for report in reports if report.get("link") == link.name]

    async def verify(self, link: LinkSettings, wish: VerifyWish, on_progress: OnProgress) -> VerifyReport:
        return await asyncio.to_thread(self.service.verify, link, wish, on_progress)

    async def conflicts(self, link: LinkSettings, wish: ConflictWish) -> ConflictReport:
        return await asyncio.to_thread(self.service.conflicts, link, wish)

    async def examine(self, link: LinkSettings) -> list[Diagnosis]:
        return await examine_link(link, of_file=self.of_file)

    def settings(self, link: LinkSettings) -> Mapping[str, Origin]:
        return {} if self.config is None else load_file(self.config).origins.get(link.name, {})
