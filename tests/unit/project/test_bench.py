"""The arithmetic of the benchmark: a figure that is computed wrongly is worse than none."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from bench.census import Census
from bench.copying import CopyRun
from bench.cost import Meter
from bench.datasets import SETS, DataSet, Flavour, encoded
from bench.goals import (
    CopyFigures,
    copy_goals,
    interface_goals,
    latency_goals,
    partition_goals,
    start_goals,
    wan_copy_goals,
    wan_latency_goals,
)
from bench.latency.percentiles import percentiles
from bench.machine import warn_of_other_load
from bench.report import amount, table
from bench.soak.check import Verdict
from bench.soak.load import RATES, phase_of
from bench.soak.series import trend
from bench.wan.relay import Direction
from tests.kit.waiting import wait_until

from twinlog.wire.codec import open_batch

_MILLISECOND = 1_000_000


def _figures(rate: float, cpu: float = 1.0, memory: float = 1.0) -> CopyFigures:
    return CopyFigures(rate, cpu, memory)


def test_a_percentile_is_a_value_that_was_seen():
    figures = percentiles(value * _MILLISECOND for value in range(1000, 0, -1))
    assert figures == {"p50": 500.0, "p90": 900.0, "p99": 990.0, "p99.9": 999.0, "max": 1000.0}


def test_one_value_is_every_percentile():
    assert set(percentiles([7 * _MILLISECOND]).values()) == {7.0}


def test_no_values_have_no_percentiles():
    with pytest.raises(ValueError, match="nothing"):
        percentiles([])


def test_a_goal_is_reached_at_its_bound_and_missed_below():
    others = {"mm2-tuned": _figures(100, cpu=3), "mm2-default": _figures(50), "raw": _figures(375)}
    reached = list(copy_goals("x", "small-lz4", tiny=False, figures={**others, "twinlog": _figures(300)}))
    assert [goal.reached for goal in reached] == [True] * 5
    slower = list(
        copy_goals("x", "small-lz4", tiny=False, figures={**others, "twinlog": _figures(249, cpu=1.1, memory=2)})
    )
    assert [goal.reached for goal in slower] == [False, False, False, False, False]


def test_goals_beside_mirrors_that_did_not_run_are_left_out():
    assert list(copy_goals("x", "small-lz4", tiny=False, figures={"twinlog": _figures(1)})) == []
    assert list(copy_goals("x", "small-lz4", tiny=False, figures={"raw": _figures(1)})) == []


def test_readers_may_cost_a_fifth_and_must_be_answered():
    def reached(asked_ms, answered):
        return [goal.reached for goal in interface_goals(10.0, asked_ms, answered)]

    assert [reached(asked, 1.0)[0] for asked in (9.0, 12.0, 12.1)] == [True, True, False]
    assert [reached(9.0, answered)[1] for answered in (0.94, 0.95)] == [False, True]


def test_tiny_batches_are_not_held_to_the_raw_ceiling():
    figures = {"raw": _figures(1000), "twinlog": _figures(1)}
    assert list(copy_goals("x", "tiny", tiny=True, figures=figures)) == []


@pytest.mark.parametrize("rate", [1000, 20_000])
def test_latency_is_held_to_the_other_mirrors_at_every_quantile(rate):
    ours = {"p50": 8.0, "p90": 20.0, "p99": 17.0, "p99.9": 31.0}
    theirs = {"p50": 8.0, "p90": 14.0, "p99": 18.0, "p99.9": 30.0}
    goals = list(latency_goals(rate, {"twinlog": ours, "mm2-default": theirs}))
    assert [goal.reached for goal in goals] == [True, False, True, False]
    assert list(latency_goals(rate, {"twinlog": ours})) == []


def test_starts_are_held_to_seconds_and_only_some_numbers_of_partitions_have_goals():
    assert [goal.reached for goal in start_goals(8.0, 10.1)] == [True, False]
    assert list(partition_goals(100, 500.0, 1.0, 0.1)) == []
    assert [goal.reached for goal in partition_goals(1000, 500.0, 0.05, 0.04)] == [True, False]
    assert [goal.reached for goal in partition_goals(10_000, 120.1, 1.0, None)] == [False]


def test_rates_and_costs_follow_from_what_was_seen():
    run = CopyRun("x", 1.0, 4.0, 1.0, 2_000_000, 0.2, 9.0, 3.0, None, 1, Census(0, 0))
    assert run.rate == 500_000
    assert run.warm_rate == 1_000_000
    assert run.cpu_per_million == 1.5
    assert run.cpu_per_gigabyte == pytest.approx(15.0)


@pytest.mark.parametrize(
    ("census", "verdict"),
    [
        (Census(0, 0), "all once"),
        (Census(3, 0), "LOST 3"),
        (Census(0, 2), "DOUBLED 2"),
        (Census(1, 2), "LOST 1, DOUBLED 2"),
    ],
)
def test_lost_and_doubled_records_are_named(census, verdict):
    assert census.verdict == verdict


@pytest.mark.parametrize("data", SETS, ids=lambda data: data.name)
def test_a_set_holds_about_what_it_says_whatever_its_size(data):
    for scale in (1.0, 0.1):
        scaled = data.scaled(scale)
        assert scaled.total == pytest.approx(data.records * scale, rel=0.03)


def test_encoded_batches_hold_the_records_of_their_flavour():
    flavour = Flavour(100, "lz4", 50)
    for batch in encoded(flavour):
        records = open_batch(batch.data)
        assert len(records) == batch.header.record_count == 50
        assert {len(record.value or b"") for record in records} == {100}


def test_partitions_take_flavours_in_turn():
    data = DataSet("x", "x", 100, (Flavour(10, "none", 1), Flavour(20, "none", 5)), partitions=4)
    assert [data.flavour(p).record_bytes for p in range(4)] == [10, 20, 10, 20]
    assert [data.held(p) for p in range(4)] == [25, 25, 25, 25]


def test_amounts_keep_three_digits():
    assert [amount(value) for value in (1_350_000, 216_000, 7_300, 137, 7.34)] == [
        "1.35 M",
        "216 k",
        "7.30 k",
        "137",
        "7.3",
    ]


def test_a_table_has_one_line_per_row_and_two_for_its_head():
    assert table(["a", "b"], [["x", "1"]]).splitlines() == ["| a | b |", "| --- | --: |", "| x | 1 |"]


def test_cpu_of_a_child_that_ended_is_still_counted():
    busy = "import time\nwhile time.process_time() < 0.35: pass\n"
    start_child = f"subprocess.run([sys.executable, '-c', {busy + 'input()'!r}])"
    parent = f"import subprocess, sys; {start_child}; print('over', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        with Meter(process.pid) as meter:
            wait_until(meter.cpu_seconds, lambda used: used >= 0.3, within_s=60, what="CPU of the child")
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "over\n"
            meter.look_around()
            assert meter.cpu_seconds() >= 0.3
            assert meter.peak_bytes > os.sysconf("SC_PAGE_SIZE")
        process.stdin.write("\n")


def test_goals_of_a_long_line_depend_on_its_length_and_width() -> None:
    reached = list(wan_copy_goals("80 ms", (80, 0), ours=100.0, tuned=40.0, local=120.0))
    assert [(goal.got, goal.reached) for goal in reached] == [("2.50 x", True), ("0.83 x", True)]
    far = list(wan_copy_goals("200 ms", (200, 0), ours=70.0, tuned=40.0, local=120.0))
    assert [(goal.got, goal.reached) for goal in far] == [("1.75 x", False)]
    narrow = list(wan_copy_goals("80 ms, 100 Mbit/s", (80, 100), ours=11.5, tuned=40.0, local=120.0))
    assert [(goal.what.partition(": ")[2], goal.reached) for goal in narrow] == [("speed, of the line", True)]


def test_latency_over_a_line_is_held_against_its_delay_only_where_records_are_pushed() -> None:
    ours, theirs = {"p50": 54.0, "p99": 90.0}, {"p50": 85.0, "p99": 80.0}
    pushed = list(wan_latency_goals("80 ms", 40.0, True, ours, theirs))
    assert [goal.reached for goal in pushed] == [True, True, False]
    pulled = list(wan_latency_goals("80 ms", 40.0, False, ours, None))
    assert pulled == []


def test_figures_beside_other_work_say_so() -> None:
    assert warn_of_other_load(0.3) == ""
    assert "Nobody should quote" in warn_of_other_load(4.0)


def test_a_line_delays_everything_and_carries_no_more_than_its_rate() -> None:
    wide = Direction(0.04, 0.0)
    assert [wide.due(1_000_000, now) for now in (1.0, 1.0)] == [1.04, 1.04]
    narrow = Direction(0.04, 12.5e6)
    due = [narrow.due(125_000, 1.0) for _ in range(100)]
    assert due[0] == pytest.approx(1.05)
    assert due[-1] == pytest.approx(1.0 + 1.0 + 0.04)
    assert narrow.crossed == 12_500_000
    assert narrow.due(125_000, 9.0) == pytest.approx(9.05), "a line that stood still carries no more afterwards"
    assert wide.holds > 100 * narrow.holds


def test_a_trend_tells_growth_from_noise():
    times = [float(second) for second in range(100)]
    steady = [100.0 + (second % 7) for second in range(100)]
    assert trend(times, steady).is_flat
    growing = [100.0 + second + (second % 7) for second in range(100)]
    assert not trend(times, growing).is_flat
    assert trend(times, growing).growth == pytest.approx(99, rel=0.05)
    assert trend(times, growing[::-1]).is_flat  # what shrinks does not grow
    with pytest.raises(ValueError, match="too few"):
        trend([0.0, 1.0], [0.0, 1.0])


def test_the_checker_of_the_soak_counts_what_is_missing_and_what_comes_again():
    verdict, expected = Verdict(), 0
    for number in (0, 1, 1, 2, 5, 4, 6):
        expected = verdict.see(number, expected)
    assert (verdict.records, verdict.lost, verdict.doubled, expected) == (7, 2, 2, 7)


def test_the_load_of_the_soak_is_the_same_for_the_same_seed_and_uses_every_rate():
    phases = [phase_of(number, 7) for number in range(120)]
    assert phases == [phase_of(number, 7) for number in range(120)]
    assert {phase.rate for phase in phases} == set(RATES)
    assert {phase.transactional for phase in phases} == {True, False}
