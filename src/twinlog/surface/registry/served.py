"""Middleware of a registry that serves clients: login, leadership, status."""

import logging
from dataclasses import dataclass
from typing import Any, Final

from twinlog.control.audit import Who
from twinlog.registry.leader import LeadershipLost
from twinlog.registry.refusals import Refusal
from twinlog.surface.http.request_limits import CERTIFICATE
from twinlog.surface.registry.access import CHALLENGE, Access, NotLoggedIn
from twinlog.surface.registry.answering import answered
from twinlog.surface.registry.exchange import Answer, Request, json_answer, refused
from twinlog.surface.registry.forwarding import Forwarding
from twinlog.surface.registry.registry import Registry
from twinlog.surface.registry.routes import WRITES, Handler
from twinlog.surface.registry.status import METRICS_TYPE, Status

log = logging.getLogger("twinlog.registry.orders")

_FOR_VIEWERS: Final = frozenset({"/metrics", "/twinlog/registry"})
_WITHOUT_TOPIC: Final = frozenset({"root", "types", "server_version"})


@dataclass
class Served:
    """The registry of one process."""

    access: Access
    forwarding: Forwarding
    status: Status

    async def about_itself(self, scope: Any, headers: dict[bytes, bytes]) -> Answer | None:
        """Questions that no client of a registry asks. Where users are named, status and metrics are for viewers."""
        path = scope["path"]
        if self.access.asks and path in _FOR_VIEWERS:
            try:
                await self._let_in(Request("GET", [], {}, headers), scope, writes=False)
            except NotLoggedIn as refusal:
                answer = refused(refusal)
                answer.headers.append(CHALLENGE)
                return answer
            except Refusal as refusal:
                return refused(refusal)
        told = self._told(path)
        if told is not None:
            told.volatile = True
        return told

    def _told(self, path: str) -> Answer | None:
        if path == "/livez":
            return json_answer({"alive": True})
        if path == "/readyz":
            ready = self.status.is_ready()
            told = {"ready": ready, "reason": None if ready else self.status.loading()}
            return json_answer(told, 200 if ready else 503)
        if path == "/metrics":
            return Answer(200, self.status.metrics(), typed=False, headers=[(b"content-type", METRICS_TYPE)])
        if path == "/twinlog/registry":
            return json_answer(self.status.facts())
        return None

    async def answer(self, registry: Registry, handler: Handler, request: Request, scope: Any) -> Answer:
        """Let in, wait until the topic was read, find the leader for what writes."""
        writes = handler in WRITES
        try:
            who = await self._let_in(request, scope, writes=writes)
        except NotLoggedIn as refusal:
            answer = refused(refusal)
            answer.headers.append(CHALLENGE)
            return answer
        if not self.status.is_ready() and handler.__name__ not in _WITHOUT_TOPIC:
            raise Refusal(503, self.status.loading(), retry_after_s=1)
        if not writes:
            return await answered(registry, handler, request)
        answer = await self._write(registry, handler, request, scope)
        self.access.note(who, request, answer.status)
        if answer.status >= 400:
            log.info("%s %s: %d", request.method, scope["path"], answer.status)
        return answer

    async def _let_in(self, request: Request, scope: Any, *, writes: bool) -> Who:
        client = scope.get("client")
        shown = request.headers.get(b"authorization", b"")
        who = await self.access.who(shown, client[0] if client else "", scope.get(CERTIFICATE, ""))
        self.access.check(who, request, writes=writes)
        return who

    async def _write(self, registry: Registry, handler: Handler, request: Request, scope: Any) -> Answer:
        query = scope["query_string"]
        target = scope["raw_path"] + (b"?" + query if query else b"")
        try:
            try:
                # What is known already is answered here, in any mode, with or without a leader.
                return await answered(registry, handler, request)
            except LeadershipLost:
                return await self.forwarding.write(request, target, lambda: answered(registry, handler, request))
        except Refusal as refusal:
            return refused(refusal)
