"""Logins in the audit: the first right one, and wrong ones without letting a flood of them fill the disk.

Runs in the service's loop. Programs log in with every request, and whoever guesses does so thousands of times: one
entry per name and network and period, with the number of those that were left out.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

from twinlog.control.audit import Audit, Who
from twinlog.surface.http.login_limits import network_of

PERIOD_S: Final = 60.0
_AGAIN_AFTER_S: Final = 3600.0
"""A right login is written down once within this."""
_MOST: Final = 60
"""Entries about wrong logins per period, whatever names they use."""
_MOST_KNOWN: Final = 10_000
_LONGEST_NAME: Final = 100


class LoginLog:
    """What was shown at the door of one service."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit
        self._right: dict[tuple[str, str, str, str], float] = {}
        self._wrong: set[tuple[str, str, str]] = set()
        self._left_out = 0
        self._period: asyncio.TimerHandle | None = None

    def right(self, who: Who) -> None:
        """Somebody logged in."""
        key, now = (who.name, who.subject, who.by, network_of(who.address)), time.monotonic()
        if now - self._right.get(key, -_AGAIN_AFTER_S) < _AGAIN_AFTER_S:
            return
        self._right[key] = now
        if len(self._right) > _MOST_KNOWN:
            del self._right[next(iter(self._right))]
        self._audit.note(who, "log in", who.by)

    def wrong(self, name: str, address: str, why: str) -> None:
        """Somebody was not let in."""
        key = name[:_LONGEST_NAME], network_of(address), why
        if self._period is None:
            self._period = asyncio.get_running_loop().call_later(PERIOD_S, self._end_period)
        if key in self._wrong or len(self._wrong) >= _MOST:
            self._left_out += 1
            return
        self._wrong.add(key)
        self._audit.note(Who(key[0], "viewer", address), "log in", "", outcome=f"refused: {why}")

    def _end_period(self) -> None:
        self._period = None
        self._wrong.clear()
        if self._left_out:
            told = f"{self._left_out} more refused within {PERIOD_S:.0f} s"
            self._left_out = 0
            self._audit.note(Who("", "viewer"), "log in", "", outcome=told)
