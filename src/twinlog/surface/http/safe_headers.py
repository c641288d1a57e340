"""Headers that every answer has: no guessing of types, no copies in caches, TLS again next time. Outermost of all."""

from __future__ import annotations

from typing import Any, Final

from starlette.datastructures import MutableHeaders

_ALWAYS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Cache-Control": "no-store",
}
_TLS: Final = {"Strict-Transport-Security": "max-age=31536000"}


def add_safe_headers(headers: MutableHeaders, path: str, scheme: str) -> None:
    """Add those that an answer does not have; pages bring a policy of their own."""
    for name, value in {**_ALWAYS, **(_TLS if scheme == "https" else {})}.items():
        # Files of the page have versions in their names or are checked by their tag: they may be kept.
        if name not in headers and not (name == "Cache-Control" and path.startswith("/ui/static/")):
            headers[name] = value


class SafeHeaders:
    """Middleware that adds security headers to every answer."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def headed(message: Any) -> None:
            if message["type"] == "http.response.start":
                message.setdefault("headers", [])
                add_safe_headers(MutableHeaders(scope=message), scope["path"], scope.get("scheme", "http"))
            await send(message)

        await self._app(scope, receive, headed)
