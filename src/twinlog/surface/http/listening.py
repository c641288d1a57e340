"""The HTTP service of `twinlog run --listen` and `twinlog connect`: its addresses, its application, its servers.

What it answers about is put together in service/control.py. Runs in the loop of the links.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from twinlog.config.registry_beside import registry_beside
from twinlog.config.registry_settings import RegistrySettings
from twinlog.config.resolve import Resolved
from twinlog.control.connector_service import ConnectorService
from twinlog.engine.spec_changes import Change
from twinlog.errors import ConnectorUnknown, ExtraMissing, UsageError
from twinlog.machine.folders import state_folder
from twinlog.machine.local_token import LocalToken, offer
from twinlog.pipelines.worker_settings import Worker
from twinlog.service.control import control_of
from twinlog.service.links import Service
from twinlog.service.links_store import store_of
from twinlog.surface.answers.pipelines import numbers_of
from twinlog.surface.http.app import build_app
from twinlog.surface.http.app_state import AppState
from twinlog.surface.http.backend import ServiceBackend
from twinlog.surface.http.health_listener import answer_probes, bind_health
from twinlog.surface.http.local_login import TokenLogin, page_link
from twinlog.surface.http.serve import UNIX, address_of, bind, is_unix, server_of
from twinlog.surface.registry.server import RegistryServer
from twinlog.watch.day_history import DayHistory

log = logging.getLogger("twinlog.rest")
_AGAIN_S: Final = 5.0

Take: TypeAlias = Callable[[Resolved], Awaitable[tuple[Change, ...]]]
"""What is done with a settings file that changed and is in order."""


@dataclass
class HttpService:
    """The address is taken before anything slow begins: one that is in use is told at once."""

    socks: tuple[socket.socket, ...]
    file: Resolved
    token: LocalToken | None = None
    probes: socket.socket | None = None
    worker: Worker | None = None  # of `twinlog connect`
    registry: RegistrySettings | None = None
    _control: ConnectorService | None = None

    @classmethod
    def open(cls, listen: Sequence[str], file: Resolved, worker: Worker | None = None) -> HttpService:
        """Take the addresses: a port, a Unix socket, or one of each. Raises UsageError."""
        if len({address.startswith(UNIX) for address in listen}) != len(listen):
            raise UsageError(f"--listen {' --listen '.join(listen)}: give one HOST:PORT, one unix:PATH, or one of each")
        store_of(file)
        if file.service.otel is not None:
            _need_otel()
        option = "--listen" if worker is None else "listeners ="
        addresses = sorted(listen, key=lambda address: address.startswith(UNIX))
        socks = tuple(bind(address, file.service.http, option) for address in addresses)
        health = file.service.http.health_listen
        probes = None if health is None else bind_health(health)
        registry = registry_beside(file)
        needs_token = not is_unix(socks[0]) and not file.service.http.asks_who
        token = offer(socks[0].getsockname()[1]) if needs_token else None
        return cls(socks, file, token, probes, worker, registry)

    @property
    def addresses(self) -> list[str]:
        """Where it answers."""
        return [address_of(sock, self.file.service.http) for sock in self.socks]

    @property
    def url(self) -> str | None:
        """Where other services of the group find this one; None when it has a Unix socket only."""
        return None if is_unix(self.socks[0]) else self.addresses[0]

    def announcement(self, *, to_its_user: bool) -> str:
        """What is said at the start. The link that opens the page is for the eyes of whoever started the service."""
        said = " and ".join(self.addresses)
        if self.registry is not None:
            said += f", schemas at {', '.join(listener.url for listener in self.registry.listeners)}"
        if self.url is None:
            return said
        if self.token is None:
            return f"{said}, the page is at {page_link(self.url, None)}"
        if to_its_user:
            return f"{said}, open the page with {page_link(self.url, self.token)}"
        return f"{said}, the page is at {page_link(self.url, None)}; orders need the token in {self.token.path}"

    @property
    def control(self) -> ConnectorService | None:
        """The connectors, while it answers."""
        return self._control

    @property
    def to_run(self) -> tuple[str, ...] | None:
        """The links that are ours to run; None while another service has them, or nobody knows."""
        if self._control is None or not self._control.leadership.active:
            return None
        return tuple(spec.name for spec in self._control.sharing.own(self._control.planning.plan))

    @asynccontextmanager
    async def answering(self, service: Service) -> AsyncIterator[Take]:
        """Answer while the block lasts; yields what is to be done with a changed file."""
        settings = self.file.service.http
        parts = control_of(service, self.file, self.url, self.worker)
        control = self._control = parts.connectors
        if self.url is not None:
            service.worker_id = urlsplit(self.url).netloc
        await control.use_file(self.file)
        backend = ServiceBackend(service, control, Path(self.file.draft.lookup.file), self.file.links)
        app_state = AppState.of(backend, control.audit, memory=parts.past, store=parts.reports)
        app_state.notifier = parts.notifier
        control.sharing.numbers = partial(_numbers, app_state)
        app_state.days, app_state.grafana = DayHistory(state_folder() / "history.sqlite"), settings.grafana_url
        app = build_app(
            service,
            control,
            settings,
            bound_to="127.0.0.1" if self.url is None else self.socks[0].getsockname()[0],
            cluster_id=parts.cluster_id,
            app_state=app_state,
            token=None if self.token is None else TokenLogin(self.token, self.socks[0].getsockname()[1]),
        )
        servers = [server_of(app, settings, unix=is_unix(sock), lifespan=not at) for at, sock in enumerate(self.socks)]
        answering = [
            asyncio.create_task(server.serve(sockets=[sock])) for server, sock in zip(servers, self.socks, strict=True)
        ]
        beside = [asyncio.create_task(control.run())]
        if parts.notifier is not None:
            beside.append(asyncio.create_task(parts.notifier.run()))
        over = asyncio.Event()
        registry = (
            None if self.registry is None else asyncio.create_task(self._serve_schemas(self.registry, over, app_state))
        )
        if self.probes is not None:
            beside.append(asyncio.create_task(answer_probes(self.probes, app_state)))
        if self.file.service.otel is not None:
            from twinlog.surface.metrics.otel import Teller  # noqa: PLC0415  an extra that may be missing

            beside.append(asyncio.create_task(Teller(app_state, self.file.service.otel).run()))

        async def take(file: Resolved) -> tuple[Change, ...]:
            changes = await parts.take_file(service, file)
            if file.service != self.file.service:
                log.warning("settings of the service itself have changed; that takes effect at the next start")
            backend.of_file = file.links
            return changes

        try:
            yield take
        finally:
            for task in beside:
                task.cancel()
            over.set()
            app_state.hang_up()
            for server in servers:
                server.should_exit = True
            schemas = () if registry is None else (registry,)
            await asyncio.gather(*beside, *answering, *schemas, return_exceptions=True)
            self._close()
            await parts.past.close()

    @staticmethod
    async def _serve_schemas(registry: RegistrySettings, over: asyncio.Event, app_state: AppState) -> None:
        """A registry that fails must not take the links with it; it is tried again."""
        while not over.is_set():
            try:
                server = RegistryServer(registry)
                app_state.registry = server
                await server.serve_until(over)
            except Exception:  # the loop of a service: no error may end the links
                log.exception("the registry ended and is started again")
                await asyncio.sleep(_AGAIN_S)

    def _close(self) -> None:
        """Leave nothing behind that would look like a service."""
        if self.token is not None:
            self.token.withdraw()
        for sock in self.socks:
            if is_unix(sock):
                Path(str(sock.getsockname())).unlink(missing_ok=True)


def _numbers(app_state: AppState, name: str) -> Mapping[str, float | None]:
    """The numbers of a pipeline that runs here, for other services of the group."""
    try:
        return numbers_of(app_state.pipeline(name))
    except ConnectorUnknown:
        return {}


def _need_otel() -> None:
    """Say before anything is started that the extra is not there. Raises ExtraMissing."""
    try:
        import twinlog.surface.metrics.otel  # noqa: F401, PLC0415  an extra that may be missing
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "opentelemetry":
            raise
        raise ExtraMissing("otel.endpoint", "otel") from None
