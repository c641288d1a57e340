"""What delays records, reported by a task while it lasts: quotas, silent brokers, partitions that accept no writes.

None of these is a fault yet, and most pass within seconds. An operator who sees records stand still wants the cause
before a partition is given up (R14). Tasks leave it as a memo in the ledger, renewed while it lasts; the sync job
`hindrances` shows it in status.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from twinlog.config.settings import LinkSettings
from twinlog.errors import ClusterError
from twinlog.flow.budget import Opening
from twinlog.flow.noting import Noting
from twinlog.flow.outbox import Outbox
from twinlog.ledger.writer import roster_writer
from twinlog.model.ledger.records import HINDRANCES, Memo
from twinlog.model.names import TopicPartition
from twinlog.wire.connection import Cluster
from twinlog.wire.fence import Fence
from twinlog.wire.line import Backlog

log = logging.getLogger("twinlog.task")

RENEW_S: Final = 2.0
_TELL_S: Final = 2.0
_LATE_S: Final = 3.0
"""An answer of a broker that is well comes within milliseconds; elections pass within a second or two."""
_LISTED: Final = 3


@dataclass
class HindranceTeller:
    """Leaves the memos of one side of one task. It has a client of its own: a quota may hold the others back."""

    link: LinkSettings
    name: str
    _told: Sequence[str] = ()
    _again: float = 0.0
    _task: asyncio.Task[None] | None = None
    _target: Cluster | None = None

    def tell(self, says: Sequence[str], now: float, lasts_s: float = 0.0) -> None:
        """Begin to tell, if there is something to tell or to take back. Never raises, never waits."""
        busy = self._task is not None and not self._task.done()
        if busy or (not says and not self._told) or (says and now < self._again):
            return
        self._told, self._again = says, now + RENEW_S
        self._task = asyncio.ensure_future(self._write(says, lasts_s))

    async def close(self) -> None:
        """Say nothing more. What was told is not taken back: whoever comes next renews it, or it is over."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._target is not None:
            await self._target.close()

    async def _write(self, says: Sequence[str], lasts_s: float) -> None:
        if self._target is None:
            self._target = Cluster(
                self.link.clients.target_producer, f"twinlog|{self.link.name}|{self.name}-hindrances"
            )
        body = {"says": list(says), "renewed": time.monotonic_ns(), "lasts_s": round(lasts_s, 1)}
        memo = Memo(chore=HINDRANCES, name=self.name, body=body)
        try:
            async with asyncio.timeout(_TELL_S):
                await roster_writer(self._target, self.link.source, self.link.name).write([memo])
        except (TimeoutError, ClusterError) as trouble:
            self._told = ("not told",)  # to be taken back even so
            log.warning("%s: %s; not reported: %s", self.link.name, "; ".join(says), str(trouble) or "no answer")


def throttled(cluster: Cluster, now: float) -> list[str]:
    """The brokers whose quota holds this client back."""
    return [
        f"{cluster.alias}: broker {node} throttles this link by a quota: it answers nothing for {ms / 1000:.1f} s"
        for node, ms in sorted(cluster.throttles(now).items())
    ]


def longest_throttle_s(cluster: Cluster, now: float) -> float:
    """For how long nothing can be heard of the brokers that throttle us."""
    return max(cluster.throttles(now).values(), default=0) / 1000


def breaking(cluster: Cluster, now: float) -> list[str]:
    """Connections that break, though they can be opened again."""
    breaks = cluster.breaks.repeated(now)
    if breaks is None:
        return []
    times, brokers, reason = breaks
    return [f"{cluster.alias}: connections broke {times} times in the last 10 s ({reason}): {_some(brokers)}"]


def late_openings(openings: Iterable[Opening], fence: Fence, now: float) -> list[str]:
    """Partitions that wait for the take-over of their shard, by shard, with what it waits for."""
    shards: dict[int, list[str]] = {}
    for opening in openings:
        if now - opening.since >= _LATE_S:
            shards.setdefault(opening.begin.shard, []).append(str(opening.begin.remote))
    return [
        f"{fence.cluster.alias}: shard {shard} is not taken over yet"
        f" ({fence.waits.get(shard, 'its marker is not in the log')}): {_some(places)}"
        for shard, places in sorted(shards.items())
    ]


def late_writes(boxes: Iterable[Outbox], notes: Noting, target: Cluster, now: float) -> list[str]:
    """Partitions of the target that take no writes, and parts of the ledger that take no notes, by cause."""
    causes: dict[str, list[str]] = {}
    waiting = target.backlogs(now)
    for where, cause in (*_late_records(boxes, target, waiting, now), *_late_notes(notes, waiting, now)):
        causes.setdefault(cause, []).append(where)
    return [f"{target.alias}: {cause}: {_some(places)}" for cause, places in causes.items()]


def _late_records(
    boxes: Iterable[Outbox], target: Cluster, waiting: Mapping[int, Backlog], now: float
) -> Iterator[tuple[str, str]]:
    quiet = target.throttles(now)
    for box in boxes:
        if box.stopped or box.idle:
            continue
        if box.hindered_since is not None:
            if now - box.hindered_since >= _LATE_S:
                yield str(box.remote), box.hindrance
        elif box.awaited_since is not None and now - box.awaited_since >= _LATE_S:
            leader = target.leader(*box.remote)
            if leader is not None and leader.node not in quiet:
                yield str(box.remote), _no_answer(leader.node, waiting)


def _late_notes(notes: Noting, waiting: Mapping[int, Backlog], now: float) -> Iterator[tuple[str, str]]:
    for shard, since in notes.under_way.items():
        if now - since >= _LATE_S and shard in notes.owners:
            ledger = notes.owners[shard].ledger
            leader = ledger.cluster.leader(ledger.topic, ledger.partition)
            cause = "no leader" if leader is None else _no_answer(leader.node, waiting)
            yield f"{ledger.topic}-{ledger.partition}", cause


def slow_line(target: Cluster, remote: TopicPartition) -> str | None:
    """What is wrong with the line to the leader of a partition; None: nothing, or nothing that we know."""
    leader, waiting = target.leader(*remote), target.backlogs(time.monotonic())
    return None if leader is None or leader.node not in waiting else _no_answer(leader.node, waiting)


def _no_answer(node: int, waiting: Mapping[int, Backlog]) -> str:
    """Why nothing is heard: the request is there, or it is still on its way."""
    silent = f"broker {node} does not answer as leader"
    if (line := waiting.get(node)) is None:
        return silent
    waits = f"{line.waiting / 1000:,.0f} kB wait to be sent"
    if not line.bytes_per_s:
        return f"{silent}; it receives nothing, {waits}"
    return f"the line to broker {node} is too slow: it carries {line.bytes_per_s / 1000:.1f} kB/s, and {waits}"


def _some(places: Sequence[str]) -> str:
    shown = ", ".join(sorted(places)[:_LISTED])
    return shown if len(places) <= _LISTED else f"{shown} and {len(places) - _LISTED} more"
