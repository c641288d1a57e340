from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.kit.link_statuses import status

from twinlog.model.health.exposed import LinkExposure, TopicExposure
from twinlog.model.health.history import (
    Event,
    Latencies,
    Sample,
    bands,
    events_between,
    latency_of,
    sample_of,
    summary,
    thinned,
)
from twinlog.model.health.states import LinkStatus
from twinlog.model.ledger.records import ChoreNote, FaultEntry

GAP = FaultEntry(code="OFFSET_GAP", says="orders-1: offsets 5..9 were deleted", remedy="raise retention")


def told(before: LinkStatus | None, after: LinkStatus) -> list[tuple[str, str, bool]]:
    return [(event.kind, event.thing, event.ended) for event in events_between(before, after)]


def test_nothing_new_is_no_event():
    assert told(status(), status(2000)) == []


def test_a_fault_begins_and_ends_once():
    well, ill = status(), status(2000, fault=GAP)
    begun = list(events_between(well, ill))
    assert ("fault", "orders-1", False) in [(e.kind, e.thing, e.ended) for e in begun]
    assert [e.remedy for e in begun if e.kind == "fault"] == ["raise retention"]
    assert told(ill, status(3000, fault=GAP)) == []
    assert ("fault", "orders-1", True) in told(ill, status(3000))


def test_a_chore_in_trouble_and_a_new_engine_are_told():
    assert ("chore", "acls", False) in told(status(), status(2000, trouble="refused"))
    assert ("chore", "acls", True) in told(status(trouble="refused"), status(2000))
    later = status(2000)
    assert later.engine is not None
    taken = replace(later, engine=later.engine.model_copy(update={"generation": 9}))
    assert told(status(), taken) == [("engine", "A->B", False)]


def test_a_source_that_is_away_is_no_event_of_each_sync_job():
    away = status(2000, trouble="A: no broker answers: 127.0.0.1:1: connection refused")
    assert "chore" not in {kind for kind, *_ in told(status(), away)}
    assert "chore" not in {kind for kind, *_ in told(away, status(3000))}
    assert ("chore", "acls", False) in told(away, status(3000, trouble="refused"))


def test_a_first_look_tells_what_is_wrong_and_nothing_about_take_overs():
    assert told(None, status(fault=GAP)) == [("state", "A->B", False), ("fault", "orders-1", False)]


def test_a_link_that_never_ran_is_no_bad_news_and_a_stop_is_no_good_news():
    new = replace(status(), engine=None)
    (first,) = events_between(None, new)
    assert (first.level, first.says, first.ended) == ("info", "no engine has run it yet", True)
    well = status(2000)
    assert well.engine is not None
    stopped = replace(well, engine=well.engine.model_copy(update={"phase": "stopped"}))
    assert [(e.level, e.says) for e in events_between(well, stopped)] == [("warning", "STOPPED, was CATCHING_UP")]


def test_an_objective_that_is_not_kept_begins_and_ends():
    def judged(at_ms: int, *kept: str) -> LinkStatus:
        topics = tuple(
            TopicExposure(f"orders-{n}", "gold", 10, 1, 0, 5, 50, 30.0, at_ms, 0, at_ms, None, one)  # type: ignore[arg-type]
            for n, one in enumerate(kept)
        )
        total = replace(topics[0], topic="A->B")
        return replace(status(at_ms), exposure=LinkExposure("A->B", True, at_ms, topics, total, None, False))

    good, bad = judged(1000, "kept", "kept"), judged(2000, "broken", "broken")
    (begun,) = events_between(good, bad)
    assert (begun.kind, begun.level) == ("objective", "bad")
    assert (
        begun.says
        == "2 topics do not keep their objective: orders-0 (30 s, objective 10 s), orders-1 (30 s, objective 10 s)"
    )
    assert told(bad, judged(3000, "broken", "kept")) == [], "one outage is one event"
    assert told(bad, judged(3000, "kept", "kept")) == [("objective", "A->B", True)]


def test_a_silent_source_begins_and_ends():
    away = replace(status(2000), source_trouble="A: no broker answers")
    assert ("source", "A->B", False) in told(status(), away)
    assert ("source", "A->B", True) in told(away, status(3000))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=30))
def test_bands_are_what_lies_between_beginning_and_end(steps: list[tuple[str, bool]]):
    events = [Event(n, "A->B", "fault", "bad", thing, "", ended=ended) for n, (thing, ended) in enumerate(steps)]
    inside: dict[str, bool] = {}
    for moment, (thing, ended) in enumerate(steps):
        inside[thing] = not ended
        covered = {
            b.thing for b in bands(events) if b.from_ms <= moment and (b.until_ms is None or moment < b.until_ms)
        }
        assert covered == {name for name, on in inside.items() if on}


def sample(at_ms: int) -> Sample:
    return Sample(at_ms, "RUNNING", 1, 0.0, 0.5, 1, 10.0, 100.0, 7, 0)


@given(st.integers(0, 300), st.integers(1, 60))
def test_thinned_samples_are_few_in_order_and_end_with_the_last(count: int, most: int):
    samples = [sample(n) for n in range(count)]
    chosen = thinned(samples, most)
    assert len(chosen) <= most
    assert chosen == sorted(chosen)
    assert chosen[-1:] == samples[-1:]


def test_a_sample_says_unknown_and_never_zero():
    blind = replace(status(), partitions=tuple(replace(p, source_end=None) for p in status().partitions))
    assert sample_of(blind).lag_records is None
    assert sample_of(blind).latency_ms is None
    assert latency_of([ChoreNote(chore="heartbeats", at_ms=1, counts={"canary_ms": 12})]) == 12
    assert summary([sample(1)._replace(rpo_seconds=None)])["worst_rpo_seconds"] is None


@given(st.lists(st.integers(0, 100_000), max_size=20))
def test_every_heartbeat_is_counted_once(took: list[int]):
    latencies = Latencies()
    for at_ms, one in enumerate(took, start=1):
        note = ChoreNote(chore="heartbeats", at_ms=at_ms, counts={"canary_ms": one})
        latencies.hear([note])
        latencies.hear([note])
    for bound, count in latencies.durations.buckets():
        assert count == sum(one / 1000 <= float(bound) for one in took)
