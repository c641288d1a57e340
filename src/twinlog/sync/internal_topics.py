"""The small topics that MirrorMaker 2's clients read: made compacted, written and read whole. Runs in the service.

Only partition 0 counts; readers on the Java side look nowhere else. A topic that is there already, or that we may not
create, is used as it is: what cannot be done is said (R13), the rest goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from twinlog.errors import AccessDenied, BrokerRefused, ClusterError, ClusterUnreachable, TopicExists
from twinlog.kafka.admin import ClusterAdmin, TopicOrder
from twinlog.model.names import TopicPartition
from twinlog.model.topics.target_topics import TopicFacts
from twinlog.wire import protocol_errors as codes
from twinlog.wire.batch import BatchHeader, Stamp, readdress
from twinlog.wire.codec import OpenRecord, PlainRecord, open_batch, seal
from twinlog.wire.connection import Cluster, ConnectionTrouble
from twinlog.wire.log import LogReader, fetch_ends
from twinlog.wire.produce import begin_produce

CONFIGS: Final = {
    "cleanup.policy": "compact",
    # The active segment is never compacted. With the default of 1 GB a topic of positions that move every few seconds
    # would be read for minutes at each start.
    "segment.bytes": "16777216",
    "segment.ms": "600000",
    "segment.index.bytes": "65536",
    "min.cleanable.dirty.ratio": "0.2",
}
_LARGE_SEGMENT: Final = 128 << 20
_RECORDS_PER_BATCH: Final = 2_000
_UNSIGNED: Final = Stamp(-1, -1, -1)
_NO_CODEC: Final = 0
_ATTEMPTS: Final = 6
_PAUSE_S: Final = 0.1
_SILENT_FOR_S: Final = 15.0
"""How long a broker may bring nothing. A topic that is long is read to its end, however long that takes."""


def ensure_topic(admin: ClusterAdmin, name: str, replication_factor: int) -> str | None:
    """Create the topic unless it is there; returns a sentence when that was refused. Blocking."""
    if isinstance(admin.describe_topics([name])[name], TopicFacts):
        return None
    order = TopicOrder(name, 1, replication_factor, CONFIGS)
    refusal = admin.create_topics([order])[name]
    if refusal is None or isinstance(refusal, TopicExists):
        return None
    return f"{name}: could not be created: {refusal}; create it with one partition and cleanup.policy=compact"


def compaction_finding(admin: ClusterAdmin, name: str) -> str | None:
    """What is wrong with the configs of a topic that somebody else created; None also when we may not ask. Blocking."""
    answer = admin.fetch_topic_configs([name])[name]
    if isinstance(answer, ClusterError):
        return None
    configs = {config.name: config.value or "" for config in answer}
    wanted = ", ".join(f"{key}={value}" for key, value in CONFIGS.items())
    if "compact" not in configs.get("cleanup.policy", "compact"):
        return f"{name}: cleanup.policy is {configs['cleanup.policy']}: what is in it is lost in time; set {wanted}"
    if int(configs.get("segment.bytes") or 0) > _LARGE_SEGMENT:
        size = f"segment.bytes is {configs['segment.bytes']}"
        return f"{name}: {size}: it is hardly compacted, and reading it at each start takes long; set {wanted}"
    return None


@dataclass
class InternalLog:
    """Partition 0 of one internal topic."""

    cluster: Cluster
    topic: str

    async def write(self, records: Sequence[PlainRecord]) -> None:
        """Append records, in order, until acknowledged."""
        for begin in range(0, len(records), _RECORDS_PER_BATCH):
            for sealed in seal(records[begin : begin + _RECORDS_PER_BATCH], _NO_CODEC):
                await self._send(readdress(sealed.data, sealed.header, _UNSIGNED))

    async def _send(self, batch: bytes) -> None:
        pause, error = _PAUSE_S, codes.NONE
        for _ in range(_ATTEMPTS):
            error = await self._try(batch)
            if error == codes.NONE:
                return
            if error == codes.TOPIC_AUTHORIZATION_FAILED:
                raise AccessDenied(self.cluster.alias, f"Write on {self.topic} is needed")
            if error not in codes.PASSING and error != codes.UNKNOWN_TOPIC_OR_PARTITION:
                break
            self.cluster.topics.pop(self.topic, None)
            await asyncio.sleep(pause)
            pause *= 2
        if error == codes.REQUEST_TIMED_OUT:
            raise ClusterUnreachable(self.cluster.alias, f"the leader of {self.topic} does not answer")
        raise BrokerRefused(self.cluster.alias, f"{self.topic}: {codes.name_of(error)}")

    async def _try(self, batch: bytes) -> int:
        where = TopicPartition(self.topic, 0)
        try:
            if self.cluster.leader(*where) is None:
                await self.cluster.refresh([self.topic])
            leader = self.cluster.leader(*where)
            if leader is None:
                return self.cluster.topics[self.topic].error or codes.LEADER_NOT_AVAILABLE
            connection = await self.cluster.connection(leader.node, "internal")
            return (await begin_produce(connection, {where: batch}, self.cluster.timeout_s))[where].error
        except ConnectionTrouble:
            return codes.REQUEST_TIMED_OUT

    async def read_all(self) -> list[OpenRecord]:
        """Everything in it now; nothing when there is no such topic."""
        records: list[OpenRecord] = []
        await self.read_each(records.extend)
        return records

    async def read_each(self, take: Callable[[list[OpenRecord]], None]) -> None:
        """Everything in it now, some records at a time; nothing when there is no such topic.

        Raises when the broker brings nothing for a while: what was read until then is not everything.
        """
        metadata = (await self.cluster.refresh([self.topic]))[self.topic]
        if metadata.error == codes.UNKNOWN_TOPIC_OR_PARTITION:
            return
        if metadata.error == codes.TOPIC_AUTHORIZATION_FAILED:
            raise AccessDenied(self.cluster.alias, f"Read and Describe on {self.topic} are needed")
        silent_s = min(_SILENT_FOR_S, self.cluster.timeout_s)
        at, end = 0, -1
        try:
            async with asyncio.timeout(silent_s) as patience:
                end = (await fetch_ends(self.cluster, self.topic, {0: 0}))[0]
                async for batches, at in self._batches(end):  # noqa: B007  `at` is told when it ends too early
                    for header, data in batches:
                        if not header.is_control:
                            take(open_batch(data))
                    patience.reschedule(asyncio.get_running_loop().time() + silent_s)
        except TimeoutError:
            reached = f"at offset {at} of {end}" if end >= 0 else "because its partition has no leader"
            problem = f"{self.topic}: reading stopped {reached}: nothing came for {silent_s:.0f} s"
            raise BrokerRefused(self.cluster.alias, f"{problem}; is Read on it granted?") from None

    async def _batches(self, end: int) -> AsyncIterator[tuple[list[tuple[BatchHeader, bytes]], int]]:
        """What lies before the end, and how far that is."""
        if not end:
            return
        reader = LogReader(self.cluster, self.topic, {0: 0}, "internal-read", max_wait_ms=50, lasting=False)
        async with aclosing(reader.batches()) as found:
            async for _, batches in found:
                yield batches, reader.positions[0]
                if reader.positions[0] >= end:
                    return
