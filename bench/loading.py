"""Filling a source topic as fast as the broker takes it: ready-made batches, sent raw."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator

from bench.clusters import End
from bench.datasets import DataSet, encoded

from twinlog.config.settings import ClientSettings
from twinlog.model.names import TopicPartition
from twinlog.wire.connection import Cluster
from twinlog.wire.produce import Produced, begin_produce

_UNDER_WAY = 5
_REQUEST_BYTES = 4 << 20


def load(end: End, topic: str, data: DataSet) -> None:
    """Create the topic and fill it with the whole set."""
    # The records must outlive the benchmark, and compaction or retention must not interfere.
    end.create(topic, data.partitions, {"retention.ms": "-1"})
    fill(end, topic, data)


def fill(end: End, topic: str, data: DataSet) -> None:
    """Add a set to the first partitions of a topic."""
    asyncio.run(_load(end.settings, topic, data))


async def _load(settings: ClientSettings, topic: str, data: DataSet) -> None:
    cluster = Cluster(settings, "bench|load")
    try:
        await cluster.refresh([topic])
        nodes: dict[int, list[int]] = {}
        for partition in range(data.partitions):
            leader = cluster.leader(topic, partition)
            if leader is not None:
                nodes.setdefault(leader.node, []).append(partition)
        await asyncio.gather(*(_fill(cluster, node, topic, data, some) for node, some in nodes.items()))
    finally:
        await cluster.close()


async def _fill(cluster: Cluster, node: int, topic: str, data: DataSet, partitions: list[int]) -> None:
    connection = await cluster.connection(node, "produce")
    under_way: deque[asyncio.Future[dict[TopicPartition, Produced]]] = deque()
    for request in _requests(topic, data, partitions):
        while len(under_way) >= _UNDER_WAY:
            _accepted(await under_way.popleft())
        under_way.append(begin_produce(connection, request, cluster.timeout_s))
        await asyncio.sleep(0)
    for answer in under_way:
        _accepted(await answer)


def _requests(topic: str, data: DataSet, partitions: list[int]) -> Iterator[dict[TopicPartition, bytes]]:
    """Requests of one batch per partition, until every partition has all of its batches."""
    rounds = max(data.batches(partition) for partition in partitions)
    for turn in range(rounds):
        request: dict[TopicPartition, bytes] = {}
        size = 0
        for partition in partitions:
            if turn >= data.batches(partition):
                continue
            choice = encoded(data.flavour(partition))
            batch = choice[(turn + partition) % len(choice)].data
            request[TopicPartition(topic, partition)] = batch
            size += len(batch)
            if size >= _REQUEST_BYTES:
                yield request
                request, size = {}, 0
        if request:
            yield request


def _accepted(answers: dict[TopicPartition, Produced]) -> None:
    for partition, answer in answers.items():
        if answer.error:
            raise RuntimeError(f"{partition.topic}-{partition.partition}: the load was refused: {answer}")
