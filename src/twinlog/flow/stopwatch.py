"""The stopwatch of a shard: how long its batches took from stage to stage. Runs in the writer's loop.

One observation per batch and stage, whatever the number of records, in buckets that are summed here and told in the
ledger with the progress (model.stage_times says what the stages are).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from twinlog.model.ledger.records import ShardTimes
from twinlog.model.ledger.stage_times import STAGES, Durations, Stage, packed


@dataclass(slots=True)
class Passage:
    """When one batch passed each place, in microseconds since 1970."""

    fetched_us: int
    taken_us: int
    sent_us: int = 0
    acked_us: int = 0


class Acknowledged(NamedTuple):
    """A batch that is on the target; `made_ms` is the time of its newest record, None for history."""

    acked_us: int
    made_ms: int | None
    records: int


@dataclass
class Stopwatch:
    """Counts for one owner of one shard."""

    times: dict[Stage, Durations] = field(default_factory=lambda: {stage: Durations() for stage in STAGES})
    told: bool = True  # the ledger has heard everything

    def acknowledged(self, passage: Passage, made_ms: int | None, records: int) -> Acknowledged:
        """The target has a batch."""
        times, acked = self.times, passage.acked_us
        times["parcel"].observe(passage.taken_us - passage.fetched_us, records)
        times["queue"].observe(passage.sent_us - passage.taken_us, records)
        times["produce"].observe(acked - passage.sent_us, records)
        if made_ms is not None:
            times["fetch"].observe(passage.fetched_us - made_ms * 1000, records)
            times["copied"].observe(acked - made_ms * 1000, records)
        self.told = False
        return Acknowledged(acked, made_ms, records)

    def noted(self, batches: Iterable[Acknowledged], now_us: int) -> None:
        """The ledger has heard of these."""
        note, whole = self.times["note"], self.times["whole"]
        for batch in batches:
            note.observe(now_us - batch.acked_us, batch.records)
            if batch.made_ms is not None:
                whole.observe(now_us - batch.made_ms * 1000, batch.records)
            self.told = False

    def entry(self, shard: int, owner: str) -> ShardTimes:
        """For the ledger."""
        self.told = True
        return ShardTimes(shard=shard, owner=owner, stages=packed(self.times))
