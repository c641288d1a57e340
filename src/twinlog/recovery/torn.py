"""Finding the transactions that an unplanned cut tore, in the log of the old primary (model/switch/torn_transactions).

Runs in the command that switches back. What was lost is read first. Only where it holds transactions the copied part
before the cut is read too, from the time of the oldest lost transaction on.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from twinlog.errors import ClusterError
from twinlog.model.names import TopicPartition
from twinlog.model.switch.torn_transactions import TornTransaction, TransactionId, TransactionScan, torn_transactions
from twinlog.wire.batch import BatchHeader
from twinlog.wire.codec import open_batch
from twinlog.wire.connection import Cluster
from twinlog.wire.offset_lists import fetch_offsets
from twinlog.wire.ranges import RangeReader

_EARLIER_MS: Final = 60_000
"""How much older than the oldest lost transaction the markers of its copied half may be stamped: clocks differ."""
_MOST_BYTES: Final = 256 << 20
_ANSWER_WITHIN_S: Final = 10.0
_COMMIT: Final = 1


class Around(NamedTuple):
    """One partition of the old primary: where the copy stopped, and where the log ends."""

    cut: int
    unnoted: int  # records behind the cut that were copied without being noted
    end: int


class Torn(NamedTuple):
    """What was found, and why it may not be all."""

    transactions: list[TornTransaction]
    trouble: str | None


@dataclass
class _Scan:
    """One partition while it is read."""

    around: Around
    found: TransactionScan
    unnoted: int = 0
    oldest_ms: int | None = None

    def take(self, header: BatchHeader, data: bytes) -> None:
        if not header.is_transactional or header.magic != 2:
            self._copied_of(header.base_offset, header.record_count)
            return
        transaction = TransactionId(header.producer_id, header.producer_epoch)
        behind = header.base_offset >= self.around.cut
        if header.is_control:
            committed = _is_commit(data)
            if committed is not None:
                self.found.marker(transaction, header.max_timestamp, committed=committed, is_copied=not behind)
            return
        if header.next_offset > self.around.cut:
            self.oldest_ms = min(self.oldest_ms or header.base_timestamp, header.base_timestamp)
        before = max(0, min(header.next_offset, self.around.cut) - header.base_offset)
        copied = min(before, header.record_count)
        copied += self._copied_of(header.base_offset + copied, header.record_count - copied)
        self.found.records(transaction, copied, header.record_count - copied, header.base_timestamp)

    def _copied_of(self, first: int, records: int) -> int:
        """How many of these, behind the cut, were copied without being noted."""
        if first < self.around.cut:
            return 0
        copied = min(self.unnoted, records)
        self.unnoted -= copied
        return copied


async def find_torn(cluster: Cluster, around: Mapping[TopicPartition, Around]) -> Torn:
    """Read both sides of the cut. A partition that cannot be read is named and left out."""
    troubles: list[str] = []
    lost: dict[TopicPartition, _Scan] = {}
    for partition, where in around.items():
        scan = lost[partition] = _Scan(where, TransactionScan(partition), unnoted=where.unnoted)
        await _read(cluster, partition, range(where.cut, where.end), scan, troubles)
    oldest = min((scan.oldest_ms for scan in lost.values() if scan.oldest_ms is not None), default=None)
    if oldest is None:
        return Torn([], _first(troubles))
    # Once more and from further back, in one go: a transaction may lie on both sides of the cut in one partition.
    begins = await fetch_offsets(cluster, list(around), max(0, oldest - _EARLIER_MS), within_s=_ANSWER_WITHIN_S)
    whole: dict[TopicPartition, _Scan] = {}
    left = _MOST_BYTES
    for partition, where in around.items():
        begin = begins[partition]
        if isinstance(begin, str):
            troubles.append(f"{partition}: {begin}")
            continue
        if left <= 0:
            troubles.append(f"{partition}: not read, {_MOST_BYTES >> 20} MiB around the cut were read already")
            continue
        scan = whole[partition] = _Scan(where, TransactionScan(partition), unnoted=where.unnoted)
        first = where.cut if begin < 0 else min(begin, where.cut)
        left -= await _read(cluster, partition, range(first, where.end), scan, troubles)
    torn = torn_transactions(scan.found for scan in whole.values())
    return Torn(torn, _first(troubles))


async def _read(cluster: Cluster, partition: TopicPartition, stretch: range, scan: _Scan, troubles: list[str]) -> int:
    """Read a stretch of a log into the scan; returns its bytes."""
    first, end = stretch.start, stretch.stop
    if first >= end:
        return 0
    try:
        metadata = (await cluster.refresh([partition.topic]))[partition.topic]
        reader = RangeReader(
            cluster, partition, metadata.topic_id, first, end, committed=False, lane="torn", with_markers=True
        )
        async for batches in reader.batches():
            for header, data in batches:
                if header.base_offset < end:
                    scan.take(header, data)
    except ClusterError as error:
        troubles.append(f"{partition}: {error}")
        return 0
    return reader.bytes_read


def _is_commit(data: bytes) -> bool | None:
    """What a marker says; None for control records that are no markers."""
    for record in open_batch(data):
        if record.key is not None and len(record.key) >= 4:
            kind = struct.unpack_from(">hh", record.key)[1]
            return bool(kind == _COMMIT) if kind in {0, _COMMIT} else None
    return None


def _first(troubles: list[str]) -> str | None:
    if not troubles:
        return None
    more = f" and {len(troubles) - 1} more" if len(troubles) > 1 else ""
    return f"{troubles[0]}{more}"
