"""The registry as an ASGI application: one request in, one answer out. Runs in the service's loop.

Written without a web framework: an answer by id must not cost more than 0.05 ms, and a framework alone costs three
times that. What repeats is answered from prepared bytes while the state does not change.
"""

import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from twinlog.registry.refusals import NotFound, Refusal
from twinlog.surface.registry.desk import Desk
from twinlog.surface.registry.exchange import (
    V1,
    Answer,
    NoSuchPath,
    Request,
    answer_type,
    is_body_type,
    json_answer,
    plain_error,
    read_query,
    refused,
)
from twinlog.surface.registry.paths import below_context, segments_of, with_aliases
from twinlog.surface.registry.routes import WrongVerb, handler_of

log = logging.getLogger("twinlog.registry")
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_WITH_BODY: Final = frozenset({"POST", "PUT"})
_MOST_PREPARED: Final = 20_000


class TooLong(Exception):
    """The body is longer than the limit."""


class RegistryApp:
    """Answers requests of clients."""

    def __init__(self, desk: Desk, *, most_bytes: int = 16 << 20) -> None:
        self.desk = desk
        self._most_bytes = most_bytes
        self._prepared: dict[tuple[bytes, bytes], tuple[dict[str, Any], dict[str, Any]]] = {}
        self._prepared_for = -1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return
        state = self.desk.state
        if scope["method"] == "GET" and self._prepared_for == state.revision:
            ready = self._prepared.get((scope["raw_path"], scope["query_string"]))
            if ready is not None and _takes_v1(scope["headers"]):
                await send(ready[0])
                await send(ready[1])
                return
        headers = dict(scope["headers"])
        answer = await self._answer(scope, headers, receive)
        kind = answer_type(headers.get(b"accept"))
        start, body = _messages(answer, kind or V1, head=scope["method"] == "HEAD")
        if answer.status == 200 and scope["method"] == "GET" and kind == V1:
            self._prepare(scope, state.revision, start, body)
        await send(start)
        await send(body)

    def _prepare(self, scope: Scope, revision: int, start: dict[str, Any], body: dict[str, Any]) -> None:
        if self._prepared_for != revision or len(self._prepared) >= _MOST_PREPARED:
            self._prepared.clear()
            self._prepared_for = revision
        if len(body["body"]) <= 65_536:
            self._prepared[scope["raw_path"], scope["query_string"]] = (start, body)

    async def _answer(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> Answer:
        try:
            request = self._request(scope, headers)
            if scope["method"] in _WITH_BODY:
                request.body = await self._body(headers, receive)
            return await self.answer(request)
        except NoSuchPath:
            return plain_error(404, "Not Found")
        except WrongVerb:
            return plain_error(405, "Method Not Allowed")
        except TooLong:
            return json_answer(
                {"error_code": 413, "message": f"The request is longer than {self._most_bytes} bytes"}, 413
            )
        except ValueError as wrong:
            return json_answer({"error_code": 400, "message": str(wrong)}, 400)
        except Refusal as refusal:
            return refused(refusal)
        except Exception:
            log.exception("%s %s: the request failed", scope["method"], scope["path"])
            return json_answer({"error_code": 500, "message": "Internal Server Error"}, 500)

    def _request(self, scope: Scope, headers: dict[bytes, bytes]) -> Request:
        query = read_query(scope["query_string"]) if scope["query_string"] else {}
        segments = below_context(segments_of(scope["raw_path"]), query)
        segments = with_aliases(segments, query, self.desk.state)
        return Request(scope["method"], segments, query, headers)

    async def answer(self, request: Request) -> Answer:
        """Match, check types and let the handler answer. Raises what a handler raises."""
        handler = handler_of(request)
        if request.method in _WITH_BODY and not is_body_type(request.headers.get(b"content-type")):
            return plain_error(415, "Unsupported Media Type", typed=True)
        if answer_type(request.headers.get(b"accept")) is None:
            return plain_error(406, "Not Acceptable")
        try:
            return await handler(self.desk, request)
        except NoSuchPath:
            return plain_error(404, "Not Found", typed=True)  # a number of the path or query that is none
        except NotFound as missing:
            # Another instance may have written it a moment ago: read up to the end of the topic, then answer.
            before = self.desk.state.revision
            if not await self.desk.store.caught_up():
                missing.retry_after_s = 1
                raise
            if self.desk.state.revision == before:
                raise
            return await handler(self.desk, request)

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self._most_bytes:
            raise TooLong
        parts: list[bytes] = []
        came = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ConnectionError
            part = message.get("body", b"")
            came += len(part)
            if came > self._most_bytes:
                raise TooLong
            parts.append(part)
            if not message.get("more_body"):
                return b"".join(parts)


def _takes_v1(headers: list[tuple[bytes, bytes]]) -> bool:
    for name, value in headers:
        if name == b"accept":
            return value in {b"*/*", V1} or answer_type(value) == V1
    return True


def _messages(answer: Answer, kind: bytes, *, head: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    sent = [(b"content-length", str(len(answer.body)).encode()), *answer.headers] if answer.status != 204 else []
    if answer.typed and answer.status != 204:
        sent.append((b"content-type", kind))
    start = {"type": "http.response.start", "status": answer.status, "headers": sent}
    return start, {"type": "http.response.body", "body": b"" if head else answer.body}
