"""Advice follows from figures: the bottleneck, what to set, what a machine carries. What is unknown stays unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.doctor.advice.bottleneck import bottleneck
from twinlog.doctor.advice.capacity import OUTAGES_H, capacity
from twinlog.doctor.advice.evidence import Evidence, Kernel, Processor
from twinlog.doctor.advice.file_changes import changed
from twinlog.doctor.advice.settings import Advice, advices
from twinlog.model.ledger.stage_times import Durations, Stage

QUICK: dict[Stage, float] = {"parcel": 2, "queue": 2, "produce": 3, "note": 2}
IDLE = Processor(cores=8, busy_cores=1.0, machine_busy=1.5, memory_bytes=2 * 10**9)
BIG = Kernel(rmem=2**28, wmem=2**28)


def stages(ms: dict[Stage, float]) -> dict[Stage, Durations]:
    found: dict[Stage, Durations] = {}
    for stage, took in ms.items():
        found[stage] = Durations()
        found[stage].observe(int(took * 1000), 100)
    return found


SLOW = Evidence(
    "a->b", 10, lag_records=10**6, records_per_second=10_000, bytes_per_second=10**7, partitions=32, tasks=4,
    stages=stages(QUICK), source_trip_s=0.001, target_trip_s=0.001, processor=IDLE, kernel=BIG,
)  # fmt: skip


@pytest.mark.parametrize(
    ("seen", "place"),
    [
        (replace(SLOW, lag_records=100), "none"),
        (replace(SLOW, lag_records=0, records_per_second=0.0), "none"),
        (replace(SLOW, lag_records=None), "unknown"),
        (replace(SLOW, phase="starting"), "unknown"),
        (replace(SLOW, phase=None), "unknown"),
        (replace(SLOW, hindrances=("b: a quota delays answers by 800 ms",)), "quota"),
        (replace(SLOW, processor=replace(IDLE, machine_busy=7.9, busy_cores=7.0)), "processor"),
        (replace(SLOW, stages=stages(QUICK | {"produce": 400})), "target"),
        (replace(SLOW, stages=stages(QUICK | {"queue": 900})), "target"),
        (replace(SLOW, stages=stages(QUICK | {"parcel": 900})), "spark"),
        (replace(SLOW, stages=stages(QUICK | {"note": 900})), "ledger"),
        (SLOW, "source"),
        (replace(SLOW, stages={}), "source"),
        (replace(SLOW, source_trip_s=0.1, kernel=Kernel(rmem=100_000, wmem=2**28)), "line"),
        (replace(SLOW, target_trip_s=0.1, stages=stages(QUICK | {"produce": 110})), "source"),  # a trip is no slowness
    ],
)
def test_the_bottleneck(seen: Evidence, place: str):
    assert bottleneck(seen).place == place


def test_figures_that_are_missing_are_unknown():
    told = bottleneck(Evidence("a->b", 10)).figures
    assert "lag: unknown" in told
    assert "processor: unknown" in told
    assert not any(": 0" in one for one in told)


def settings_of(seen: Evidence) -> dict[str, Advice]:
    return {one.setting: one for one in advices(seen, bottleneck(seen))}


def test_idle_processors_and_many_partitions_ask_for_tasks():
    found = settings_of(replace(SLOW, stages=stages(QUICK | {"parcel": 900})))
    assert found["tasks.max"].better == "8"
    assert "tasks.max" not in settings_of(replace(SLOW, processor=replace(IDLE, machine_busy=7.0)))
    assert "tasks.max" not in settings_of(replace(SLOW, partitions=4))
    assert "tasks.max" not in settings_of(replace(SLOW, processor=None))


def test_a_long_line_asks_for_more_in_flight_and_larger_buffers():
    far = replace(SLOW, source_trip_s=0.2, tasks=1, kernel=Kernel(6_291_456, 4_194_304, slow_start_after_idle=True))
    found = settings_of(far)
    assert int(found["max.bytes.in.flight"].better) >= 2 * 25_000_000
    assert found["net.ipv4.tcp_rmem"].command.startswith("sysctl -w net.core.rmem_max=")
    assert "net.ipv4.tcp_wmem" not in found  # the target is near
    assert found["net.ipv4.tcp_slow_start_after_idle"].better == "0"


@pytest.mark.parametrize(
    ("source_s", "target_s", "present", "better", "effect"),
    [
        (0.1, 0.001, "beside the target", "beside the target, or beside the source", "up to 100 ms less latency"),
        (0.001, 0.1, "beside the source", "the same, with a standby at the target", "are there after a disaster"),
        (0.12, 0.08, "far from both clusters", "beside the target", "up to 80 ms less latency"),
    ],
)
def test_where_the_mirror_runs_and_what_another_place_would_change(
    source_s: float, target_s: float, present: str, better: str, effect: str
):
    placed = settings_of(replace(SLOW, source_trip_s=source_s, target_trip_s=target_s))["where the mirror runs"]
    assert (placed.where, placed.present, placed.better) == ("placement", present, better)
    assert effect in placed.effect
    assert f"{source_s * 1000:.0f} ms to the source, {target_s * 1000:.0f} ms to the target" in placed.evidence


def test_a_near_or_unmeasured_line_says_nothing_about_the_place():
    for seen in (SLOW, replace(SLOW, source_trip_s=None, target_trip_s=0.1)):
        assert "where the mirror runs" not in settings_of(seen)


def test_a_short_line_asks_for_nothing_of_the_kernel():
    assert {one.where for one in settings_of(SLOW).values()} <= {"file"}


def test_capacity_and_catching_up():
    found = capacity(SLOW)
    assert found.records_per_second is not None
    assert found.records_per_second == pytest.approx(10_000 * (0.78 * 8 - 0.5))
    assert found.catch_up_s[1] == pytest.approx(3600 * 10_000 / (found.records_per_second - 10_000))
    assert found.cores_to_add == 0


def test_memory_of_a_few_partitions_is_not_multiplied():
    assert capacity(SLOW).memory_per_1000_partitions is None
    many = capacity(replace(SLOW, partitions=500)).memory_per_1000_partitions
    assert many == pytest.approx(2 * IDLE.memory_bytes)


def test_capacity_is_unknown_without_figures_and_says_why():
    assert "no running engine" in capacity(replace(SLOW, processor=None)).why
    still = capacity(replace(SLOW, records_per_second=0.0))
    assert still.records_per_second is None
    assert set(still.catch_up_s.values()) == {None}


def test_a_machine_that_is_used_up_does_not_catch_up():
    full = capacity(replace(SLOW, processor=replace(IDLE, busy_cores=4.0, machine_busy=8.0)))
    assert set(full.catch_up_s.values()) == {None}
    assert "does not catch up" in full.why
    assert full.cores_to_add is not None
    assert full.cores_to_add > 0


@given(
    st.builds(
        Evidence, st.just("a->b"), st.just(10.0), st.sampled_from([None, "starting", "running"]),
        st.none() | st.integers(0, 10**9), st.none() | st.floats(0, 1e7),
        st.none() | st.floats(0, 1e9), st.integers(0, 1000), st.integers(1, 64),
        source_trip_s=st.none() | st.floats(0, 1), target_trip_s=st.none() | st.floats(0, 1),
        kernel=st.none() | st.builds(Kernel, st.integers(4096, 2**30), st.integers(4096, 2**30)),
        processor=st.none() | st.builds(
            Processor, st.integers(1, 64), st.floats(0, 64), st.floats(0, 64), st.integers(0, 10**11)
        ),
    )
)  # fmt: skip
def test_every_measurement_gets_an_answer(seen: Evidence):
    found = bottleneck(seen)
    assert found.sentence
    for one in advices(seen, found):
        if one.where == "file":
            assert int(one.better) > 0
        assert one.present != one.better
    for hours in OUTAGES_H:
        took = capacity(seen).catch_up_s[hours]
        assert took is None or took >= 0


@given(st.text(st.characters(codec="latin-1", exclude_characters="\r\n\x0b\x0c\x1c\x1d\x1e\x85"), max_size=50))
def test_a_change_of_the_file_keeps_all_other_lines(line: str):
    text = f"# {line}\nclusters = a, b\na->b.tasks.max = 1\ntasks.max = 9\n"
    one = Advice("file", "tasks.max", "1", "8", "why", "seen", "effect")
    after = changed(text, "a->b", [one, replace(one, where="kernel", setting="x")])
    assert after == text.replace("a->b.tasks.max = 1", "a->b.tasks.max = 8")
    added = changed("clusters = a, b\n", "a->b", [one])
    assert added == "clusters = a, b\n# why: seen\na->b.tasks.max = 8\n"
