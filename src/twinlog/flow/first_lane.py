"""Topics that are copied before all others while they are behind (`topics.first`). Runs in the reader's loop.

Partitions of these topics have connections of their own to their leaders. While one of them is behind, in this task or
in another one, the other partitions are read in small portions, once a second: nothing stands still, and nearly all
of the line belongs to the first ones. Tasks hear of each other by memos in the ledger. A link's limit follows: tasks
with partitions that are behind share nine tenths of it, and the others have the rest.

    behind   the last answer did not reach the end that the broker told with it
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field
from typing import Final

from twinlog.errors import ClusterError
from twinlog.ledger.writer import LedgerWriter
from twinlog.model.ledger.records import FIRST_LANE, Memo
from twinlog.model.names import TopicPartition
from twinlog.model.pace import Bucket, Limits
from twinlog.model.selection import Patterns

log = logging.getLogger("twinlog.read")

SMALL_BYTES: Final = 65_536
TURN_S: Final = 1.0
"""While others come first: so much, so often."""
_LEAST_BYTES: Final = 4_096
OTHERS: Final = 0.1
"""And of a limit this part."""
_TELL_S: Final = 2.0
_ALL_TELL_S: Final = 3.0
"""So long the others wait at the start of an epoch for tasks that have not told anything yet."""


@dataclass
class FirstLane:
    """Which partitions of one task come first, and whether any of them is behind."""

    chosen: Patterns = field(default_factory=Patterns)
    task: int = 0
    epoch: tuple[int, int] = (0, 0)  # generation and epoch: what tasks of an older one told does not count
    share: float = 1.0  # of the link's shards, that this task has
    behind: set[TopicPartition] = field(default_factory=set)
    others: Bucket = field(default_factory=Bucket)  # what partitions that do not come first may take of a limit
    _elsewhere: dict[str, float] = field(default_factory=dict)  # tasks with partitions that are behind: their shares
    _heard: dict[str, float] = field(default_factory=dict)  # all tasks that told anything: their shares
    _caught_up: asyncio.Event = field(default_factory=asyncio.Event)
    _told: bool | None = None
    _began_s: float = field(default_factory=time.monotonic)

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
        self._heard[name] = share = float(body.get("share", 0.0))
        if body.get("behind"):
            self._elsewhere[name] = share
        else:
            self._elsewhere.pop(name, None)
            self._ring()

    @property
    def busy(self) -> bool:
        """Whether the others must wait."""
        return bool(self.behind or self._elsewhere) or self._waits_for_tasks()

    def _waits_for_tasks(self) -> bool:
        """Whether a task has not told yet whether it is behind; shares of all tasks are one."""
        unheard = 1.0 - self.share - sum(self._heard.values())
        in_time = time.monotonic() - self._began_s < _ALL_TELL_S
        return bool(self.chosen.patterns) and unheard > 1e-6 and in_time

    def limit(self, of_link: Limits, now_s: float) -> Limits:
        """Return what this task may take of the link's limits now."""
        self.others.limit(of_link.bytes_per_second * self.share * OTHERS, now_s)
        if not self.behind:
            return of_link.share(self.share)
        return of_link.share((1 - OTHERS) * self.share / (self.share + sum(self._elsewhere.values())))

    async def turn(self) -> int | None:
        """Wait for the turn of a partition that does not come first; returns how much it may ask for at most."""
        if not self.busy:
            return None
        self._caught_up.clear()
        try:
            async with asyncio.timeout(max(TURN_S, self.others.wait_s(time.monotonic()))):
                await self._caught_up.wait()
        except TimeoutError:
            return self._portion
        return None

    @property
    def _portion(self) -> int:
        """How many bytes a turn may ask for; a batch is never cut, so it may bring more, which is waited for."""
        limited = int(self.others.per_second * TURN_S)
        return max(_LEAST_BYTES, min(SMALL_BYTES, limited)) if limited else SMALL_BYTES

    async def tell(self, writer: LedgerWriter) -> None:
        """Tell the other tasks, if there is something new to tell. Never raises: it is told again at the next tick."""
        now = bool(self.behind)
        if not self.chosen.patterns or now == self._told:
            return
        body = {"behind": now, "epoch": [*self.epoch], "share": self.share}
        memo = Memo(chore=FIRST_LANE, name=self._name, body=body)
        try:
            async with asyncio.timeout(_TELL_S):
                await writer.write([memo])
            self._told = now
        except (TimeoutError, ClusterError) as trouble:
            log.warning("%s: not reported to other tasks: %s", self._name, str(trouble) or "no answer")

    @property
    def _name(self) -> str:
        return f"task-{self.task}"

    def _ring(self) -> None:
        if not self.busy:
            self._caught_up.set()
