"""Counting what lies on the target: watched by end offsets while a mirror works, counted batch by batch afterwards."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from bench.clusters import End
from bench.datasets import DataSet

from twinlog.errors import ClusterError
from twinlog.model.names import TopicPartition
from twinlog.wire.connection import Cluster
from twinlog.wire.log import LogReader


@dataclass(frozen=True)
class Census:
    """Records on the target beside those of the source, summed over partitions that have too few or too many."""

    missing: int
    extra: int

    @property
    def verdict(self) -> str:
        if self.missing:
            return f"LOST {self.missing:,}" + (f", DOUBLED {self.extra:,}" if self.extra else "")
        return f"DOUBLED {self.extra:,}" if self.extra else "all once"


def end_offsets(end: End, topic: str, partitions: int) -> dict[int, int] | None:
    """Where each partition ends; None while the topic is not there."""
    # Asked for the offsets of a missing topic, the client keeps answering from memory for a while after it was made.
    if isinstance(end.admin.describe_topics([topic])[topic], ClusterError):
        return None
    answers = end.admin.fetch_end_offsets([TopicPartition(topic, p) for p in range(partitions)])
    ends: dict[int, int] = {}
    for partition, answer in answers.items():
        if isinstance(answer, ClusterError):
            return None
        ends[partition.partition] = answer
    return ends


def take_census(end: End, topic: str, data: DataSet) -> Census:
    """Read the whole target topic and count the records of its batches; transaction markers are none."""
    ends = end_offsets(end, topic, data.partitions) or {}
    found = asyncio.run(_count(end, topic, ends))
    missing = extra = 0
    for partition in range(data.partitions):
        surplus = found.get(partition, 0) - data.held(partition)
        missing += max(0, -surplus)
        extra += max(0, surplus)
    return Census(missing, extra)


async def _count(end: End, topic: str, ends: dict[int, int]) -> dict[int, int]:
    cluster = Cluster(end.settings, "bench|census")
    found: dict[int, int] = dict.fromkeys(ends, 0)
    reader = LogReader(cluster, topic, {p: 0 for p, last in ends.items() if last > 0}, "census")
    try:
        if not reader.positions:
            return found
        async for partition, batches in reader.batches():
            found[partition] += sum(header.record_count for header, _ in batches if not header.is_control)
            if all(position >= ends[p] for p, position in reader.positions.items()):
                break
        return found
    finally:
        await cluster.close()
