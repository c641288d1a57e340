"""State that all HTTP handlers share: the backend, the link monitor, long operations. One per application."""

from __future__ import annotations

import asyncio
import contextlib
import copy
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, Protocol

from fastapi import Depends, Request

from twinlog.config.settings import LinkSettings
from twinlog.control.audit import Audit, Who
from twinlog.control.notifier import Notifier
from twinlog.control.states import ConnectorStatus
from twinlog.errors import ConnectorUnknown, LinkUnknown
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.health.history import Event, Level
from twinlog.service.pipeline_queries import PipelineView
from twinlog.service.pipeline_watch import Meter, PipelineWatch
from twinlog.surface.http.backend import Backend
from twinlog.surface.http.operations import Kind, Operation, Operations, OperationStore
from twinlog.watch.clusters import ClusterCard, ClusterWatch
from twinlog.watch.day_history import DayHistory
from twinlog.watch.monitor import LinkSnapshot, Memory, Monitor, Observers

if TYPE_CHECKING:
    from twinlog.surface.registry.registry import Registry
    from twinlog.surface.registry.status import Status


class PipelineState(NamedTuple):
    """One pipeline, and what was measured of it."""

    view: PipelineView
    meter: Meter


class RegistryBeside(Protocol):
    """What pages see of a schema registry in the same process."""

    @property
    def registry(self) -> Registry: ...

    @property
    def status(self) -> Status: ...


_KEEP_SECONDS: Final = 20.0
_CHECKS_NAMED: Final = 3


