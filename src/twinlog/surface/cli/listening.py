"""`twinlog run --listen`: the HTTP server and the steward of connectors beside the links. Runs in their loop."""

from __future__ import annotations

import asyncio
import logging
import socket
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from twinlog.config.changes import Change
from twinlog.config.resolve import Resolved
from twinlog.connectors.reports import ReportFolder
from twinlog.connectors.steward import Steward
from twinlog.errors import ExtraMissing
from twinlog.local.folders import state_folder
from twinlog.service import Service, chronicle, cluster_id_of, steward, store_of
from twinlog.surface.rest.app import build_app
from twinlog.surface.rest.desk import Desk
from twinlog.surface.rest.rooms import LiveRooms
from twinlog.surface.rest.serve import address_of, bind, server_of

log = logging.getLogger("twinlog.rest")

Take: TypeAlias = Callable[[Resolved], Awaitable[tuple[Change, ...]]]
"""What is done with a settings file that changed and is in order."""


@dataclass
class Door:
    """The address is taken before anything slow begins: one that is in use is told at once."""

    sock: socket.socket
    file: Resolved
    _keeper: Steward | None = None

    @classmethod
    def open(cls, listen: str, file: Resolved) -> Door:
        """Take the address. Raises UsageError."""
        store_of(file)
        if file.service.otel is not None:
            _need_otel()
        return cls(bind(listen, file.service.http), file)

    @property
    def address(self) -> str:
        """Where it answers."""
        return address_of(self.sock, self.file.service.http)

    @property
    def to_run(self) -> tuple[str, ...] | None:
        """The links that are ours to run; None while another service has them, or nobody knows."""
        if self._keeper is None or not self._keeper.active:
            return None
        return tuple(link.name for link in self._keeper.plan.links)

    @asynccontextmanager
    async def standing(self, service: Service) -> AsyncIterator[Take]:
        """Answer while the block lasts; yields what is to be done with a changed file."""
        settings = self.file.service.http
        keeper = self._keeper = steward(service, self.file, uuid.uuid4().hex[:12], self.address)
        await keeper.use_file(self.file)
        rooms = LiveRooms(service, Path(self.file.draft.lookup.file), self.file.links, keeper)
        past = chronicle(self.file, lambda: keeper.active)
        reports = ReportFolder(state_folder() / "operations")
        desk = Desk.of(rooms, keeper.audit, memory=past, keeper=reports)
        app = build_app(
            service,
            keeper,
            settings,
            bound_to=self.sock.getsockname()[0],
            cluster_id=cluster_id_of(self.file),
            desk=desk,
        )
        server = server_of(app, settings)
        answering = asyncio.create_task(server.serve(sockets=[self.sock]))
        beside = [asyncio.create_task(keeper.run())]
        if self.file.service.otel is not None:
            from twinlog.surface.rest.otel import Teller

            beside.append(asyncio.create_task(Teller(desk, self.file.service.otel).run()))

        async def take(file: Resolved) -> tuple[Change, ...]:
            changes = await keeper.use_file(file)
            if file.service != self.file.service:
                log.warning("group.id, store.*, http.* or otel.* have changed; that takes effect at the next start")
            rooms.of_file = file.links
            service.accept()
            return changes

        try:
            yield take
        finally:
            for task in beside:
                task.cancel()
            desk.hang_up()
            server.should_exit = True
            await asyncio.gather(*beside, answering, return_exceptions=True)
            await past.close()


def _need_otel() -> None:
    """Say before anything is started that the extra is not there. Raises ExtraMissing."""
    try:
        import twinlog.surface.rest.otel  # noqa: F401
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "opentelemetry":
            raise
        raise ExtraMissing("otel.endpoint", "otel") from None
