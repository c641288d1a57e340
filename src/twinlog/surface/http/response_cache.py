"""Answers that are kept and sent again until something changes. Runs in the service's loop, right before the routers.

    order ─────────────────────▶ routers         the cache is invalidated before the order is answered
    read ──▶ kept, still true? ─▶ sent again
                 └─ no ────────▶ routers ─▶ kept, if the route says so (`FOR_ALL`, `FOR_VISITOR`)

Hundreds of readers a second ask for what changes every two seconds; finding the route and rendering cost more than all
the rest. A reader that comes while the same is being made waits for it. Only whole answers with status 200 are kept.
Whoever asks has passed the gate: it decides who may read, each time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from fastapi import Depends, Request

from twinlog.surface.http.gate import App as Asgi
from twinlog.surface.http.gate import Message, Receive, Scope, Send

KEPT_SECONDS: Final = 1.0
"""Ages in an answer may be that much too small."""
MOST: Final = 32
MOST_BYTES: Final = 32 << 20
"""What is kept at the same time: asking differently each time must not fill the memory (R11)."""
_SLOT: Final = "twinlog.response_cache"

_Key: TypeAlias = tuple[str, bytes, object, tuple[str, str, str] | None]
_Whole: TypeAlias = tuple[Message, Message]


@dataclass(frozen=True)
class _Kept:
    """A cached response, or one being rendered. The future is None if the response was not cacheable."""

    turn: object
    began: float
    whole: asyncio.Future[_Whole | None]

    @property
    def size(self) -> int:
        """Bytes of its body."""
        response = self.whole.result() if self.whole.done() else None
        return len(response[1].get("body", b"")) if response is not None else 0


def _nowhere(personal: bool) -> None:
    """Nothing is kept where there is no response cache."""
    del personal


async def keep_for_all(request: Request) -> None:
    """Say that everybody who may read gets the same answer. Async, as FastAPI would call it in a thread otherwise."""
    request.scope.get(_SLOT, _nowhere)(False)


async def keep_for_visitor(request: Request) -> None:
    """Say that the answer depends on who asks, by name, role and session."""
    request.scope.get(_SLOT, _nowhere)(True)


FOR_ALL: Final = Depends(keep_for_all)
FOR_VISITOR: Final = Depends(keep_for_visitor)


class ResponseCache:
    """Stands before the routers. `turn` is compared: it differs as soon as something was seen or changed."""

    def __init__(self, app: Asgi, *, turn: Callable[[], object]) -> None:
        self._app = app
        self._seen = turn
        self._orders = 0
        self._kept: dict[_Key, _Kept] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in {"HEAD", "OPTIONS"}:
            await self._app(scope, receive, send)
        elif scope["method"] == "GET":
            await self._read(scope, receive, send)
        else:
            await self._order(scope, receive, send)

    async def _order(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def told(message: Message) -> None:
            self._orders += 1
            await send(message)

        try:
            await self._app(scope, receive, told)
        finally:
            self._orders += 1

    async def _read(self, scope: Scope, receive: Receive, send: Send) -> None:
        turn, now = (self._orders, self._seen()), time.monotonic()
        who = scope.get("twinlog.who")
        visitor = (who.name, who.role, who.proof) if who is not None else None
        # Whoever may see other links gets another answer.
        place = scope["path"], scope.get("query_string", b""), who.view if who is not None else None
        for key in ((*place, None), (*place, visitor)):
            kept = self._kept.get(key)
            if kept is not None and kept.turn == turn and now - kept.began <= KEPT_SECONDS:
                # Shielded: one reader that goes away must not take the answer from the others.
                whole = kept.whole.result() if kept.whole.done() else await asyncio.shield(kept.whole)
                if whole is not None:
                    await send(whole[0])
                    await send(whole[1])
                    return
        making = _Kept(turn, now, asyncio.get_running_loop().create_future())
        promised: _Key | None = None
        start: Message | None = None

        def promise(personal: bool) -> None:
            """Let others wait; the route says so before it begins to make the answer."""
            nonlocal promised
            promised = (*place, visitor if personal else None)
            self._put(promised, making)

        async def keeping(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message if message["status"] == 200 and promised is not None else None
            elif start is not None and promised is not None:
                if not message.get("more_body"):
                    making.whole.set_result((start, message))
                    self._put(promised, making)
                start = None
            await send(message)

        scope[_SLOT] = promise
        try:
            await self._app(scope, receive, keeping)
        finally:
            if not making.whole.done():
                making.whole.set_result(None)
                if promised is not None and self._kept.get(promised) is making:
                    del self._kept[promised]

    def _put(self, key: _Key, made: _Kept) -> None:
        there = self._kept.get(key)
        if there is not None and there.began > made.began:
            return  # somebody began later, and saw more
        self._kept.pop(key, None)
        self._kept[key] = made
        while len(self._kept) > MOST or sum(kept.size for kept in self._kept.values()) > MOST_BYTES:
            del self._kept[next(iter(self._kept))]
