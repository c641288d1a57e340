"""Asking leaders whether they would take a write, without writing. Runs in the command that switches.

A probe is a batch with a wrong checksum. A leader judges the size of a batch before its checksum, so one that has
applied a limit answers "too large", and one that has not answers "corrupt". Neither appends anything. A leader that
denies Write says so before it looks at the batch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Final

from twinlog.errors import ClusterUnreachable
from twinlog.model.names import TopicPartition
from twinlog.wire import protocol_errors as codes
from twinlog.wire.batch import Stamp, readdress
from twinlog.wire.codec import encode_pairs
from twinlog.wire.connection import Cluster
from twinlog.wire.produce import begin_produce

REFUSED_BY_SIZE: Final = codes.MESSAGE_TOO_LARGE
WOULD_BE_TAKEN: Final = frozenset({codes.CORRUPT_MESSAGE, codes.INVALID_RECORD, codes.INVALID_RECORD_LIST})
_CHECKSUM_AT: Final = 17


async def probe_writes(
    cluster: Cluster, partitions: Collection[TopicPartition], within_s: float
) -> dict[TopicPartition, int]:
    """The error code with which each partition's leader answers a probe."""
    answers = dict.fromkeys(partitions, codes.LEADER_NOT_AVAILABLE)
    await cluster.refresh({partition.topic for partition in partitions})
    by_leader: dict[int, list[TopicPartition]] = {}
    for partition in partitions:
        leader = cluster.leader(*partition)
        if leader is not None:
            by_leader.setdefault(leader.node, []).append(partition)
    answered = await asyncio.gather(*(_ask(cluster, node, wanted, within_s) for node, wanted in by_leader.items()))
    for part in answered:
        answers |= part
    return answers


async def _ask(
    cluster: Cluster, node: int, partitions: Collection[TopicPartition], within_s: float
) -> dict[TopicPartition, int]:
    batch = _broken_batch()
    try:
        async with asyncio.timeout(within_s):
            connection = await cluster.connection(node, "probe")
            produced = await begin_produce(connection, dict.fromkeys(partitions, batch), within_s)
    except (ClusterUnreachable, TimeoutError):
        return dict.fromkeys(partitions, codes.REQUEST_TIMED_OUT)
    return {partition: answer.error for partition, answer in produced.items()}


def _broken_batch() -> bytes:
    sealed = encode_pairs([(b"twinlog", b"probe")], 0)
    batch = bytearray(readdress(sealed.data, sealed.header, Stamp(-1, -1, -1)))
    batch[_CHECKSUM_AT] ^= 0xFF
    return bytes(batch)
