"""The sync job "offset-syncs": pairs of equal records, in MirrorMaker 2's format. Runs in the service's loop.

Our own translation needs none of them. They are written so that MirrorMaker 2 and tools that read its topic can
continue from what we copied. A pair is the newest copied record of a partition, from the ledger: never guessed.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

from twinlog.config.link_values import OffsetSyncSettings
from twinlog.errors import ClusterError
from twinlog.ledger.view import LedgerView
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.mirrormaker.offset_pairs import Pair, newest_pair, pair_is_due
from twinlog.model.mirrormaker.records import NotReadable, OffsetSync
from twinlog.model.names import TopicPartition
from twinlog.sync.ends import LinkEnds
from twinlog.sync.internal_topics import InternalLog, ensure_topic
from twinlog.sync.jobs import Outcome
from twinlog.wire.codec import PlainRecord
from twinlog.wire.connection import Cluster

_SECONDS: Final = 5.0


@dataclass
class OffsetSyncs:
    """Pairs of all partitions of one link."""

    ends: LinkEnds
    settings: OffsetSyncSettings
    name: str = "offset-syncs"
    seconds: float = _SECONDS
    told: dict[TopicPartition, tuple[str | None, Pair]] = field(default_factory=dict)  # with its incarnation
    log: InternalLog = field(init=False)
    _seen: dict[TopicPartition, Pair] = field(default_factory=dict)
    _ready: bool = False

    def __post_init__(self) -> None:
        link = self.ends.link
        at_source = self.settings.location == "source"
        client = link.clients.source_producer if at_source else link.clients.target_producer
        self._admin = self.ends.source if at_source else self.ends.target
        topic = link.naming.offset_syncs_topic(link.target if at_source else link.source)
        self.log = InternalLog(Cluster(client, f"twinlog|{link.name}|offset-syncs"), topic)

    async def close(self) -> None:
        await self.log.cluster.close()

    async def step(self, view: LedgerView) -> Outcome:
        """Tell the newest pair of every partition that moved on."""
        findings = [] if self._ready else await self._prepare()
        fresh: dict[TopicPartition, tuple[str | None, Pair]] = {}
        for partition, state in view.states.items():
            entry = view.roster.get(partition.topic)
            if entry is None or entry.incarnation != state.incarnation:
                continue
            pair = newest_pair(state, view.parts_of(partition))
            if pair is not None and self._due(partition, state.incarnation, pair):
                fresh[partition] = (state.incarnation, pair)
        now_ms = SYSTEM_CLOCK.now_ms()
        syncs = [OffsetSync(*partition, *pair) for partition, (_, pair) in fresh.items()]
        await self.log.write([PlainRecord(0, now_ms, sync.key(), sync.value(), []) for sync in syncs])
        self.told |= fresh
        return Outcome({"partitions": len(self.told), "told": len(fresh)}, findings)

    async def _prepare(self) -> list[str]:
        factor = self.settings.replication_factor
        problem = await asyncio.to_thread(ensure_topic, self._admin, self.log.topic, factor)
        try:
            for record in await self.log.read_all():
                self._remember(record.key, record.value)
        except ClusterError as error:
            unknown = f"{self.log.topic}: what was reported before is not known: {error}; pairs are reported again"
            problem = problem or unknown
        self._ready = problem is None
        return [problem] if problem else []

    def _remember(self, key: bytes | None, value: bytes | None) -> None:
        try:
            sync = OffsetSync.read(key, value)
        except NotReadable:
            return  # readers ignore it as well
        self.told[TopicPartition(sync.topic, sync.partition)] = (None, Pair(sync.upstream, sync.downstream))

    def _due(self, partition: TopicPartition, incarnation: str, pair: Pair) -> bool:
        stands_still = self._seen.get(partition) == pair
        self._seen[partition] = pair
        told_of, told = self.told.get(partition, (None, None))
        if told_of not in {None, incarnation}:
            told = None  # of an older topic of that name
        return pair_is_due(pair, told, self.settings.lag_max, stands_still=stands_still)
