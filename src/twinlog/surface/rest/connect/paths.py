"""What a Connect worker takes for the same request: `/connectors/` for `/connectors`, and HEAD for GET without a body.

Runs before the routers, for Connect's own paths alone: a stream that is only asked for its head would never end.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

Message: TypeAlias = MutableMapping[str, Any]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Message, Callable[[], Awaitable[Message]], Send], Awaitable[None]]

_OWN: Final = ("/connectors", "/connector-plugins", "/admin/loggers", "/health")


class Paths:
    """Stands before the routers."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Send) -> None:
        if scope["type"] == "http" and (scope["path"] == "/" or scope["path"].startswith(_OWN)):
            path = scope["path"].rstrip("/") or "/"
            raw = scope.get("raw_path", path.encode()).rstrip(b"/") or b"/"
            scope = {**scope, "path": path, "raw_path": raw}
            if scope["method"] == "HEAD":
                scope, send = {**scope, "method": "GET"}, _without_body(send)
        await self._app(scope, receive, send)


def _without_body(send: Send) -> Send:
    async def sent(message: Message) -> None:
        await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

    return sent
