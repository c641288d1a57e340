"""What a partition holds of one producer's epoch: for batches whose answers were lost. Runs on executors.

A broker remembers the last five batches of a producer and answers a repeated one with its place. Older ones lie in the
log, with their sequence numbers in their headers.
"""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from twinlog.model.names import TopicPartition
from twinlog.wire.connection import Cluster
from twinlog.wire.fence import Producer
from twinlog.wire.log import LogReader
from twinlog.wire.offsets import LATEST, fetch_offset
from twinlog.wire.producers import LastWrite, fetch_last_write

_HALF: Final = 1 << 30
_SEQUENCES: Final = 0x7FFFFFFF


@dataclass(frozen=True)
class Written:
    """First and last sequence number of a batch -> its offset; and what the leader took last, None: it does not say."""

    batches: dict[tuple[int, int], int]
    epoch: int
    last: LastWrite | None
    end: int | None = None  # of the log; None: it is not known

    def misses(self, sequence: int) -> bool:
        """Whether the partition surely does not have the record of this sequence number."""
        if self.last is None:
            return False
        return self.last.epoch != self.epoch or (self.last.sequence - sequence) & _SEQUENCES >= _HALF


async def fetch_written(cluster: Cluster, where: TopicPartition, position: int, producer: Producer) -> Written:
    """Look at everything from an offset on. Raises what connections raise, and OffsetsRefused."""
    last = await fetch_last_write(cluster, where, producer.producer_id)
    end = await fetch_offset(cluster, *where, LATEST)
    who = (producer.producer_id, producer.epoch)
    offsets: dict[tuple[int, int], int] = {}
    reader = LogReader(cluster, where.topic, {where.partition: position}, f"recall-{where}", lasting=False)
    try:
        if position < end:
            async with aclosing(reader.batches()) as log:
                async for _, batches in log:
                    for header, _ in batches:
                        if (header.producer_id, header.producer_epoch) == who and not header.is_control:
                            last_of_batch = (header.base_sequence + header.record_count - 1) & _SEQUENCES
                            offsets[header.base_sequence, last_of_batch] = header.base_offset
                    if reader.positions[where.partition] >= end:
                        break
    finally:
        cluster.drop(reader.lane)
    return Written(offsets, producer.epoch, last, end)
