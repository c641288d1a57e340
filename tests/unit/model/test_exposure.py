"""What a loss would cost: sums, retention, objectives, and that nobody mistakes unknown for nothing."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.settings_text import errors, findings, link

from twinlog.model.health.exposure import link_exposure
from twinlog.model.health.loss_range import LossRange, loss_range
from twinlog.model.health.objectives import Objective, Objectives, kept
from twinlog.model.health.states import LinkStatus, PartitionStatus
from twinlog.model.ledger.records import Engine
from twinlog.model.ledger.source_ends import KnownEnd
from twinlog.model.names import TopicPartition
from twinlog.model.selection import Patterns

NOW = 10_000_000


def part(topic: str, lag: int | None, *, copied: int = 100, newest_ms: int = NOW - 1000) -> PartitionStatus:
    end = None if lag is None else copied + lag
    place = TopicPartition(topic, 0)
    return PartitionStatus(place, topic, copied, end, copied, records=copied, bytes=copied * 50, newest_ms=newest_ms)


def known(lag: int, *, covered_ago_s: int = 5, rate: float = 0.0, keeps: tuple[int, int] = (-1, -1)) -> KnownEnd:
    return KnownEnd(100 + lag, NOW - 4000, NOW - covered_ago_s * 1000, rate, *keeps)


def status(*parts: PartitionStatus, rate: float | None = None, now_ms: int = NOW) -> LinkStatus:
    engine = Engine(engine_id="e", host="h", pid=1, phase="running", at_ms=now_ms - 1000)
    return LinkStatus("A->B", engine, parts, now_ms=now_ms, records_per_second=rate)


def test_topics_are_summed_by_their_mean_record_size() -> None:
    found = link_exposure(
        status(part("orders", 10), part("logs", 0)),
        {TopicPartition("orders", 0): known(10, covered_ago_s=7)},
        Objectives(),
        live=True,
    )
    assert (found.total.records, found.total.bytes, found.total.seconds) == (10, 500, 7.0)
    assert [(t.topic, t.records, t.seconds, t.at_risk) for t in found.topics] == [
        ("orders", 10, 7.0, True),
        ("logs", 0, 0.0, False),
    ]


@pytest.mark.proves("R7")
def test_nothing_known_is_not_nothing_lost() -> None:
    found = link_exposure(status(part("orders", None)), {}, Objectives(), live=False)
    assert (found.total.records, found.total.bytes, found.total.seconds) == (None, None, None)
    assert found.total.at_risk
    assert found.catch_up_s is None


@pytest.mark.proves("R7")
@pytest.mark.proves("R7")
@pytest.mark.parametrize(("phase", "lag"), [(None, None), ("starting", None), ("running", 0)])
def test_a_link_of_which_no_engine_told_yet_has_an_unknown_lag_and_risk(phase: str | None, lag: int | None) -> None:
    told = {"kind": "engine", "engine_id": "e", "host": "h", "pid": 1, "phase": phase, "at_ms": NOW}
    engine = None if phase is None else Engine.model_validate(told)
    seen = LinkStatus("A->B", engine, (), now_ms=NOW)
    total = link_exposure(seen, {}, Objectives(), live=True).total
    assert (seen.lag, total.records, total.seconds) == (lag, lag, lag)


def test_one_unknown_partition_leaves_the_age_of_the_link_unknown_and_the_known_records_told() -> None:
    places = {TopicPartition("orders", 0): known(3)}
    found = link_exposure(status(part("orders", None), part("new", None)), places, Objectives(), live=False)
    assert (found.total.records, found.total.unknown, found.total.seconds) == (3, 1, None)


def test_a_source_that_is_gone_leaves_the_last_known_loss_and_what_may_have_come_since() -> None:
    places = {TopicPartition("orders", 0): known(2, rate=50.0)}
    found = link_exposure(status(part("orders", None)), places, Objectives(), live=False).total
    # 50 records per second from the known end to the last copied record, three seconds later, and one look more.
    assert (found.records, found.maybe_more, found.known_at_ms, found.seconds) == (2, 400, NOW - 4000, 5.0)


@pytest.mark.proves("R7")
def test_what_was_copied_beyond_the_known_end_is_not_lost_and_the_range_stands_still() -> None:
    places = {TopicPartition("orders", 0): known(0, rate=50.0)}
    ahead = part("orders", None, copied=480)  # 380 beyond the end that was known
    before = link_exposure(replace(status(ahead), source_seen_ms=NOW - 4000), places, Objectives(), live=False)
    assert (before.loss.at_least, before.loss.at_most) == (0, 20)
    later = replace(status(ahead, now_ms=NOW + 600_000), source_seen_ms=NOW - 4000)
    after = link_exposure(later, places, Objectives(), live=False)
    assert after.loss == before.loss
    assert after.total.covered_ms == before.total.covered_ms
    # An engine that is dead listened to nobody: the source may have taken records all the time.
    deaf = replace(later, engine=Engine(engine_id="e", phase="running", at_ms=NOW))
    assert (link_exposure(deaf, places, Objectives(), live=False).loss.at_most or 0) > 20_000
    assert (after.total.seconds or 0) > (before.total.seconds or 0)  # producers may still write: objectives see that


@pytest.mark.proves("R7", "R14")
def test_a_loss_is_a_range_with_its_times() -> None:
    heard, copied = (int(time.mktime((2020, 1, 2, 14, 22, 48 + more, 0, 0, -1)) * 1000) for more in (0, 10))
    assert LossRange(0, 412, heard, copied).says("east") == (
        "at least 0, at most 412 records; east last heard 2020-01-02 14:22:48, last record copied 2020-01-02 14:22:58"
    )
    assert (
        LossRange(None, None, None, copied).says("east").startswith("not known how many records; east last heard never")
    )
    assert LossRange(1, 1, heard, copied).says("east").startswith("1 record; ")


@given(st.integers(0, 1000), st.integers(0, 2000), st.floats(0, 500), st.integers(0, 100_000))
def test_the_least_is_never_more_than_the_most(end: int, reached: int, rate: float, sign: int) -> None:
    place = TopicPartition("orders", 0)
    found = loss_range({place: KnownEnd(end, 0, None, rate, -1, -1)}, {place: reached}, 1, None, sign)
    assert found.at_least is not None
    assert found.at_most is not None
    assert 0 <= found.at_least <= found.at_most
    if reached >= end + rate * (sign / 1000 + 5) + 1:
        assert found.at_most == 0
    assert loss_range({}, {place: reached}, 1, None, sign).at_most is None


@pytest.mark.parametrize(
    ("keeps", "rate", "left"),
    [
        ((-1, -1), 1.0, None),
        ((61_000, -1), 1.0, 60.0),
        ((500, -1), 1.0, 0.0),  # its time has come
        ((-1, 10 * 50 - 1), 1.0, 0.0),  # what waits is already more than is kept
        ((-1, 110 * 50), 2.0, 50.0),
        ((61_000, 110 * 50), 2.0, 50.0),  # whichever comes first
    ],
)
def test_the_time_until_retention_takes_what_is_not_copied(
    keeps: tuple[int, int], rate: float, left: float | None
) -> None:
    places = {TopicPartition("orders", 0): known(10, rate=rate, keeps=keeps)}
    assert link_exposure(status(part("orders", 10)), places, Objectives(), live=True).total.time_to_loss_s == left


def test_nothing_is_lost_to_retention_that_is_copied() -> None:
    places = {TopicPartition("orders", 0): known(0, keeps=(1, 1))}
    assert link_exposure(status(part("orders", 0)), places, Objectives(), live=True).total.time_to_loss_s is None


@pytest.mark.parametrize(
    ("copying", "arriving", "catch_up", "falling"),
    [(300.0, 100.0, 5.0, False), (100.0, 100.0, None, True), (None, 100.0, None, False)],
)
def test_the_time_to_catch_up(copying: float | None, arriving: float, catch_up: float | None, falling: bool) -> None:
    places = {TopicPartition("orders", 0): known(1000, covered_ago_s=60, rate=arriving)}
    found = link_exposure(status(part("orders", 1000), rate=copying), places, Objectives(), live=True)
    assert (found.catch_up_s, found.falling_behind) == (catch_up, falling)


OBJECTIVES = Objectives(
    (Objective("money", Patterns(("pay.*",)), 4), Objective("any", Patterns(("pay.*", "o.*")), 60)),
    Objective("default", Patterns((".*",)), None),
)


def test_the_first_objective_that_names_a_topic_counts() -> None:
    places = {TopicPartition(t, 0): known(1, covered_ago_s=5) for t in ("payments", "orders", "logs")}
    found = link_exposure(status(*(part(t, 1) for t in ("payments", "orders", "logs"))), places, OBJECTIVES, live=True)
    assert {t.topic: (t.objective, t.kept) for t in found.topics} == {
        "payments": ("money", "broken"),
        "orders": ("any", "kept"),
        "logs": ("default", None),
    }
    assert [t.topic for t in found.broken] == ["payments"]


def test_what_nobody_knows_is_not_kept() -> None:
    assert kept(None, 5) == "unknown"
    assert kept(None, None) is None
    assert (kept(5.0, 5), kept(5.1, 5)) == ("kept", "broken")


# --- in the file ------------------------------------------------------------------------------------------------------


def test_objectives_are_read_like_transforms_of_connect() -> None:
    it = link(
        "rpo.seconds = 60\nA->B.rto.seconds = 900\nobjectives = money, logs\nobjectives.money.topics = pay.*, orders\n"
        "objectives.money.rpo.seconds = 5\nA->B.objectives.money.rto.seconds = 30\nobjectives.logs.topics = log.*\n"
        "objectives.logs.rpo.seconds = 3600\n"
    ).objectives
    assert [(o.name, o.rpo_seconds, o.rto_seconds) for o in it.all] == [
        ("money", 5, 30),
        ("logs", 3600, None),
        ("default", 60, 900),
    ]
    assert [it.of(t).name for t in ("orders", "log.web", "other")] == ["money", "logs", "default"]
    assert it.strictest_rto_seconds == 30


def test_without_any_nothing_was_promised() -> None:
    it = link().objectives
    assert (it.of("orders").rpo_seconds, it.strictest_rto_seconds) == (None, None)


def test_an_objective_without_topics_or_with_a_wrong_number_is_an_error() -> None:
    assert any("money has no topics" in error for error in errors("objectives = money"))
    wrong = "objectives = m\nobjectives.m.topics = a\nA->B.objectives.m.rpo.seconds = soon"
    assert any("a whole number" in error for error in errors(wrong))


@pytest.mark.parametrize("line", ["A->B.objectives.m.rpo.second = 5", "A->B.objectives.x.rpo.seconds = 5"])
def test_a_promise_that_nobody_would_watch_is_remarked(line: str) -> None:
    text = f"objectives = m\nobjectives.m.topics = a\nobjectives.m.rpo.seconds = 5\n{line}"
    assert any("ignored" in str(finding) and line.partition(" ")[0] in str(finding) for finding in findings(text))
