"""The sync job "heartbeats" of a link, and the canary. Runs in the service's loop.

For the pair A->B a heartbeat goes to `heartbeats` on B. The link B->A then carries it to A as `B.heartbeats`: clients
learn the topology from such names, and the time that a heartbeat took is the latency of a record (the canary).
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Final

from twinlog.config.link_values import HeartbeatSettings
from twinlog.config.settings import HeartbeatPair
from twinlog.kafka.admin import ClusterAdmin
from twinlog.ledger.view import LedgerView
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.mirrormaker.records import Heartbeat, NotReadable
from twinlog.model.naming import HEARTBEATS
from twinlog.sync.ends import LinkEnds
from twinlog.sync.internal_topics import InternalLog, ensure_topic
from twinlog.sync.jobs import Outcome
from twinlog.wire.codec import PlainRecord, open_batch
from twinlog.wire.connection import Cluster
from twinlog.wire.log import LogReader, fetch_ends

log = logging.getLogger("twinlog.heartbeats")

_SILENT_MS: Final = 30_000


def _now_ms() -> int:
    return SYSTEM_CLOCK.now_ms()


@dataclass
class Pulse:
    """Writes the heartbeats of one pair."""

    pair: HeartbeatPair
    admin: ClusterAdmin
    log: InternalLog = field(init=False)
    _there: bool = False

    def __post_init__(self) -> None:
        cluster = Cluster(self.pair.target_producer, f"twinlog|{self.pair.name}|heartbeats")
        self.log = InternalLog(cluster, HEARTBEATS)

    async def beat(self) -> str | None:
        """One heartbeat; returns a sentence when the topic could not be made."""
        problem = None
        if not self._there:
            factor = self.pair.replication_factor
            problem = await asyncio.to_thread(ensure_topic, self.admin, HEARTBEATS, factor)
            self._there = problem is None
        now_ms = _now_ms()
        beat = Heartbeat(self.pair.source, self.pair.target, now_ms)
        await self.log.write([PlainRecord(0, now_ms, beat.key(), beat.value(), [])])
        return problem

    async def close(self) -> None:
        await self.log.cluster.close()


@dataclass
class Canary:
    """Follows the source's heartbeats topic as it arrives on the target, and remembers how long the last one took."""

    cluster: Cluster
    topic: str
    latency_ms: int | None = None
    arrived_ms: int = 0

    async def follow(self) -> None:
        """Until cancelled; ends at once when there is no such topic."""
        metadata = (await self.cluster.refresh([self.topic]))[self.topic]
        if metadata.error or not metadata.leaders:
            return
        reader = LogReader(self.cluster, self.topic, await fetch_ends(self.cluster, self.topic, {0: 0}), "canary")
        async for _, batches in reader.batches():
            now_ms = _now_ms()
            for header, data in batches:
                for record in [] if header.is_control else open_batch(data):
                    self._hear(record.key, record.value, now_ms)

    def _hear(self, key: bytes | None, value: bytes | None, now_ms: int) -> None:
        try:
            beat = Heartbeat.read(key, value)
        except NotReadable:
            return
        self.latency_ms, self.arrived_ms = max(0, now_ms - beat.timestamp_ms), now_ms


@dataclass
class Heartbeats:
    """The sync job "heartbeats" of one link: emit, and listen to what the link brings."""

    ends: LinkEnds
    settings: HeartbeatSettings
    name: str = "heartbeats"
    pulse: Pulse = field(init=False)
    canary: Canary = field(init=False)
    _listening: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        link = self.ends.link
        self.pulse = Pulse(HeartbeatPair.of(link), self.ends.target)
        ears = Cluster(link.clients.target_consumer, f"twinlog|{link.name}|canary")
        self.canary = Canary(ears, link.naming.remote(link.source, HEARTBEATS))

    @property
    def seconds(self) -> float:
        """As the settings say."""
        return float(self.settings.seconds)

    async def step(self, view: LedgerView) -> Outcome:
        """One heartbeat, and what the canary heard meanwhile."""
        self._listen(HEARTBEATS in view.roster)
        problem = await self.pulse.beat()
        findings = [problem] if problem else []
        counts = {"sent": 1}
        if self.canary.latency_ms is not None:
            counts["canary_ms"] = self.canary.latency_ms
            silent_ms = _now_ms() - self.canary.arrived_ms
            if silent_ms > _SILENT_MS:
                findings.append(
                    f"{self.canary.topic}: no heartbeat arrived for {silent_ms // 1000} s; "
                    f"no link emits them on {self.ends.link.source}, or the link does not carry them"
                )
        return Outcome(counts, findings)

    def _listen(self, mirrored: bool) -> None:
        """Follow the mirrored heartbeats while there are any; what ended (a broker went away) begins again."""
        task = self._listening
        if task is not None and task.done():
            self._listening = None
            if not task.cancelled() and (error := task.exception()) is not None:
                log.info("%s: %s", self.ends.link.name, error)
        elif task is None and mirrored:
            self._listening = asyncio.create_task(self.canary.follow())

    async def close(self) -> None:
        """End the listening and close the connections."""
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        await self.canary.cluster.close()
        await self.pulse.close()
