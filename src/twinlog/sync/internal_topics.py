"""The small topics that MirrorMaker 2's clients read: made compacted, written and read whole. Runs in the service.

Only partition 0 counts; readers on the Java side look nowhere else. A topic that is there already, or that we may not
create, is used as it is: what cannot be done is said (R13), the rest continues.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from twinlog.kafka.admin import ClusterAdmin
from twinlog.logs.append import LogWriter
from twinlog.logs.configs import fetch_configs
from twinlog.logs.ensure import create_log
from twinlog.logs.read import Batches, is_there, open_records, read_to_end
from twinlog.logs.topic import LogTopic
from twinlog.model.topics.target_topics import TopicFacts
from twinlog.wire.codec import OpenRecord, PlainRecord
from twinlog.wire.connection import Cluster

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
_ATTEMPTS: Final = 7
_SILENT_FOR_S: Final = 15.0
"""How long a broker may bring nothing. A topic that is long is read to its end, however long that takes."""


def ensure_topic(admin: ClusterAdmin, name: str, replication_factor: int) -> str | None:
    """Create the topic unless it is there; returns a sentence when that was refused. Blocking."""
    if isinstance(admin.describe_topics([name])[name], TopicFacts):
        return None
    refusal = create_log(admin, replication_factor, LogTopic(name, CONFIGS))
    if refusal is None:
        return None
    return f"{name}: could not be created: {refusal}; create it with one partition and cleanup.policy=compact"


def compaction_finding(admin: ClusterAdmin, name: str) -> str | None:
    """What is wrong with the configs of a topic that somebody else created; None also when we may not ask. Blocking."""
    configs = fetch_configs(admin, name)
    if configs is None:
        return None
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
        await LogWriter(self.cluster, self.topic, lane="internal", attempts=_ATTEMPTS).append_records(records)

    async def read_all(self) -> list[OpenRecord]:
        """Everything in it now; nothing when there is no such topic."""
        records: list[OpenRecord] = []
        await self.read_each(records.extend)
        return records

    async def read_each(self, take: Callable[[list[OpenRecord]], None]) -> None:
        """Everything in it now, some records at a time; nothing when there is no such topic.

        Raises when the broker brings nothing for a while: what was read until then is not everything.
        """
        if not await is_there(self.cluster, self.topic):
            return

        def take_batches(_: int, batches: Batches) -> None:
            take(list(open_records(batches)))

        silent_s = min(_SILENT_FOR_S, self.cluster.timeout_s)
        await read_to_end(self.cluster, self.topic, {0: 0}, take_batches, "internal-read", silent_for_s=silent_s)
