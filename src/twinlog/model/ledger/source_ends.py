"""The last known end offsets of the source, so that a loss can be computed without it. Pure.

The engine asks the source for its ends every few seconds and keeps them as memos in the ledger, one per topic,
rewritten only when they say something new:

    memo/source-ends/<topic>   id       of the topic's incarnation on the source
                               ends     per partition: the offset behind its last record
                               covered  per partition: everything that the source held at this time (ms) is copied;
                                        0 while all of `ends` is copied, so that an idle topic needs no new memo;
                                        -1 while nobody knows
                               rate     offsets per second that the topic grew by lately
                               keeps    retention.ms and retention.bytes on the source, -1 for ever
                               stale    partitions that did not answer: {partition: the time of its last answer}
    memo/source-ends//seen     at       when the source last answered: what the memos above say was true then

"Covered" needs no clock of any producer: a sample (time, end) is covered once the position reaches its end.

    ends asked at   t1      t2      t3                    position p lies between e1 and e2:
    log   ──────────e1──────e2──p───e3                    all that was there at t1 is copied, and not all of t2
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from twinlog.model.ledger.records import Memo
from twinlog.model.names import TopicPartition

CHORE: Final = "source-ends"
SEEN: Final = "/seen"  # no topic can have that name
FOR_EVER: Final = (-1, -1)
_UNKNOWN: Final = -1
_SAMPLES: Final = 32
_SMOOTHING_S: Final = 60.0
_IDLE_RATE: Final = 0.05


class KnownEnd(NamedTuple):
    """What is known of one partition of the source."""

    end: int
    at_ms: int  # it was so at this time
    covered_ms: int | None  # everything that was there at this time is copied; None: nobody knows
    rate: float  # offsets per second of this partition, from those of its topic
    retention_ms: int
    retention_bytes: int


def seen_at(memos: Mapping[str, Memo]) -> int | None:
    """When the source last answered; None if it never did."""
    memo = memos.get(SEEN)
    return None if memo is None else int(memo.body["at"])


def known_ends(
    memos: Mapping[str, Memo], nexts: Mapping[TopicPartition, int], ids: Mapping[str, str]
) -> dict[TopicPartition, KnownEnd]:
    """The last known end of each partition. `nexts` are the ledger's positions, `ids` those of topics on the source."""
    seen = seen_at(memos)
    if seen is None:
        return {}
    ends: dict[TopicPartition, KnownEnd] = {}
    for topic, memo in memos.items():
        if topic == SEEN or memo.body.get("id") != ids.get(topic):
            continue
        body = memo.body
        stale = body.get("stale", {})
        rate = float(body.get("rate", 0.0)) / max(1, len(body["ends"]))
        keeps = tuple(body.get("keeps", FOR_EVER))
        for number, (end, covered) in enumerate(zip(body["ends"], body["covered"], strict=True)):
            if end is None:
                continue
            partition = TopicPartition(topic, number)
            at = int(stale.get(str(number), seen))
            reached = nexts.get(partition, -1) >= end
            ends[partition] = KnownEnd(end, at, at if reached else covered if covered > 0 else None, rate, *keeps)
    return ends


@dataclass
class _Track:
    """One partition: its end, and the samples that are not covered yet."""

    end: int | None = None
    at: int = 0
    covered: int = _UNKNOWN
    pending: list[tuple[int, int]] = field(default_factory=list)

    def sample(self, now: int, end: int, position: int) -> None:
        if self.end is not None and end < self.end:
            self.pending.clear()  # another log: nothing that was noted of the old one holds
            self.covered = _UNKNOWN
        self.end, self.at = end, now
        if not self.pending or self.pending[-1][1] != end:
            self.pending.append((now, end))
        else:
            self.pending[-1] = (now, end)  # it still ended there: what was held then is held now
        while self.pending and self.pending[0][1] <= position:
            self.covered = self.pending.pop(0)[0]
        if len(self.pending) > _SAMPLES:
            # Every second one goes, the oldest stays: the answer becomes coarser, never too good.
            self.pending = self.pending[::2]

    @property
    def told(self) -> int:
        """0 while everything is copied."""
        return self.covered if self.pending else 0


@dataclass
class _Topic:
    source_id: str
    tracks: list[_Track] = field(default_factory=list)
    rate: float = 0.0
    sum: int | None = None
    summed_at: int = 0

    def flow(self, now: int) -> None:
        """Follow the growth of all partitions together."""
        total = sum(track.end or 0 for track in self.tracks)
        elapsed = (now - self.summed_at) / 1000
        if self.sum is not None and elapsed > 0:
            weight = 1 - math.exp(-elapsed / _SMOOTHING_S)
            self.rate += weight * (max(0, total - self.sum) / elapsed - self.rate)
        self.sum, self.summed_at = total, now


@dataclass
class EndsTracker:
    """Makes the memos from one look at the source after another."""

    _topics: dict[str, _Topic] = field(default_factory=dict)

    def restore(self, memos: Mapping[str, Memo]) -> None:
        """Go on where an earlier engine stopped: what it knew to be covered stays covered."""
        seen = seen_at(memos) or 0
        for name, memo in memos.items():
            if name == SEEN:
                continue
            topic = self._topics[name] = _Topic(str(memo.body["id"]), rate=float(memo.body.get("rate", 0.0)))
            for number, (end, covered) in enumerate(zip(memo.body["ends"], memo.body["covered"], strict=True)):
                at = int(memo.body.get("stale", {}).get(str(number), seen))
                pending = [] if end is None or covered == 0 else [(at, int(end))]
                topic.tracks.append(_Track(end, at, int(covered) or at, pending))

    def take(
        self,
        now: int,
        ends: Mapping[TopicPartition, int],
        positions: Mapping[TopicPartition, int],
        topics: Mapping[str, tuple[str, int]],
    ) -> None:
        """Take one look. `topics` maps names to (id on the source, partitions); partitions not in `ends` are stale."""
        for name in [name for name in self._topics if name not in topics]:
            del self._topics[name]
        for name, (source_id, partitions) in topics.items():
            topic = self._topics.get(name)
            if topic is None or topic.source_id != source_id:
                topic = self._topics[name] = _Topic(source_id)
            topic.tracks += [_Track() for _ in range(partitions - len(topic.tracks))]
            answered = False
            for number, track in enumerate(topic.tracks):
                partition = TopicPartition(name, number)
                if partition in ends:
                    track.sample(now, ends[partition], positions.get(partition, -1))
                    answered = True
            if answered:  # silence is no standstill: the rate of a source that is away tells how much is lost with it
                topic.flow(now)

    def bodies(self, now: int, keeps: Mapping[str, tuple[int, int]]) -> Iterator[tuple[str, dict[str, Any]]]:
        """The memos that describe the last look, by topic."""
        for name, topic in self._topics.items():
            rate = 0.0 if topic.rate < _IDLE_RATE else float(f"{topic.rate:.2g}")
            body: dict[str, Any] = {
                "id": topic.source_id,
                "ends": [track.end for track in topic.tracks],
                "covered": [track.told for track in topic.tracks],
                "rate": rate,
                "keeps": list(keeps.get(name, FOR_EVER)),
            }
            stale = {str(n): t.at for n, t in enumerate(topic.tracks) if t.end is not None and t.at < now}
            yield name, body | ({"stale": stale} if stale else {})
