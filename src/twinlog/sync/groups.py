"""The sync job "groups": positions of consumer groups, kept exact on the target. Runs in the service's loop.

    observe (group_observation) ─▶ decide (model.group_positions) ─▶ write (the target's groups) ─▶ tell (checkpoints)

Commit first, then publish the checkpoint: after a crash in between, the next engine knows the old position and
follows a rewind that only half happened (R6).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from twinlog.config.link_values import CheckpointSettings, GroupOffsetSettings
from twinlog.errors import ClusterError
from twinlog.ledger.view import LedgerView
from twinlog.model.groups.observed import GroupPosition
from twinlog.model.groups.positions import GroupPartition, GroupsNow, Standing, counts_of, standings
from twinlog.model.names import TopicPartition
from twinlog.sync.checkpoints import Checkpoints
from twinlog.sync.ends import LinkEnds
from twinlog.sync.group_observation import GroupObserver
from twinlog.sync.internal_topics import InternalLog, compaction_finding, ensure_topic
from twinlog.sync.jobs import Outcome
from twinlog.wire import protocol_errors as codes
from twinlog.wire.connection import Cluster

_EARLY_S: Final = 0.2
"""A step that comes a moment before its time is in time: clocks and loops jitter."""


@dataclass
class Rhythm:
    """Something that is due every so many seconds."""

    seconds: float
    _last: float = float("-inf")

    def due(self) -> bool:
        """Whether it is time; if so, the next time is counted from now."""
        now = time.monotonic()
        if now - self._last < self.seconds - _EARLY_S:
            return False
        self._last = now
        return True


@dataclass
class GroupSync:
    """Positions of all groups of one link."""

    ends: LinkEnds
    offsets: GroupOffsetSettings
    telling: CheckpointSettings
    name: str = "groups"
    written: dict[GroupPartition, int] = field(default_factory=dict)
    observer: GroupObserver = field(init=False)
    checkpoints: Checkpoints = field(init=False)
    _topic_problem: str | None = None
    _topic_there: bool = False

    def __post_init__(self) -> None:
        link = self.ends.link
        self.observer = GroupObserver(self.ends)
        self._teller = Cluster(link.clients.target_producer, f"twinlog|{link.name}|checkpoints")
        self.checkpoints = Checkpoints(InternalLog(self._teller, link.naming.checkpoints_topic(link.source)))
        self._listing = Rhythm(self.offsets.refresh_seconds)
        self._telling = Rhythm(self.telling.seconds)
        self._writing = Rhythm(self.offsets.seconds)

    @property
    def seconds(self) -> float:
        """The shorter of the two intervals that are switched on."""
        wanted = [
            (self.telling.enabled, self.telling.seconds),
            (self.offsets.enabled, self.offsets.seconds),
        ]
        return float(min((seconds for enabled, seconds in wanted if enabled), default=60))

    async def close(self) -> None:
        await self.observer.close()
        await self._teller.close()

    async def step(self, view: LedgerView) -> Outcome:
        """One cycle over all groups."""
        if not self.observer.groups or (self.offsets.refresh_enabled and self._listing.due()):
            await self.observer.refresh_groups()
        telling = self.telling.enabled and self._telling.due()
        writing = self.offsets.enabled and self._writing.due()
        findings = await self._prepare()
        observed = await self.observer.look(view)
        now = replace(observed, told=self.checkpoints.told, written=self.written)
        decided, kinds = await asyncio.to_thread(self._decide, now)
        refused = await self._write(decided) if writing else {}
        told = await self._tell(decided, now) if telling else 0
        findings += self.observer.findings
        findings += [finding for standing in decided if (finding := standing.finding()) is not None]
        findings += [f"{key.group}: {key.partition}: {why}" for key, why in refused.items() if why]
        counts = {
            "groups": len(now.committed),
            "active_groups": len(now.active),
            "share_groups": len(self.observer.share_groups),
            **kinds,
            "written": sum(1 for s in decided if s.write and _key(s) not in refused) if writing else 0,
            "told": told,
        }
        return Outcome(counts, findings)

    def _decide(self, now: GroupsNow) -> tuple[list[Standing], dict[str, int]]:
        decided = list(standings(now, self.offsets.rewinds, writing=self.offsets.enabled))
        return decided, counts_of(decided)

    async def _prepare(self) -> list[str]:
        """The checkpoints topic: there if possible, and read once."""
        if not self.telling.enabled:
            return []
        if not self._topic_there:
            topic, factor = self.checkpoints.log.topic, self.telling.replication_factor
            self._topic_problem = await asyncio.to_thread(ensure_topic, self.ends.target, topic, factor)
            self._topic_there = self._topic_problem is None
            if self._topic_there:
                self._topic_problem = await asyncio.to_thread(compaction_finding, self.ends.target, topic)
        unread = None if self.checkpoints.loaded else await self.checkpoints.load()
        return [problem for problem in (self._topic_problem, unread) if problem]

    async def _write(self, decided: Iterable[Standing]) -> dict[GroupPartition, str]:
        """Commit into the target's groups; returns what was refused, with an empty reason for a group just joined."""
        wanted: dict[str, dict[TopicPartition, GroupPosition]] = {}
        for standing in decided:
            if standing.write is not None and standing.remote is not None:
                wanted.setdefault(standing.group, {})[standing.remote] = standing.write
        refused: dict[GroupPartition, str] = {}
        for group, answer in (await self.observer.at_target.commit_positions(wanted)).items():
            if isinstance(answer, ClusterError):
                refused |= {GroupPartition(group, partition): str(answer) for partition in wanted[group]}
                continue
            for partition, error in answer:
                joined = error == codes.UNKNOWN_MEMBER_ID
                why = "" if joined else f"the target refused its position: {codes.name_of(error)}"
                refused[GroupPartition(group, partition)] = why
        for group, positions in wanted.items():
            for partition, position in positions.items():
                key = GroupPartition(group, partition)
                if key not in refused:
                    self.written[key] = position.offset
        return refused

    async def _tell(self, decided: Iterable[Standing], now: GroupsNow) -> int:
        """Emit checkpoints, but not of a rewind that is still to be written: the next life would not see it."""
        return await self.checkpoints.emit(
            (standing.checkpoint, now.copied[standing.source].incarnation)
            for standing in decided
            if standing.checkpoint is not None and not self._must_go_back(standing)
        )

    def _must_go_back(self, standing: Standing) -> bool:
        key = _key(standing)
        if standing.write is None or standing.on_target is None or key is None:
            return False
        return standing.write.offset < standing.on_target and self.written.get(key) != standing.write.offset


def _key(standing: Standing) -> GroupPartition | None:
    return GroupPartition(standing.group, standing.remote) if standing.remote else None
