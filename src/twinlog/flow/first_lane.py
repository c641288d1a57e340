"""Topics that are copied before all others while they are behind (`topics.first`). Runs in the reader's loop.

Partitions of these topics have connections of their own to their leaders. While one of them is behind, in this task or
in another one, the other partitions are read in small portions, once a second: nothing stands still, and nearly all
of the line belongs to the first ones. Tasks hear of each other by memos in the ledger.

    behind   the last answer did not reach the end that the broker told with it
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Final

from twinlog.errors import ClusterError
from twinlog.ledger.writer import LedgerWriter
from twinlog.model.ledger.records import FIRST_LANE, Memo
from twinlog.model.names import TopicPartition
from twinlog.model.selection import Patterns

log = logging.getLogger("twinlog.read")

SMALL_BYTES: Final = 65_536
TURN_S: Final = 1.0
"""While others come first: so much, so often."""
_TELL_S: Final = 2.0


@dataclass
class FirstLane:
    """Which partitions of one task come first, and whether any of them is behind."""

    chosen: Patterns = field(default_factory=Patterns)
    task: int = 0
    epoch: tuple[int, int] = (0, 0)  # generation and epoch: what tasks of an older one told does not count
    behind: set[TopicPartition] = field(default_factory=set)
    elsewhere: set[str] = field(default_factory=set)  # tasks with partitions that are behind
    _caught_up: asyncio.Event = field(default_factory=asyncio.Event)
    _told: bool | None = None

    def holds(self, partition: TopicPartition) -> bool:
        """Whether a partition comes first."""
        return self.chosen.matches(partition.topic)

    def took(self, partition: TopicPartition, offset: int, end: int) -> None:
        """Note how far an answer reached."""
        if offset < end:
            self.behind.add(partition)
        else:
            self.forget(partition)

    def forget(self, partition: TopicPartition) -> None:
        """Wait for a partition no longer: it caught up, or it is not read any more."""
        self.behind.discard(partition)
        self._ring()

    def hear(self, memo: Memo) -> None:
        """Take what a task told."""
        name, body = memo.name, memo.body
        if name == self._name or [*self.epoch] != body.get("epoch"):
            return
        if body.get("behind"):
            self.elsewhere.add(name)
        else:
            self.elsewhere.discard(name)
            self._ring()

    @property
    def busy(self) -> bool:
        """Whether the others must wait."""
        return bool(self.behind or self.elsewhere)

    async def turn(self) -> int | None:
        """Wait for the turn of a partition that does not come first; returns how much it may ask for at most."""
        if not self.busy:
            return None
        self._caught_up.clear()
        try:
            async with asyncio.timeout(TURN_S):
                await self._caught_up.wait()
        except TimeoutError:
            return SMALL_BYTES
        return None

    async def tell(self, writer: LedgerWriter) -> None:
        """Tell the other tasks, if there is something new to tell. Never raises: it is told again at the next tick."""
        now = bool(self.behind)
        if not self.chosen.patterns or now == self._told:
            return
        memo = Memo(chore=FIRST_LANE, name=self._name, body={"behind": now, "epoch": [*self.epoch]})
        try:
            async with asyncio.timeout(_TELL_S):
                await writer.write([memo])
            self._told = now
        except (TimeoutError, ClusterError) as trouble:
            log.warning("%s: not told to other tasks: %s", self._name, str(trouble) or "no answer")

    @property
    def _name(self) -> str:
        return f"task-{self.task}"

    def _ring(self) -> None:
        if not self.busy:
            self._caught_up.set()
