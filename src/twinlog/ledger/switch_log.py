"""Reading and writing the switch log of one cluster (model.switch says what is in it and what it means).

Runs in the service (every engine follows the logs of both of its ends) and in the commands that switch.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from twinlog.errors import AccessDenied, BrokerRefused, ClusterUnreachable, TopicExists
from twinlog.kafka.admin import ClusterAdmin, TopicOrder
from twinlog.ledger.writer import LedgerWriter
from twinlog.model.names import LinkName
from twinlog.model.naming import SWITCH_TOPIC
from twinlog.model.switch.log import SwitchEntry, SwitchLog, Written, pair_of, read_switch_entry
from twinlog.model.topics.target_topics import TopicFacts
from twinlog.wire import protocol_errors as codes
from twinlog.wire.batch import BatchHeader
from twinlog.wire.codec import open_batch
from twinlog.wire.connection import Cluster
from twinlog.wire.log import LogReader, fetch_ends

_CONFIGS: Final = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    # Who came first and who is silent is judged by one clock: the broker's.
    "message.timestamp.type": "LogAppendTime",
    # The cut of a switch names every partition.
    "max.message.bytes": "8388608",
}
_VISIBLE_WITHIN_S: Final = 15.0
_WITHIN_S: Final = 15.0


def ensure_switch_topic(admin: ClusterAdmin, replication_factor: int) -> None:
    """Create the topic unless it is there. Blocking."""
    deadline = time.monotonic() + _VISIBLE_WITHIN_S
    while not isinstance(facts := admin.describe_topics([SWITCH_TOPIC])[SWITCH_TOPIC], TopicFacts):
        if time.monotonic() > deadline:
            raise BrokerRefused(admin.cluster, f"{SWITCH_TOPIC} was created but does not appear: {facts}")
        refusal = admin.create_topics([TopicOrder(SWITCH_TOPIC, 1, replication_factor, _CONFIGS)])[SWITCH_TOPIC]
        if refusal is not None and not isinstance(refusal, TopicExists):
            raise refusal
        time.sleep(0.1)


@dataclass
class SwitchTopic:
    """The switch log of one cluster, for one pair."""

    cluster: Cluster
    link: LinkName
    on_entry: Callable[[SwitchEntry], None] | None = None  # told of every entry, of whatever pair
    log: SwitchLog = field(init=False)

    def __post_init__(self) -> None:
        self.log = SwitchLog(pair_of(self.link))

    async def catch_up(self) -> SwitchLog:
        """Read everything there is now; nothing when there never was a switch on this cluster."""
        try:
            async with asyncio.timeout(_WITHIN_S):
                metadata = (await self.cluster.refresh([SWITCH_TOPIC]))[SWITCH_TOPIC]
                if metadata.error == codes.UNKNOWN_TOPIC_OR_PARTITION:
                    return self.log
                if metadata.error == codes.TOPIC_AUTHORIZATION_FAILED:
                    raise AccessDenied(self.cluster.alias, f"Read and Describe on {SWITCH_TOPIC} are needed")
                await self._read_to((await fetch_ends(self.cluster, SWITCH_TOPIC, {0: 0}))[0])
        except TimeoutError:
            raise ClusterUnreachable(self.cluster.alias, f"{SWITCH_TOPIC} could not be read in time") from None
        return self.log

    async def _read_to(self, end: int) -> None:
        position = self.log.next_offset
        if position >= end:
            return
        reader = LogReader(self.cluster, SWITCH_TOPIC, {0: position}, "switch-read", max_wait_ms=50, lasting=False)
        async for _, batches in reader.batches():
            self._take(batches)
            if reader.positions[0] >= end:
                return

    def _take(self, batches: Sequence[tuple[BatchHeader, bytes]]) -> None:
        for header, data in batches:
            if header.is_control:
                continue
            for record in open_batch(data):
                entry = read_switch_entry(record.value)
                if entry is not None and record.offset >= self.log.next_offset:
                    self.log = self.log.take(Written(record.offset, record.timestamp, entry))
                    if self.on_entry is not None:
                        self.on_entry(entry)

    async def follow(self) -> None:
        """Read for ever. A cluster that is away, or has no such topic yet, is waited for."""
        reader = LogReader(self.cluster, SWITCH_TOPIC, {0: self.log.next_offset}, "switch")
        async for _, batches in reader.batches():
            self._take(batches)

    async def append(self, entry: SwitchEntry, within_s: float = _WITHIN_S) -> SwitchLog:
        """Write one entry and read the log up to it: what counts is what the log then says."""
        writer = LedgerWriter(self.cluster, SWITCH_TOPIC, 0, str(self.link))
        try:
            async with asyncio.timeout(within_s):
                offset = await writer.write_pairs([(entry.pair.encode(), entry.value())])
                await self._read_to(offset + 1)
        except TimeoutError:
            problem = f"{SWITCH_TOPIC} did not take a record within {within_s:.0f} s"
            raise ClusterUnreachable(self.cluster.alias, problem) from None
        return self.log
