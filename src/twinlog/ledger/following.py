"""One link's ledger, read once and then followed: each call fetches what is new. It writes nothing.

A ledger topic that was deleted and created again, or that lost its end, is read from the start again.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from twinlog.errors import BrokerAway, ClusterUnreachable
from twinlog.ledger.view import LedgerView
from twinlog.model.ledger.records import ROSTER_PARTITION, ledger_topic, shard_of
from twinlog.model.names import TopicPartition
from twinlog.wire.connection import Cluster
from twinlog.wire.log import fetch_ends

WITHIN_S: Final = 60.0

Part: TypeAlias = Literal["all", "roster"] | TopicPartition
"""All of it, all but what it says of partitions, or the roster and what it says of one source partition."""


def _nothing() -> LedgerView:
    return LedgerView({}, keep_maps=True)


@dataclass
class FollowedLedger:
    """The ledger of the link from `source` to a cluster. The cluster's connections belong to the caller."""

    cluster: Cluster
    source: str
    part: Part = "all"
    _view: LedgerView = field(default_factory=_nothing)
    _topic_id: str = ""
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def read(self, within_s: float = WITHIN_S) -> LedgerView | None:
        """Everything that it says now; None when there is none. Never a part of what was asked for.

        The view is the same object each time. It changes when the ledger is read again, never in between.
        """
        try:
            async with asyncio.timeout(within_s), self._lock:
                return await self._read()
        except (TimeoutError, BrokerAway) as error:
            problem = error.problem if isinstance(error, BrokerAway) else f"no end of it came within {within_s:.0f} s"
            if lost := self._view.leaderless(self.cluster, self.source):
                problem += f": no leader for its partitions {', '.join(map(str, lost))}"
            raise ClusterUnreachable(self.cluster.alias, f"{ledger_topic(self.source)}: {problem}") from error

    async def _read(self) -> LedgerView | None:
        topic = ledger_topic(self.source)
        metadata = (await self.cluster.refresh([topic]))[topic]
        there = set(metadata.leaders)
        if not there:
            self._view = _nothing()
            return None
        wanted = dict.fromkeys(_wanted(there, self.part), 0)
        ends = await fetch_ends(self.cluster, topic, wanted)
        read = self._view.positions
        if metadata.topic_id != self._topic_id or any(end < read.get(number, 0) for number, end in ends.items()):
            self._view, self._topic_id = _nothing(), metadata.topic_id
        self._view.positions = wanted | self._view.positions
        await self._view.read_up_to(self.cluster, self.source, ends)
        return self._view


def _wanted(there: set[int], part: Part) -> set[int]:
    match part:
        case "all":
            return there
        case "roster":
            return {ROSTER_PARTITION}
        case TopicPartition():
            return {ROSTER_PARTITION, 1 + shard_of(part, len(there) - 1)}
