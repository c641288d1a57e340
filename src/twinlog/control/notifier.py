"""Calls the notification hooks of a service. Runs in the service's loop; requests run in threads.

A hook that does not answer is called again with growing pauses. Its messages wait meanwhile; the oldest are dropped
when too many wait. The number of failures is a metric.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from twinlog.config.notifications import NotificationHook
from twinlog.model.health.history import Event
from twinlog.model.health.notifications import Grouping, bodies
from twinlog.wire.web import opened

log = logging.getLogger("twinlog.notifications")

_TICK_S: Final = 0.25
_WITHIN_S: Final = 10.0
_PAUSE_S: Final = (1.0, 2.0, 5.0, 15.0, 30.0, 60.0)
_MOST_WAITING: Final = 200

Send = Callable[[NotificationHook, dict[str, Any]], None]


def send(hook: NotificationHook, body: dict[str, Any]) -> None:
    """Send one message. Blocking. Raises OSError; the address is not part of the message, it may hold a token (R12)."""
    data = json.dumps(body, default=str).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(hook.url.reveal(), data=data, method="POST", headers=headers)  # noqa: S310  checked
    try:
        with opened(request, timeout_s=_WITHIN_S) as answer:
            answer.read(1024)
    except urllib.error.HTTPError as error:
        raise OSError(f"it answered {error.code} {error.reason}") from None
    except (OSError, ValueError) as error:
        raise OSError(str(getattr(error, "reason", error))) from None


@dataclass
class _Line:
    """One hook with what waits for it."""

    hook: NotificationHook
    grouping: Grouping
    waiting: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=_MOST_WAITING))
    failures: int = 0  # in a row
    sent: int = 0
    next_s: float = 0.0
    trouble: str | None = None


class Notifier:
    """The hooks of a service."""

    def __init__(self, hooks: Sequence[NotificationHook], send: Send = send) -> None:
        self._lines = [_Line(hook, Grouping(frozenset(hook.kinds), hook.level, hook.group_seconds)) for hook in hooks]
        self._send = send

    @property
    def failures(self) -> dict[str, int]:
        """By hook: how often it failed in a row."""
        return {line.hook.name: line.failures for line in self._lines}

    @property
    def sent(self) -> dict[str, int]:
        """By hook: how many messages it took."""
        return {line.hook.name: line.sent for line in self._lines}

    def take(self, events: Iterable[Event]) -> None:
        """Take events as they happen."""
        told = list(events)
        for line in self._lines:
            line.grouping.add(told, time.monotonic())

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            await asyncio.gather(*(self._step(line) for line in self._lines))
            await asyncio.sleep(_TICK_S)

    async def _step(self, line: _Line) -> None:
        key = "" if line.hook.routing_key is None else line.hook.routing_key.reveal()
        if (message := line.grouping.due(time.monotonic())) is not None:
            line.waiting.extend(bodies(line.hook.type, message, key))
        while line.waiting and time.monotonic() >= line.next_s:
            try:
                await asyncio.to_thread(self._send, line.hook, line.waiting[0])
            except OSError as error:
                line.next_s = time.monotonic() + _PAUSE_S[min(line.failures, len(_PAUSE_S) - 1)]
                line.failures += 1
                line.trouble = f"notification hook {line.hook.name}: {error}"
                log.warning("%s; %d messages wait", line.trouble, len(line.waiting))
            else:
                line.waiting.popleft()
                line.failures, line.trouble = 0, None
                line.sent += 1
