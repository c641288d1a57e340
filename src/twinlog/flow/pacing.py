"""The limit of a link in one task: the task's share of it, by the settings, the timetable and an operator's order.

Runs in the reader's loop. The link's limit is dealt to tasks by the shards that each has.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from typing import Final

from twinlog.config.settings import LinkSettings
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.ledger.control import Control, Pace

_LONGEST_NAP_S: Final = 0.5
"""So soon a raised limit is noticed by who waits."""


@dataclass
class Pacing:
    """What one task may ask of the source."""

    link: LinkSettings
    control: Control
    share: float
    pace: Pace = field(default_factory=Pace)

    def __post_init__(self) -> None:
        self._adopt()

    def hear(self, ordered: Control) -> bool:
        """Take an order; tells whether other partitions are paused than before."""
        changed = (ordered.topics, ordered.partitions) != (self.control.topics, self.control.partitions)
        if not changed:
            self.control = ordered
            self._adopt()
        return changed

    async def wait(self) -> None:
        """Until more may be asked for."""
        self._adopt()
        while (left := self.pace.wait_s(time.monotonic())) > 0:
            await asyncio.sleep(min(left, _LONGEST_NAP_S))
            self._adopt()

    def _adopt(self) -> None:
        """Follow order and time of day."""
        wish = self.control
        if not wish.schedule and wish.bytes_per_second is None:
            wish = replace(wish, schedule=self.link.reading.limit_schedule)
        limit = wish.limit_at(SYSTEM_CLOCK.now_ms(), self.link.reading.limit_bytes_per_second) * self.share
        if limit != self.pace.bytes_per_second:
            self.pace.limit(limit, time.monotonic())
