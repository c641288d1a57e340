"""The limits of a link in one task: the task's share of them, by the settings, the timetable and an operator's order.

Runs in the reader's loop. The link's limits are dealt to tasks by the shards that each has, or to those whose topics
come first (`first_lane`).
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Final

from twinlog.config.settings import LinkSettings
from twinlog.flow.first_lane import FirstLane
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.ledger.control import Control
from twinlog.model.pace import Pace

_LONGEST_NAP_S: Final = 0.5
"""So soon a raised limit is noticed by who waits."""


@dataclass
class Pacing:
    """What one task may ask of the source."""

    link: LinkSettings
    control: Control
    first: FirstLane
    pace: Pace = field(default_factory=Pace)

    def __post_init__(self) -> None:
        self._adopt()

    def hear(self, ordered: Control) -> bool:
        """Take an order; tells whether it needs another plan: other partitions are paused, other topics come first."""
        if not ordered.same_reading(self.control):
            return True
        self.control = ordered
        self._adopt()
        return False

    async def wait(self) -> None:
        """Until more may be asked for."""
        self._adopt()
        while (left := self.pace.wait_s(time.monotonic())) > 0:
            await asyncio.sleep(min(left, _LONGEST_NAP_S))
            self._adopt()

    def _adopt(self) -> None:
        """Follow order and time of day."""
        now_s = time.monotonic()
        limits = self.first.limit(self.control.limits_at(SYSTEM_CLOCK.now_ms(), self.link.reading.limits), now_s)
        if limits != self.pace.limits:
            self.pace.limit(limits, now_s)
