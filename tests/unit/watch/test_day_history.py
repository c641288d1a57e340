"""Numbers of links over days, in a file: minutes, gaps, a file that cannot be used."""

from __future__ import annotations

from pathlib import Path

from twinlog.model.health.history import Sample
from twinlog.watch.day_history import KEPT_DAYS, DayHistory

MINUTE = 60_000
NOW = 1_800_000_000_000 // MINUTE * MINUTE


def sample(at_ms: int, lag: int | None = 5, rate: float = 10.0) -> Sample:
    return Sample(at_ms, "RUNNING", lag, 1.0, 2.0, lag, rate, rate * 100, None, 0, 3.0, 9.0)


def test_a_minute_is_kept_when_it_is_over_with_its_worst_lag_and_mean_speed(tmp_path: Path):
    days = DayHistory(tmp_path / "h.sqlite")
    looks = [sample(NOW, 5, 10), sample(NOW + 2000, 50, 30), sample(NOW + MINUTE, 7, 10)]
    days.keep("A->B", looks)
    days.keep("A->B", looks)
    (kept,) = DayHistory(tmp_path / "h.sqlite").read("A->B", NOW, 100)
    assert (kept.at_ms, kept.lag_records, kept.records_per_second, kept.latency_ms) == (NOW, 50, 20, None)
    assert days.read("B->A", 0, 100) == []


def test_unknown_stays_unknown_and_gaps_stay_gaps(tmp_path: Path):
    days = DayHistory(tmp_path / "h.sqlite")
    days.keep("A->B", [sample(NOW, None), sample(NOW + 5 * MINUTE, 1), sample(NOW + 6 * MINUTE)])
    kept = days.read("A->B", 0, 100)
    assert [(one.at_ms - NOW, one.lag_records) for one in kept] == [(0, None), (5 * MINUTE, 1)]


def test_many_minutes_are_thinned_to_the_worst_and_old_ones_are_forgotten(tmp_path: Path):
    days = DayHistory(tmp_path / "h.sqlite")
    days.keep("A->B", [sample(NOW + at * MINUTE, at) for at in range(101)])
    kept = days.read("A->B", 0, 10)
    assert len(kept) == 10
    assert kept[0].lag_records == 9
    later = NOW + (KEPT_DAYS + 1) * 86_400_000
    days.keep("A->B", [sample(later), sample(later + MINUTE)])
    assert [one.at_ms for one in days.read("A->B", 0, 1000)] == [later]


def test_a_file_that_cannot_be_used_costs_nothing_but_the_history(tmp_path: Path):
    (tmp_path / "h.sqlite").write_bytes(b"this is no database, and long enough to be taken for one" * 20)
    days = DayHistory(tmp_path / "h.sqlite")
    days.keep("A->B", [sample(NOW), sample(NOW + MINUTE)])
    assert days.read("A->B", 0, 10) == []
