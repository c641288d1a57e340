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
from twinlog.config.settings import LinkSettings
from twinlog.config.text.lookup import Origin
from twinlog.control.connector_service import ConnectorService
from twinlog.control.states import ConnectorStatus
from twinlog.doctor.answers import Diagnosis
from twinlog.drill.outcome import Kind as DrillKind
from twinlog.drill.reports import Reports
from twinlog.errors import ConnectorUnknown, UsageError
from twinlog.machine.folders import state_folder
from twinlog.model.names import TopicPartition
from twinlog.model.switch.events import OnSwitchEvent, ignore_event
from twinlog.model.switch.log import Command
from twinlog.model.switch.plan import Facts, Plan
from twinlog.model.verify.report import VerifyReport
from twinlog.recovery.report import Report
from twinlog.recovery.switching import Standing, Switching
from twinlog.service import examine_link, group_report, observer, translate_position
from twinlog.service.links import Service
from twinlog.sync.answers.group_report import Answer, GroupReport
from twinlog.verify.plan import VerifyWish
from twinlog.verify.run import OnProgress
from twinlog.watch.monitor import LinkObserver

if TYPE_CHECKING:
    from twinlog.pipelines.engine import Engine

Say = Callable[[str], None]


class Backend(Protocol):
    """Everything that a face can ask for."""

    def links(self) -> Sequence[LinkSettings]:
        """The links of this service."""

    def connectors(self) -> Mapping[str, ConnectorStatus]:
        """The connectors that this service runs; none while it stands by."""

    def pipelines(self) -> Sequence[Engine]:
        """The pipelines that this service runs."""

    def link_of(self, connector: str) -> str | None:
        """The link that a connector is about."""

    def observer(self, link: LinkSettings) -> LinkObserver:
        """Eyes on a link."""

    def superseded(self, link: LinkSettings) -> str | None:
        """Who has a link instead of the engine of this service; None while that is nobody."""

    async def groups(self, link: LinkSettings) -> GroupReport:
        """How its groups stand on both sides."""

    async def translate(self, link: LinkSettings, asked: TopicPartition, offset: int, *, reverse: bool) -> Answer:
        """One position on the other side."""

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
    config: Path | None = None
    of_file: Sequence[LinkSettings] = ()
    control: ConnectorService | None = None
    folder: Path = field(default_factory=lambda: state_folder() / "switch")
    reports: Path = field(default_factory=lambda: state_folder() / "drills.jsonl")

    def links(self) -> Sequence[LinkSettings]:
        # By name: the order of engines changes with every one that is begun anew, and lists must not jump.
        return sorted(self.service.links, key=lambda link: link.name) or self.of_file

    def connectors(self) -> Mapping[str, ConnectorStatus]:
        found: dict[str, ConnectorStatus] = {}
        if self.control is None or not self.control.leadership.active:
            return found
        for name in self.control.connectors.names():
            with contextlib.suppress(ConnectorUnknown):  # deleted this moment
                found[name] = self.control.connectors.status(name)
        return found

    def pipelines(self) -> Sequence[Engine]:
        from twinlog.service.pipeline_job import PipelineJob  # noqa: PLC0415  loads Spark's client

        jobs = [job for job in self.service.jobs if isinstance(job, PipelineJob)]
        return [job.engine for job in jobs if job.engine is not None]

    def link_of(self, connector: str) -> str | None:
        return None if self.control is None else self.control.connectors.about(connector)

    def observer(self, link: LinkSettings) -> LinkObserver:
        return observer(link)

    def superseded(self, link: LinkSettings) -> str | None:
        snapshot = self.service.snapshot(link.name)
        return snapshot.trouble if snapshot is not None and snapshot.phase == "superseded" else None

    async def groups(self, link: LinkSettings) -> GroupReport:
        return await group_report(link, lambda _: True)

    async def translate(self, link: LinkSettings, asked: TopicPartition, offset: int, *, reverse: bool) -> Answer:
        return await translate_position(link, asked, offset, reverse=reverse)

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
        if self.config is None or link.name not in {one.name for one in self.of_file}:
            raise UsageError(
                f"{link.name}: it was made over HTTP; a switch and a drill need both clusters, and their way back, in "
                "the settings file"
            )
        return await asyncio.to_thread(load_pair, self.config, link.name)

    async def drill(self, link: LinkSettings, kind: DrillKind, say: Say) -> dict[str, Any]:
        return await self.service.drills(await self._pair(link), self.reports, say).run(kind)

    def drills(self, link: LinkSettings) -> list[dict[str, Any]]:
        found = [json.loads(line) for line in Reports(self.reports).read()]
        return [report for report in found if report.get("link") == link.name]

    async def verify(self, link: LinkSettings, wish: VerifyWish, on_progress: OnProgress) -> VerifyReport:
        return await asyncio.to_thread(self.service.verify, link, wish, on_progress)

    async def examine(self, link: LinkSettings) -> list[Diagnosis]:
        return await examine_link(link, of_file=self.of_file)

    def settings(self, link: LinkSettings) -> Mapping[str, Origin]:
        return {} if self.config is None else load_file(self.config).origins.get(link.name, {})
