"""Checkpoints: where each group continues in the copy, in MirrorMaker 2's format. Runs in the service's loop.

Java clients (`RemoteClusterUtils.translateOffsets`) read them. They are also our memory of what was told before: read
at the start, so that a position never goes back because a service was restarted (R6). The incarnation of the topic
travels in a record header, where MirrorMaker 2's readers do not look.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from twinlog.errors import ClusterError
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.groups.positions import GroupPartition, Told
from twinlog.model.mirrormaker.records import Checkpoint, NotReadable
from twinlog.model.names import TopicPartition
from twinlog.sync.internal_topics import InternalLog
from twinlog.wire.codec import OpenRecord, PlainRecord

_INCARNATION: Final = "twinlog.incarnation"
_AT_ONCE: Final = 2_000


@dataclass
class Checkpoints:
    """One link's checkpoints topic."""

    log: InternalLog
    told: dict[GroupPartition, Told] = field(default_factory=dict)
    loaded: bool = False

    async def load(self) -> str | None:
        """Read what was told before; returns a sentence when that did not work."""
        unreadable = 0
        before: dict[GroupPartition, Told] = {}

        def take(records: Iterable[OpenRecord]) -> None:
            nonlocal unreadable
            for record in records:
                try:
                    checkpoint = Checkpoint.read(record.key, record.value)
                except NotReadable:
                    unreadable += 1
                    continue
                incarnation = dict(record.headers).get(_INCARNATION)
                before[_key(checkpoint)] = Told(
                    checkpoint.upstream,
                    checkpoint.downstream,
                    incarnation.decode(errors="replace") if incarnation else None,
                )

        try:
            await self.log.read_each(take)
        except ClusterError as error:
            return f"{self.log.topic}: what was reported before is not known: {error}; a position may be reported again"
        self.told = before | self.told
        self.loaded = True
        return f"{self.log.topic}: {unreadable} records are no checkpoints; they are ignored" if unreadable else None

    async def emit(self, fresh: Iterable[tuple[Checkpoint, str]]) -> int:
        """Tell positions, each with the incarnation that it is about; returns how many."""
        count, now_ms = 0, SYSTEM_CLOCK.now_ms()
        news = iter(fresh)
        # Some at a time: the loop that this runs in has heartbeats and other links to serve as well.
        while part := list(islice(news, _AT_ONCE)):
            await self.log.write(
                [PlainRecord(0, now_ms, c.key(), c.value(), [(_INCARNATION, inc.encode())]) for c, inc in part]
            )
            for checkpoint, incarnation in part:
                self.told[_key(checkpoint)] = Told(checkpoint.upstream, checkpoint.downstream, incarnation)
            count += len(part)
        return count


def _key(checkpoint: Checkpoint) -> GroupPartition:
    return GroupPartition(checkpoint.group, TopicPartition(checkpoint.topic, checkpoint.partition))
