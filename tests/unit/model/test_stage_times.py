"""How long records took: sums that stay right whoever counts, and quantiles as Prometheus estimates them."""

from __future__ import annotations

import math
from bisect import bisect_left

from hypothesis import given
from hypothesis import strategies as st

from twinlog.flow.stopwatch import Passage, Stopwatch
from twinlog.model.ledger.records import ShardTimes, key_of, read_entry
from twinlog.model.ledger.stage_times import BOUNDS_S, Durations, LinkTimes, packed, since, summed, unpacked

observations = st.lists(st.tuples(st.integers(-5, 120_000_000), st.integers(1, 1000)), max_size=30)


def counted(seen: list[tuple[int, int]]) -> Durations:
    found = Durations()
    for took, records in seen:
        found.observe(took, records)
    return found


@given(observations)
def test_buckets_count_every_record_up_to_their_bound(seen: list[tuple[int, int]]) -> None:
    found = counted(seen)
    for bound, number in found.buckets():
        assert number == sum(records for took, records in seen if max(0, took) / 1e6 <= float(bound))
    assert found.count == sum(records for _, records in seen)
    assert found.total_us == sum(max(0, took) * records for took, records in seen)


@given(observations, st.floats(0.01, 1.0))
def test_a_quantile_lies_in_the_bucket_of_the_true_one(seen: list[tuple[int, int]], share: float) -> None:
    got = counted(seen).quantile_ms(share)
    if not seen:
        assert got is None
        return
    every = sorted(max(0, took) for took, records in seen for _ in range(records))
    # An ulp decides which of two neighbours has the rank; the bucket of either is right.
    rank = share * len(every)
    exact = {every[min(len(every), max(1, math.ceil(near))) - 1] / 1e6 for near in (rank - 1e-6, rank, rank + 1e-6)}
    places = {min(bisect_left(BOUNDS_S, one), len(BOUNDS_S) - 1) for one in exact}
    lows = [BOUNDS_S[place - 1] if place else 0.0 for place in places]
    assert got is not None
    assert min(lows) - 1e-9 <= got / 1000 <= max(BOUNDS_S[place] for place in places) + 1e-9


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans(), observations), max_size=25))
def test_a_total_has_everything_once_whoever_owned_the_shards(
    words: list[tuple[int, bool, bool, list[tuple[int, int]]]],
) -> None:
    """Owners count from nothing; some words are told twice, some shards change hands."""
    link = LinkTimes()
    owners: dict[int, tuple[int, Durations]] = {}
    every: list[tuple[int, int]] = []
    for shard, another, again, seen in words:
        epoch, so_far = owners.get(shard, (0, Durations()))
        if another:
            epoch, so_far = epoch + 1, Durations()
        so_far = so_far.plus(counted(seen))
        owners[shard] = (epoch, so_far)
        every += seen
        before = link.total
        for _ in range(1 + again):
            link.hear(shard, f"7/{epoch}", {"copied": so_far})
        assert since(link.total, before)["copied"] == counted(seen)
    assert link.total.get("copied", Durations()) == counted(every)
    running = summed({"copied": so_far} for _, so_far in owners.values())
    assert link.running() == running


def test_the_ledger_keeps_what_was_counted_and_forgets_other_buckets() -> None:
    watch = Stopwatch()
    watch.acknowledged(Passage(1_000_000, 1_004_000, 1_005_000, 1_012_000), 990, 7)
    entry = watch.entry(3, "4711/2")
    again = read_entry(key_of(entry), entry.value())
    assert isinstance(again, ShardTimes)
    times = unpacked(again.stages)
    assert {stage: (one.count, one.total_us) for stage, one in times.items()} == {
        "fetch": (7, 70_000),
        "parcel": (7, 28_000),
        "queue": (7, 7000),
        "produce": (7, 49_000),
        "copied": (7, 154_000),
    }
    assert unpacked({"copied": [1, 2, 3]}) == {}
    assert packed(times) == again.stages


def test_history_has_stages_but_no_age() -> None:
    watch = Stopwatch()
    done = watch.acknowledged(Passage(1_000_000, 1_001_000, 1_002_000, 1_003_000), None, 5)
    watch.noted([done], 1_503_000)
    counts = {stage: one.count for stage, one in watch.times.items()}
    assert counts == {"fetch": 0, "parcel": 5, "queue": 5, "produce": 5, "note": 5, "copied": 0, "whole": 0}
    assert watch.times["note"].total_us == 5 * 500_000


def test_what_is_noted_is_told_with_the_next_word() -> None:
    watch = Stopwatch()
    assert watch.told
    done = watch.acknowledged(Passage(1, 2, 3, 4), 1, 1)
    assert not watch.told
    watch.entry(0, "1/1")
    assert watch.told
    watch.noted([done], 9)
    assert not watch.told
