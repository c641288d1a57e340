"""The sync job "hindrances": what delays records now, as the tasks report it. Runs in the service's loop.

Quotas, brokers that do not answer, partitions that take no writes. A task renews its memo while the hindrance lasts. A
memo that is not renewed is over: whether it is renewed is seen by our own clock, because clocks of hosts differ.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Final

from twinlog.ledger.view import LedgerView
from twinlog.model.ledger.records import HINDRANCES
from twinlog.sync.jobs import Outcome

_FRESH_S: Final = 6.0
"""Three times as long as a task takes to renew its memo."""


@dataclass
class Hindrances:
    """What the tasks of one link say."""

    name: str = HINDRANCES
    seconds: float = 1.0
    _heard: dict[str, tuple[Any, float]] = field(default_factory=dict)

    async def step(self, view: LedgerView) -> Outcome:
        """Look at the memos once."""
        says = self.current(view, time.monotonic())
        return Outcome({"hindrances": len(says)}, alarm="; ".join(says) or None)

    def current(self, view: LedgerView, now: float) -> list[str]:
        """What is told and renewed. A memo that was there before we looked may be of an engine that is long dead."""
        first_look = not self._heard
        self._heard.setdefault("", (None, 0.0))
        says: dict[str, None] = {}
        for name, memo in sorted(view.memos.get(HINDRANCES, {}).items()):
            renewed, at = self._heard.get(name, (None, 0.0))
            if renewed != memo.body.get("renewed"):
                renewed, at = memo.body.get("renewed"), float("-inf") if first_look else now
                self._heard[name] = (renewed, at)
            if now - at < _FRESH_S + float(memo.body.get("lasts_s", 0)):
                says |= dict.fromkeys(memo.body.get("says", []))
        return list(says)
