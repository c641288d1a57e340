"""Reading one stretch of one partition, from an offset to an offset, as a consumer of some isolation sees it.

Runs wherever an asyncio loop does: on executors (verification) and in the service (audit). One fetch is always under
way while the last answer is looked at; memory is two answers (R11).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from twinlog.errors import ClusterUnreachable, CorruptBatch, TopicUnknown
from twinlog.model.backoff import Backoff
from twinlog.model.names import TopicPartition
from twinlog.wire import protocol_errors as codes
from twinlog.wire.batch import BatchHeader, walk
from twinlog.wire.broken import why
from twinlog.wire.committed import select_batches
from twinlog.wire.connection import Cluster
from twinlog.wire.fetch import FetchedPartition, FetchPosition, FetchRefused, FetchSession
from twinlog.wire.offsets import EARLIEST, OffsetsRefused, fetch_offset

FETCH_BYTES: Final = 4 << 20
_MAX_WAIT_MS: Final = 500
_LIMIT_S: Final = 60.0
_GONE: Final = frozenset({codes.UNKNOWN_TOPIC_OR_PARTITION, codes.UNKNOWN_TOPIC_ID, codes.INCONSISTENT_TOPIC_ID})


class RawBatch(NamedTuple):
    """One batch as it lies in the log."""

    header: BatchHeader
    data: bytes


@dataclass
class RangeReader:
    """Every batch that touches offsets first..after-1. Ends early when the log does."""

    cluster: Cluster
    partition: TopicPartition
    topic_id: str
    first: int
    after: int
    committed: bool  # leave out aborted transactions
    lane: str
    with_markers: bool = False  # also give the markers of transactions; only where aborted ones are read too
    log_start: int = 0  # as the broker last said: records before it are deleted
    bytes_read: int = 0
    ended_at: int | None = None  # the log ends here, before the range does
    _session: FetchSession = field(init=False)

    def __post_init__(self) -> None:
        self._session = FetchSession(FETCH_BYTES, _MAX_WAIT_MS, 1, read_committed=self.committed, lasting=False)

    async def batches(self) -> AsyncGenerator[list[RawBatch], None]:
        """Answer by answer. Raises ClusterUnreachable, TopicUnknown, CorruptBatch."""
        position = self.first
        coming = asyncio.create_task(self._fetch(position)) if position < self.after else None
        try:
            while coming is not None:
                part = await coming
                taken, position = self._take(part, position)
                done = position >= self.after or self.ended_at is not None
                coming = None if done else asyncio.create_task(self._fetch(position))
                if taken:
                    yield taken
        finally:
            if coming is not None:
                coming.cancel()

    def _take(self, part: FetchedPartition, position: int) -> tuple[list[RawBatch], int]:
        """The batches of one answer that touch the range, and where reading continues."""
        self.log_start = max(self.log_start, part.log_start_offset)
        view: bytes | memoryview = part.records
        after = position
        if self.committed:
            selected = select_batches(part.records, part.aborted, position, -1)
            view, after = selected.payload, selected.next_offset
            if selected.strange is not None:
                raise CorruptBatch(*self.partition, selected.strange.base_offset, "it has no known format")
        taken = []
        for at, header in walk(view):
            if not header.is_readable:
                raise CorruptBatch(*self.partition, header.base_offset, "it has no known format")
            after = max(after, header.next_offset)
            if header.next_offset <= position or (header.is_control and not self.with_markers):
                continue
            if header.magic == 2 and header.base_offset >= self.after:
                break
            self.bytes_read += header.size
            taken.append(RawBatch(header, bytes(view[at : at + header.size])))
        if after == position:
            end = part.last_stable_offset if self.committed else part.high_watermark
            if position >= end:
                self.ended_at = position
        return taken, after

    async def _fetch(self, position: int) -> FetchedPartition:
        """One answer without an error. What may pass is waited for, within reason."""
        give_up, backoff, problem = time.monotonic() + _LIMIT_S, Backoff(), "no leader"
        while True:
            try:
                part = await self._try(position)
                if part is not None:
                    if not part.error:
                        return part
                    problem = codes.name_of(part.error)
                    if part.error == codes.OFFSET_OUT_OF_RANGE:
                        position = await self._back_in_range(part, position)
                        if self.ended_at is not None:
                            return part
                    elif part.error in _GONE:
                        raise TopicUnknown(self.cluster.alias, f"{self.partition}: {problem}")
            except (FetchRefused, OffsetsRefused, ClusterUnreachable) as error:
                problem = why(error)
            if time.monotonic() > give_up:
                raise ClusterUnreachable(self.cluster.alias, f"{self.partition}: {problem}")
            self.cluster.topics.pop(self.partition.topic, None)
            await asyncio.sleep(backoff.next_s())

    async def _try(self, position: int) -> FetchedPartition | None:
        topic, number = self.partition
        if self.cluster.leader(topic, number) is None:
            await self.cluster.refresh([topic])
        leader = self.cluster.leader(topic, number)
        if leader is None:
            return None
        self._session.reset()
        at = FetchPosition(self.topic_id, position, leader.epoch, max_bytes=FETCH_BYTES)
        self._session.positions.replace({self.partition: at})
        connection = await self.cluster.connection(leader.node, self.lane)
        fetched = await self._session.poll(connection, self.cluster.timeout_s)
        return fetched[0] if fetched else None

    async def _back_in_range(self, part: FetchedPartition, position: int) -> int:
        """Retention passed us, or the log ends before the range: which of the two the log's start tells."""
        if not self.cluster.leader(*self.partition):
            await self.cluster.refresh([self.partition.topic])
        start = await fetch_offset(self.cluster, *self.partition, EARLIEST)
        self.log_start = max(self.log_start, start, part.log_start_offset)
        if start > position:
            return start
        self.ended_at = position
        return position
