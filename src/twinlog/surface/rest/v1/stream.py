"""/v1/stream: live values as server-sent events. One observation serves all readers; none asks a cluster."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from twinlog.control.audit import NOBODY, Who
from twinlog.surface.answers.errors import problem
from twinlog.surface.answers.history import line
from twinlog.surface.answers.links import summary_of
from twinlog.surface.answers.operations import operation_of
from twinlog.surface.http.app_state import AppState, TheAppState

router = APIRouter(prefix="/v1", tags=["stream"])

_ALIVE_S: Final = 15.0
_PACE_S: Final = 1.0


@router.get(
    "/stream",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"text/event-stream": {}}, "description": "links, events and operations, as they come"}
    },
)
async def stream(app_state: TheAppState, request: Request) -> Response:
    """Events named `links` (all summaries), `event` (one line) and `operations` (those that run or just ended)."""
    who: Who = request.scope.get("twinlog.who") or NOBODY
    most = app_state.most_streams
    if app_state.streams[who.name] >= most:
        way = "Close some, or raise http.max.streams.per.user."
        return problem(429, "TOO_MANY_STREAMS", f"{who.name} has {most} live streams already", way)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    still_in: Callable[[], bool] = request.scope.get("twinlog.still_in", lambda: True)
    told = _counted(_messages(app_state, still_in), app_state, who.name)
    return StreamingResponse(told, media_type="text/event-stream", headers=headers)


async def _counted(messages: AsyncGenerator[str], app_state: AppState, name: str) -> AsyncIterator[str]:
    app_state.streams[name] += 1
    try:
        async with contextlib.aclosing(messages):
            async for message in messages:
                yield message
    finally:
        app_state.streams[name] -= 1
        if not app_state.streams[name]:
            del app_state.streams[name]


async def _messages(app_state: AppState, still_in: Callable[[], bool]) -> AsyncGenerator[str]:
    told: dict[str, Any] = {}
    last = next(reversed(app_state.events()), None)
    while not app_state.ended and still_in():
        links = [summary_of(snapshot).model_dump() for snapshot in app_state.snapshots()]
        if told.get("links") != links:
            told["links"] = links
            yield _message("links", links)
        fresh = []
        for event in reversed(app_state.events()):
            if event is last:
                break
            fresh.append(event)
        for event in reversed(fresh):
            yield _message("event", line(event).model_dump())
        last = next(reversed(app_state.events()), None)
        operations = [
            operation_of(operation).model_dump(exclude={"result"}) for operation in app_state.operations_of()[:20]
        ]
        if told.get("operations") != operations:
            told["operations"] = operations
            yield _message("operations", operations)
        busy = any(operation.status == "running" for operation in app_state.operations_of())
        try:
            async with asyncio.timeout(_PACE_S if busy else _ALIVE_S):
                await app_state.monitor.next_change()
        except TimeoutError:
            yield ": alive\n\n"
        else:
            await asyncio.sleep(0.2)  # several links are looked at in the same moment


def _message(name: str, data: Any) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"