@dataclass
class AppState:
    """Where routers find everything."""

    backend: Backend
    monitor: Monitor
    audit: Audit | None = None  # where actions are written down
    store: OperationStore | None = None  # where reports outlive the process
    operations: Operations = field(init=False)
    pipeline_watch: PipelineWatch = field(init=False)
    _looks: set[asyncio.Task[None]] = field(default_factory=set)
    _closing: asyncio.Event = field(default_factory=asyncio.Event)
    who: Who | None = None  # whose view this is; None: it shows all links
    streams: Counter[str] = field(default_factory=Counter)  # live streams by who reads them
    most_streams: int = 50  # of one reader
    otel_failures: int | None = None  # in a row; None: nothing is told to a collector
    notifier: Notifier | None = None
    days: DayHistory | None = None  # numbers of links beyond the last hour
    grafana: str | None = None  # where dashboards of these links are
    registry: RegistryBeside | None = None  # the schema registry that this service serves, once it runs

    def __post_init__(self) -> None:
        self.operations = Operations(self._note, self.store)
        self.cluster_watch = ClusterWatch(self.backend.links, self.backend.look_at_cluster)
        self.pipeline_watch = PipelineWatch(self.backend.pipelines.engines)

    @classmethod
    def of(
        cls,
        backend: Backend,
        audit: Audit | None = None,
        *,
        look_seconds: float = 2.0,
        memory: Memory | None = None,
        store: OperationStore | None = None,
    ) -> AppState:
        """The state over this backend. Without `memory` and `store` it knows only what happened since it began."""
        observers = Observers(backend.links, backend.observer, backend.groups, backend.standing, backend.superseded)
        return cls(backend, Monitor(observers, look_seconds=look_seconds, memory=memory), audit, store)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Look at the links while the block lasts."""
        await self.operations.recall()
        loops = (self.monitor.run(), self.cluster_watch.run(), self.pipeline_watch.run(), self._keep_days())
        watches = [asyncio.create_task(loop) for loop in loops]
        try:
            yield
        finally:
            self._closing.set()
            for watch in watches:
                watch.cancel()
            await asyncio.gather(*watches, return_exceptions=True)
            await self.operations.close()

    async def _keep_days(self) -> None:
        """Write minutes that are over into the file of days."""
        while self.days is not None:
            await asyncio.sleep(_KEEP_SECONDS)
            for name, snapshot in list(self.monitor.snapshots.items()):
                await asyncio.to_thread(self.days.keep, name, list(snapshot.samples))

    def clusters(self) -> list[ClusterCard]:
        """The clusters of links that may be shown."""
        shown = {alias for link in self.links() for alias in (link.source, link.target)}
        return [card for alias, card in sorted(self.cluster_watch.cards.items()) if alias in shown]

    @property
    def ended(self) -> bool:
        """The server is about to stop: whoever reads a stream is let go."""
        return self._closing.is_set()

    def seen_by(self, who: Who | None) -> AppState:
        """The same state with only the links that a user may see."""
        if who is None or who.may("viewer"):
            return self
        view = copy.copy(self)
        view.who = who
        return view

    def _sees(self, link: str) -> bool:
        return self.who is None or self.who.sees(link)

    def links(self) -> list[LinkSettings]:
        """The links that may be shown."""
        return [link for link in self.backend.links() if self._sees(link.name)]

    def events(self) -> Sequence[Event]:
        """What happened to them, oldest first."""
        return (
            self.monitor.events
            if self.who is None
            else [event for event in self.monitor.events if self._sees(event.link)]
        )

    def operations_of(self, kind: Kind | None = None, link: str | None = None) -> list[Operation]:
        """Long actions with them, newest first."""
        return [operation for operation in self.operations.all(kind, link) if self._sees(operation.link)]

    def operation(self, operation_id: str) -> Operation | None:
        """One of these actions."""
        operation = self.operations.find(operation_id)
        return operation if operation is not None and self._sees(operation.link) else None

    def connectors(self) -> Mapping[str, ConnectorStatus]:
        """The connectors of links that may be shown."""
        statuses = self.backend.connectors()
        if self.who is None:
            return statuses
        return {name: status for name, status in statuses.items() if self._sees(self.backend.link_of(name) or "")}

    def pipelines(self) -> list[PipelineState]:
        """The pipelines that may be shown, with their rates and lags."""
        looks = []
        for name in self.backend.pipelines.names():
            with contextlib.suppress(ConnectorUnknown):  # one that was deleted this moment, or may not be seen
                looks.append(self.pipeline(name))
        return looks

    def pipeline(self, name: str) -> PipelineState:
        """One of them. Raises ConnectorUnknown."""
        if not self._sees(name):
            raise ConnectorUnknown(name, f"Connector {name} not found")
        return PipelineState(self.backend.pipelines.view(name), self.pipeline_watch.meter(name))

    def hang_up(self) -> None:
        """End all streams: a server that stops waits for its answers."""
        self._closing.set()
        self.monitor.wake()

    @property
    def turn(self) -> object:
        """Differs from what it was as soon as a link was looked at, something was told, or links came or went."""
        last = self.monitor.events[-1] if self.monitor.events else None
        return self.monitor.turn, last, [link.name for link in self.backend.links()]

    def link(self, name: str) -> LinkSettings:
        """A link by its name. Raises LinkUnknown."""
        links = {link.name: link for link in self.links()}
        if name not in links:
            raise LinkUnknown(name, "this service", ", ".join(links) or "none")
        return links[name]

    def snapshot(self, name: str) -> LinkSnapshot:
        """What is known about a link. Raises LinkUnknown."""
        link = self.link(name)
        return self.monitor.snapshots.get(name) or LinkSnapshot(link, self.backend.observer(link))

    def snapshots(self) -> list[LinkSnapshot]:
        """All links, those not looked at yet too."""
        return [self.snapshot(link.name) for link in self.links()]

    def note_order(self, who: Who, what: str, connector: str) -> None:
        """Tell that somebody changed a connector: whoever looks at the events wants to know why a link restarted."""
        link = self.backend.link_of(connector) or connector
        says = f"{what}, ordered by {who.name}" + ("" if connector == link else f" ({connector})")
        self.monitor.tell([Event(SYSTEM_CLOCK.now_ms(), link, "engine", "info", link, says)])

    def _note(self, operation: Operation) -> None:
        level: Level
        match operation.status:
            case "running":
                level, says = "info", f"{operation.kind} started"
            case "done":
                outcome = _outcome(operation.result or {})
                level, says = (
                    _level(operation.result or {}),
                    f"{operation.kind} done" + (f": {outcome}" if outcome else ""),
                )
            case "failed":
                level, says = "bad", f"{operation.kind} failed: {(operation.error or {}).get('message', '')}"
        remedy = (operation.error or {}).get("remedy", "")
        now_ms = SYSTEM_CLOCK.now_ms()
        event = Event(
            now_ms,
            operation.link,
            "operation",
            level,
            operation.kind,
            says,
            remedy,
            ended=operation.status != "running",
        )
        self.monitor.tell([event])
        snapshot = None if self.ended else self.monitor.snapshots.get(operation.link)
        if snapshot is not None and operation.kind in {"switch", "resume", "abort"} and operation.status != "running":
            # Who is active now is what everybody wants to see next.
            look = asyncio.create_task(self.monitor.look_at_switches(snapshot))
            self._looks.add(look)
            look.add_done_callback(self._looks.discard)


def _outcome(result: Mapping[str, Any]) -> str:
    """What came of a check, in a few words that are still true when its report is gone."""
    checks = result.get("checks")
    if checks is None:
        return str(result.get("verdict", ""))
    failed = [check["name"] for check in checks if check["verdict"] == "fail"]
    named = ", ".join(failed[:_CHECKS_NAMED]) + (", …" if len(failed) > _CHECKS_NAMED else "")
    return f"{len(failed)} of {len(checks)} checks failed" + (f": {named}" if named else "")


def _level(result: Mapping[str, Any]) -> Level:
    """How good the news is: a check that ran to its end may have found something bad."""
    if "checks" in result:
        return "bad" if any(check["verdict"] == "fail" for check in result["checks"]) else "good"
    if "equal" in result:
        return "good" if result["equal"] else "bad"
    verdicts: Mapping[str, Level] = {"passed": "good", "failed": "bad"}
    return verdicts.get(str(result.get("verdict")), "info")


def app_state_of(request: Request) -> AppState:
    """The state of the application that answers, as whoever asks may see it."""
    app_state: AppState = request.app.state.app_state
    return app_state.seen_by(request.scope.get("twinlog.who"))


async def _given(request: Request) -> AppState:
    """The same for routers. Not a plain function: FastAPI would send each request through a thread to call it."""
    return app_state_of(request)


TheAppState = Annotated[AppState, Depends(_given)]
