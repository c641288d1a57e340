"""The registry as an ASGI application: one request in, one answer out. Runs in the service's loop.

Written without a web framework: an answer by id must not cost more than 0.05 ms, and a framework alone costs three
times that. What repeats does not even come here: `hot_path.py` answers it while the state does not change.
"""

import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from twinlog.registry.refusals import Refusal
from twinlog.surface.registry.answering import answered
from twinlog.surface.registry.exchange import (
    Answer,
    BadRequest,
    NoSuchPath,
    Request,
    bad_request,
    json_answer,
    plain_error,
    read_query,
    refused,
)
from twinlog.surface.registry.hot_path import Prepared
from twinlog.surface.registry.media_types import (
    V1,
    MalformedType,
    answer_type,
    is_body_type,
    is_plain_text,
    options_type,
)
from twinlog.surface.registry.paths import below_context, segments_of, with_aliases
from twinlog.surface.registry.registry import Registry
from twinlog.surface.registry.routes import WrongVerb, handler_of, methods_of
from twinlog.surface.registry.served import Served

log = logging.getLogger("twinlog.registry")
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_WITH_BODY: Final = frozenset({"POST", "PUT"})


class TooLong(Exception):
    """The body is longer than the limit."""


class RegistryApp:
    """Answers requests of clients. Without `served` it is a registry in memory, for tests."""

    def __init__(self, registry: Registry, served: Served | None = None, *, most_bytes: int = 16 << 20) -> None:
        self.registry = registry
        self._served = served
        self._most_bytes = most_bytes
        self.prepared = Prepared(lambda: registry.state, self._may_prepare, registry.known.find)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        revision = self.registry.state.revision
        began = time.perf_counter()
        headers = dict(scope["headers"])
        answer = await self._answer(scope, headers, receive)
        kind = _preferred(headers)
        start, body = _messages(answer, answer.type or kind or V1, head=scope["method"] == "HEAD")
        lasting = answer.status == 200 and scope["method"] == "GET" and not answer.volatile
        if lasting and kind == V1 and self._may_prepare():
            query = scope["query_string"]
            self.prepared.keep(scope["raw_path"] + (b"?" + query if query else b""), answer.body, revision)
        await send(start)
        await send(body)
        if self._served is not None:
            self._served.status.counters.note(answer.status, time.perf_counter() - began)

    def _may_prepare(self) -> bool:
        """Not where somebody has to log in: an answer is for whoever may have it."""
        return self._served is None or (not self._served.access.asks and self._served.status.is_ready())

    async def _answer(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> Answer:
        try:
            if self._served is not None and (told := await self._served.about_itself(scope, headers)) is not None:
                return told
            is_body_type(headers.get(b"content-type"))  # refused before the path is looked at
            request = self._request(scope, headers)
            if request.method == "OPTIONS":
                return _options(request)
            if scope["method"] in _WITH_BODY:
                request.body = await self._body(headers, receive)
            return await self.answer(request, scope)
        except MalformedType:
            return bad_request("Bad Request", scope["method"])
        except BadRequest as bad:
            return bad_request(str(bad), scope["method"])
        except NoSuchPath:
            return plain_error(404, "Not Found")
        except WrongVerb:
            return plain_error(405, "Method Not Allowed")
        except TooLong:
            sentence = f"The request is longer than {self._most_bytes} bytes"
            return json_answer({"error_code": 413, "message": sentence}, 413)
        except ValueError as wrong:
            answer = json_answer({"error_code": 400, "message": str(wrong)}, 400)
            answer.typed = False
            return answer
        except Refusal as refusal:
            return refused(refusal)
        except Exception:
            log.exception("%s %s: the request failed", scope["method"], scope["path"])
            return json_answer({"error_code": 500, "message": "Internal Server Error"}, 500)

    def _request(self, scope: Scope, headers: dict[bytes, bytes]) -> Request:
        query = read_query(scope["query_string"]) if scope["query_string"] else {}
        segments = below_context(segments_of(scope["raw_path"]), query)
        segments = with_aliases(segments, query, self.registry.state, self.registry.prefixes)
        return Request(scope["method"], segments, query, headers)

    async def answer(self, request: Request, scope: Scope) -> Answer:
        """Match, check types and let the handler answer. Raises what a handler raises."""
        handler = handler_of(request)
        if not is_body_type(request.headers.get(b"content-type"), has_body=request.method in _WITH_BODY):
            return plain_error(415, "Unsupported Media Type", typed=True)
        if answer_type(request.headers.get(b"accept")) is None:
            return plain_error(406, "Not Acceptable")
        if self._served is not None:
            return await self._served.answer(self.registry, handler, request, scope)
        return await answered(self.registry, handler, request)

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


def _preferred(headers: dict[bytes, bytes]) -> bytes | None:
    try:
        return answer_type(headers.get(b"accept"))
    except MalformedType:
        return None


def _options(request: Request) -> Answer:
    """Which methods a path has. Raises NoSuchPath."""
    methods = methods_of(request)
    kind = options_type(request.headers.get(b"accept"))
    body = ", ".join(methods).encode() if is_plain_text(kind) else b""
    return Answer(200, body, type=kind, headers=[(b"allow", ",".join(methods).encode())])


def _messages(answer: Answer, kind: bytes, *, head: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    sent = [(b"content-length", str(len(answer.body)).encode()), *answer.headers] if answer.status != 204 else []
    if answer.typed and answer.status != 204:
        sent.append((b"content-type", kind))
    start = {"type": "http.response.start", "status": answer.status, "headers": sent}
    return start, {"type": "http.response.body", "body": b"" if head else answer.body}
