"""Provenance headers of records, for links with `provenance.mode = header`. Runs in the writer.

    source A, topic orders ──▶ target B        headers of the copy: those of the record, then  A,orders,<when>

One header for each hop, the origin first. A record that names the target's cluster and topic has been there and is
left out; its offset becomes a hole in the map like an aborted one, and is counted (`PartitionState.returned`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.routes.provenance import HEADER, ClusterIds, Hop, Provenance, read_hops
from twinlog.wire.codec import OpenRecord, PlainRecord


@dataclass(frozen=True)
class HopMarks:
    """The rules for one topic."""

    provenance: Provenance
    clusters: ClusterIds
    topic: str
    remote: str

    def mark(self, records: Iterable[OpenRecord]) -> tuple[list[OpenRecord], list[int]]:
        """The records to copy, each with one more hop, and the offsets of those that have been there."""
        hop = (HEADER, Hop(self.clusters.source, self.topic, SYSTEM_CLOCK.now_ms()).encode())
        kept: list[OpenRecord] = []
        returned: list[int] = []
        for record in records:
            headers = list(record.headers)
            if headers and self.provenance.comes_home(read_hops(headers), self.clusters, self.remote):
                returned.append(record.offset)
            else:
                kept.append(PlainRecord(record.offset, record.timestamp, record.key, record.value, [*headers, hop]))
        return kept, returned
