"""Input and result of one piece of a verification. Pure and picklable: it travels to executors and back.

    source   a ─────────────── b       a chunk: source offsets a..b-1 by the ledger's map, and every target offset
    map      └ run ┘  hole └ run ┘     from behind the record before a to behind the last one before b
    target   ta ────────────── tb

The chunks of a partition lie side by side on both clusters: nothing between them stays unread.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Final

from twinlog.model.ledger.runs import Run, RunMap, Stretch
from twinlog.model.names import TopicPartition
from twinlog.model.routes.provenance import HEADER, ClusterIds, Provenance, read_hops
from twinlog.model.transforms import Part
from twinlog.model.verify.differences import Content, Difference, Headers, Kind

LISTED: Final = 20
"""Differences that one chunk lists; more are counted."""


@dataclass(frozen=True)
class Lineage:
    """What of a topic is left out, added or written by others on purpose: no difference (model.provenance)."""

    provenance: Provenance = field(default_factory=Provenance)
    clusters: ClusterIds = field(default_factory=lambda: ClusterIds("", ""))
    left_out: frozenset[int] = frozenset()  # producers of the source whose batches are not copied
    own: frozenset[int] = frozenset()  # this link's producers on the target
    shared: bool = False  # both sides use one name: applications write into the target topic, too
    drops: bool = False  # transforms of the link may leave records out …
    changes: frozenset[Part] = frozenset()  # … and change these parts of the others

    def comes_home(self, producer_id: int, headers: Headers, remote: str) -> bool:
        """Whether a record of the source is rightly not copied, because it came from the target."""
        if producer_id in self.left_out:
            return True
        rules = self.provenance
        return rules.mode == "header" and rules.comes_home(read_hops(headers), self.clusters, remote)

    def unchanged(self, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers) -> Content:
        """What of a record must be the same on both sides: all but the parts that transforms change."""
        changes = self.changes
        return (
            timestamp,
            None if "key" in changes else key,
            None if "value" in changes else value,
            [] if "headers" in changes else headers,
        )

    def unmarked(self, headers: Headers, topic: str) -> Headers:
        """The headers of a copy without the hop that this link added."""
        if self.provenance.mode != "header" or not headers or headers[-1][0] != HEADER:
            return headers
        hops = read_hops(headers[-1:])
        of_link = bool(hops) and (hops[0].cluster, hops[0].topic) == (self.clusters.source, topic)
        return headers[:-1] if of_link else headers


@dataclass(frozen=True)
class Chunk:
    """A stretch of one partition, to be compared on both sides."""

    partition: TopicPartition
    remote: TopicPartition
    source_id: str
    target_id: str
    source_first: int
    source_next: int
    target_first: int
    target_next: int
    stretches: tuple[Stretch, ...]
    gaps: tuple[tuple[int, int], ...] = ()  # (first, next): skipped on purpose, named in the ledger
    lineage: Lineage = field(default_factory=Lineage)
    source_compacted: bool = False
    target_compacted: bool = False
    bytes: int = 0  # estimated, of one side

    def runs(self) -> Iterator[Run]:
        """The map of this chunk, clipped to it."""
        return runs_between(self.stretches, self.source_first, self.source_next)


@dataclass
class ChunkResult:
    """What came of one chunk. Everything is either equal, different, or counted as not comparable with its reason."""

    partition: TopicPartition
    source_first: int
    source_next: int
    equal: int = 0  # records
    unopened: int = 0  # of these, compared as whole batches
    differing: int = 0  # records
    source_bytes: int = 0
    target_bytes: int = 0
    deleted_source: int = 0  # copied; the source no longer has them (retention)
    deleted_target: int = 0  # the target no longer has them (retention)
    compacted_source: int = 0  # copied; compaction took them on the source
    compacted_target: int = 0  # compaction took them on the target, and may
    unsettled: int = 0  # gone from a compacted target: right only if the key has a later record
    skipped: int = 0  # records in gaps that the ledger names
    returned: int = 0  # not copied because they came from the target
    dropped: int = 0  # not copied because transforms of the link drop them
    transformed: int = 0  # compared without the parts that transforms of the link change
    foreign: int = 0  # of others, in a target topic that shares its name with the source's
    source_digest: int = 0
    target_digest: int = 0
    took_ms: int = 0
    differences: list[Difference] = field(default_factory=list)
    trouble: str | None = None  # why it could not be compared to its end

    def to_json(self) -> str:
        """As one row of a Spark job."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> ChunkResult:
        """Read what `to_json` wrote."""
        fields = json.loads(text)
        fields["partition"] = TopicPartition(*fields["partition"])
        fields["differences"] = [Difference(**{**d, "kind": Kind(d["kind"])}) for d in fields["differences"]]
        return cls(**fields)


def stretches_between(maps: Iterable[RunMap], first: int, after: int) -> tuple[Stretch, ...]:
    """What of the ledger's map concerns the source offsets first..after-1, in as few stretches as it has."""
    stretches = []
    for part in maps:
        tail = () if part.tail is None else (Stretch(*part.tail, part.tail.length, part.tail.length, 1),)
        for stretch in (*part.stretches, *tail):
            clipped = _clip(stretch, first, after)
            if clipped is not None:
                stretches.append(clipped)
    return tuple(stretches)


def _clip(stretch: Stretch, first: int, after: int) -> Stretch | None:
    """The runs of a stretch that touch the range, by arithmetic: it may have a million."""
    source, _, length, step, _, times = stretch
    begin = 0 if first < source + length else (first - source - length) // step + 1
    end = min(times, max(0, -((source - after) // step)))
    if begin >= end:
        return None
    head = stretch.run(begin)
    return stretch._replace(source=head.source, target=head.target, times=end - begin)


def runs_between(stretches: Iterable[Stretch], first: int, after: int) -> Iterator[Run]:
    """Every run of the range, cut at its edges."""
    for stretch in stretches:
        for index in range(stretch.times):
            run = stretch.run(index)
            cut = max(0, first - run.source)
            length = min(run.source_end, after) - run.source - cut
            if length > 0:
                yield Run(run.source + cut, run.target + cut, length)
