"""Orders that reach a standby are forwarded to the active one. Runs in the service's loop, one thread per order.

Reading goes the same way while the active one answers, because it knows how its links stand; when it does not, what the
links topic says is told instead.
"""

from __future__ import annotations

import asyncio
import http.client
import logging
import ssl
import urllib.error
import urllib.request
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from fastapi import Response

from twinlog.config.service_settings import HttpSettings
from twinlog.control.group_trust import BODY, digest
from twinlog.control.leadership import Leadership
from twinlog.machine.local_token import is_loopback
from twinlog.surface.answers.errors import refused
from twinlog.surface.http.gate import App, Message, Receive, Scope, Send
from twinlog.wire.web import opened

log = logging.getLogger("twinlog.rest")

MARK: Final = "x-twinlog-forwarded"
_PASSED_ON: Final = ("content-type", "accept", "idempotency-key")
_BACK: Final = ("content-type", "location", "www-authenticate")
_WITHIN_S: Final = 30.0
_READING: Final = frozenset({"GET", "HEAD"})
_ASK_THERE: Final = "Ask it directly, or give all services of the group the same http.group.secret."


class Forward:
    """Stands between the gate and the routers."""

    def __init__(self, app: App, *, leadership: Leadership, settings: HttpSettings) -> None:
        self._app = app
        self._leadership = leadership
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]}
        if MARK in headers or BODY in headers:
            await self._passed_to_us(scope, receive, send, headers)
            return
        if self._leadership.active or self._leadership.leader_url is None or not _for_the_leader(scope):
            await self._app(scope, receive, send)
            return
        url, why = self._whom_to_ask()
        if url is None and scope["method"] in _READING:
            await self._app(scope, receive, send)
            return
        if url is None:
            told = f"{self._leadership.leader_url} runs the links, and {why}"
            await refused(scope["path"], 409, "NOT_ACTIVE", told, _ASK_THERE)(scope, receive, send)
            return
        body = await _body(receive)
        try:
            answer: Response = await asyncio.to_thread(self._ask, url, scope, headers, body)
        except (OSError, http.client.HTTPException) as error:
            log.warning("%s does not answer: %s", url, error)
            if scope["method"] in _READING:
                await self._app(scope, _again(body), send)
                return
            told = f"The active service at {url} does not answer; ask again in a few seconds."
            answer = refused(scope["path"], 409, "NOT_ACTIVE", told, "Ask again in a few seconds.")
        await answer(scope, receive, send)

    def _whom_to_ask(self) -> tuple[str | None, str]:
        """The leader, if what we send may go there; else why it may not."""
        url, settings = self._leadership.believed_url, self._settings
        if url is None:
            return None, (
                "nobody of this group signed that. Ask it directly, or give all services of the group the same "
                "http.group.secret"
            )
        carries_login = settings.group_secret is None and settings.asks_who
        if carries_login and not url.startswith("https:") and not is_loopback(urlsplit(url).hostname or ""):
            return None, "logins are not sent there without https. Set http.group.secret, or http.tls.certificate there"
        return url, ""

    async def _passed_to_us(self, scope: Scope, receive: Receive, send: Send, headers: dict[str, str]) -> None:
        """Take what a standby passed on; it is never passed on again. The gate has checked the signature."""
        if BODY not in headers:
            await self._app(scope, receive, send)
            return
        body = await _body(receive)
        if digest(body) != headers[BODY]:
            told = "The body is not the one that was signed"
            await refused(scope["path"], 400, "NOT_SIGNED", told)(scope, receive, send)
            return
        await self._app(scope, _again(body), send)

    def _ask(self, url: str, scope: Scope, headers: dict[str, str], body: bytes) -> Response:
        path = scope.get("raw_path", scope["path"].encode()).decode("latin-1")
        query = scope.get("query_string", b"").decode("latin-1")
        address = f"{url.rstrip('/')}{path}{'?' if query else ''}{query}"
        sent = {name: headers[name] for name in _PASSED_ON if name in headers} | {MARK: "1"}
        if self._settings.group_secret is not None:
            target = f"{path}{'?' if query else ''}{query}"
            sent |= self._leadership.trust.pass_on(scope["method"], target, body, scope["twinlog.who"])
        elif self._settings.asks_who and "authorization" in headers:
            sent["authorization"] = headers["authorization"]
        request = urllib.request.Request(  # noqa: S310  the address of our own group's leader
            address, data=body or None, method=scope["method"], headers=sent
        )
        context = self._tls() if address.startswith("https:") else None
        try:
            with opened(request, timeout_s=_WITHIN_S, context=context, proxies=False) as answer:
                return _passed_back(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as error:
            return _passed_back(error.code, error.headers, error.read())

    def _tls(self) -> ssl.SSLContext:
        """Believe the system's authorities, the group's and this service's own certificate.

        Whoever certifies clients is not believed: one of them could then stand in for the service that leads.
        """
        context = ssl.create_default_context()
        for trusted in (self._settings.certificate, self._settings.group_ca):
            if trusted is not None:
                context.load_verify_locations(trusted)
        if self._settings.certificate is not None:
            context.load_cert_chain(self._settings.certificate, self._settings.key)
        return context


def _for_the_leader(scope: Scope) -> bool:
    """Whether the active service knows or does it: connectors, and levels of logging for all services."""
    if scope["path"].startswith("/admin/loggers/") and scope["method"] == "PUT":
        wanted = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("scope", ["worker"])
        return str(wanted[-1]).lower() == "cluster"
    return bool(scope["path"].startswith("/connectors"))


def _passed_back(status: int, headers: Any, body: bytes) -> Response:
    kept = {name: headers[name] for name in _BACK if headers.get(name)}
    return Response(body, status, kept)


async def _body(receive: Receive) -> bytes:
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


def _again(body: bytes) -> Receive:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
