"""How long records take on their way, stage by stage: what Prometheus calls histograms. Pure.

    source's time ──fetch──▶ fetched ──parcel──▶ at the writer ──queue──▶ sent ──produce──▶ acknowledged ──note──▶ noted
    └──────────────────────────────────── copied ──────────────────────────────────────────▶
    └──────────────────────────────────── whole ───────────────────────────────────────────────────────────────────▶

`parcel` is the way through Spark, `note` ends when the ledger has it. There is one observation per batch, which counts
with the number of its records. `fetch`, `copied` and `whole` begin at the time that the newest record of the batch
carries; records from before the link began with a partition are history and say nothing of it, so they are left out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

Stage: TypeAlias = Literal["fetch", "parcel", "queue", "produce", "note", "copied", "whole"]
STAGES: Final[tuple[Stage, ...]] = get_args(Stage)
BOUNDS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_BOUNDS_US: Final = tuple(int(bound * 1e6) for bound in BOUNDS_S)
_PLACES: Final = len(BOUNDS_S) + 1


@dataclass
class Durations:
    """Durations counted in buckets, the last of which has no upper bound; and their sum."""

    counts: list[int] = field(default_factory=lambda: [0] * _PLACES)
    total_us: int = 0

    def observe(self, microseconds: int, records: int = 1) -> None:
        """Count one duration. Clocks of two machines may disagree: less than nothing is nothing."""
        took = max(0, microseconds)
        self.counts[bisect_left(_BOUNDS_US, took)] += records
        self.total_us += took * records

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(self.counts)

    def plus(self, other: Durations) -> Durations:
        """The sum of both."""
        pairs = zip(self.counts, other.counts, strict=True)
        return Durations([count + other_count for count, other_count in pairs], self.total_us + other.total_us)

    def minus(self, earlier: Durations) -> Durations:
        """What came since `earlier`, which is an older state of the same."""
        pairs = zip(self.counts, earlier.counts, strict=True)
        return Durations([now - then for now, then in pairs], self.total_us - earlier.total_us)

    def buckets(self) -> list[tuple[str, float]]:
        """Upper bounds in seconds, each with the number of durations up to it."""
        bounds: list[tuple[str, float]] = []
        so_far = 0
        for bound, count in zip((*map(str, BOUNDS_S), "+Inf"), self.counts, strict=True):
            so_far += count
            bounds.append((bound, float(so_far)))
        return bounds

    def quantile_ms(self, share: float) -> float | None:
        """The duration that this share does not exceed, as Prometheus estimates it: even within a bucket.

        None when there is nothing; the last bound when it lies beyond that.
        """
        rank, so_far = share * self.count, 0
        for place, count in enumerate(self.counts):
            if count and so_far + count >= rank:
                if place == len(BOUNDS_S):
                    return BOUNDS_S[-1] * 1000
                low = BOUNDS_S[place - 1] if place else 0.0
                return round((low + (BOUNDS_S[place] - low) * (rank - so_far) / count) * 1000, 3)
            so_far += count
        return None


StageTimes: TypeAlias = Mapping[Stage, Durations]


def packed(times: StageTimes) -> dict[str, list[int]]:
    """As the ledger keeps it: the counts of each stage, then the sum in microseconds."""
    return {
        stage: [*durations.counts, durations.total_us] for stage, durations in times.items() if any(durations.counts)
    }


def unpacked(stages: Mapping[str, list[int]]) -> dict[Stage, Durations]:
    """As the ledger kept it. What another version counted in other buckets is left out."""
    return {
        stage: Durations(numbers[:-1], numbers[-1])
        for stage in STAGES
        if len(numbers := stages.get(stage, [])) == _PLACES + 1
    }


@dataclass
class LinkTimes:
    """All shards of a link, as somebody hears of them who follows the ledger.

    `total` only grows, also when shards change hands: what an older owner counted stays in it. It begins with what the
    ledger still held when the following began, as a counter of any process does.
    """

    total: dict[Stage, Durations] = field(default_factory=dict)
    _last: dict[int, tuple[str, StageTimes]] = field(default_factory=dict)

    def hear(self, shard: int, owner: str, times: StageTimes) -> None:
        """What an owner of a shard counted since it took the shard over; the same word twice counts once."""
        known, before = self._last.get(shard, ("", {}))
        self.total = summed([self.total, since(times, before if known == owner else {})])
        self._last[shard] = (owner, times)

    def running(self) -> dict[Stage, Durations]:
        """What the present owners measured: an epoch at most."""
        return summed(times for _, times in self._last.values())


def summed(parts: Iterable[StageTimes]) -> dict[Stage, Durations]:
    """The sum of several times of stages."""
    sums: dict[Stage, Durations] = {}
    for part in parts:
        for stage, durations in part.items():
            sums[stage] = sums[stage].plus(durations) if stage in sums else durations
    return sums


def since(now: StageTimes, then: StageTimes) -> dict[Stage, Durations]:
    """What came between two states of the same."""
    return {stage: durations.minus(then[stage]) if stage in then else durations for stage, durations in now.items()}


class StageFigures(NamedTuple):
    """One stage in three numbers, for people."""

    records: int
    p50_ms: float | None
    p99_ms: float | None


def figures(times: StageTimes) -> dict[Stage, StageFigures]:
    """The stages in the order of the way; those that nothing passed are left out."""
    return {
        stage: StageFigures(durations.count, durations.quantile_ms(0.5), durations.quantile_ms(0.99))
        for stage in STAGES
        if (durations := times.get(stage)) is not None and durations.count
    }
