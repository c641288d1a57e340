"""What would be lost of a partition, a topic and a link if the source vanished now: the values. Pure.

exposure.py makes them of one look at a link. What nobody knows is None, never 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from twinlog.model.health.loss_range import LossRange
from twinlog.model.health.objectives import Kept
from twinlog.model.names import TopicPartition


@dataclass(frozen=True, slots=True)
class PartitionExposure:
    """One partition. `records` None: its end on the source was never known."""

    partition: TopicPartition
    records: int | None
    bytes: float | None
    seconds: float | None
    known_at_ms: int | None
    maybe_more: float
    covered_ms: int | None
    time_to_loss_s: float | None  # None: nothing waits, or nothing is ever deleted


@dataclass(frozen=True)
class TopicExposure:
    """One topic, or all of a link (see LinkExposure)."""

    topic: str
    objective: str
    rpo_seconds: int | None
    partitions: int
    unknown: int  # partitions of which nothing is known; the sums are without them
    records: int | None
    bytes: int | None
    seconds: float | None
    known_at_ms: int | None
    maybe_more: int
    covered_ms: int | None  # everything that the source held at this time is copied
    time_to_loss_s: float | None
    kept: Kept | None  # None: no objective was set

    @property
    def at_risk(self) -> bool:
        """Whether anything would be lost, or might be."""
        return self.records != 0 or self.maybe_more > 0 or self.unknown > 0


@dataclass(frozen=True)
class LinkExposure:
    """All topics of a link and their sum."""

    link: str
    live: bool  # the source answered just now
    now_ms: int
    topics: tuple[TopicExposure, ...]
    total: TopicExposure
    catch_up_s: float | None  # None: unknown, or never at the present pace
    falling_behind: bool  # more arrives than is copied
    heard_ms: int | None = None  # when the engine last heard the source
    copied_ms: int | None = None  # the time of the last record that was copied
    arriving: float = 0.0  # records a second that the source takes
    record_bytes: float | None = None  # mean size of what was copied

    @property
    def loss(self) -> LossRange:
        """What would be lost, as a range with its times."""
        records = self.total.records if not self.total.unknown else None
        return LossRange(
            records, None if records is None else records + self.total.maybe_more, self.heard_ms, self.copied_ms
        )

    def age_of(self, topic: TopicExposure) -> float | None:
        """How old what is not copied is, in seconds. Of a source that is away: at its last sign of life."""
        sign = self.loss.sign_ms
        if self.live:
            return topic.seconds
        return None if topic.covered_ms is None or sign is None else max(0.0, (sign - topic.covered_ms) / 1000)

    @property
    def broken(self) -> tuple[TopicExposure, ...]:
        """Topics whose objective is not kept, or not known to be."""
        return tuple(topic for topic in self.topics if topic.kept in {"broken", "unknown"})
