"""Events that outlive a process: read back as they were, told once, ended when they ended unseen, paged."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.connect_paper import PaperService, PaperTopic, asked
from tests.kit.paper_backend import PaperBackend
from tests.kit.paper_events import EVENTS, PaperLog
from tests.kit.waiting import wait_until

from twinlog.control.chronicle import Chronicle
from twinlog.model.health.event_log import before_id, dump_event, event_id, news, read_event
from twinlog.model.health.history import Event, bands
from twinlog.surface.http.app_state import AppState


@given(EVENTS)
def test_what_is_written_is_read_back(event: Event):
    again = read_event(dump_event(event))
    assert again is not None
    assert (again.at_ms, again.link, again.kind, again.ended) == (event.at_ms, event.link, event.kind, event.ended)
    assert again == event or "?" in again.says + again.remedy, "only what is no text is written as ?"


@pytest.mark.parametrize("value", [None, b"", b"{", b"[]", b'{"at_ms":1}', b'{"at_ms":"x"}', b"\xff"])
def test_what_nobody_understands_is_left_out(value: bytes | None):
    assert read_event(value) is None


def test_a_kind_of_a_later_version_is_left_out():
    assert read_event(dump_event(Event(1, "A->B", "state", "good", "x", "y")).replace(b'"state"', b'"weather"')) is None


FIRST_LOOKS = st.lists(EVENTS, max_size=6, unique_by=lambda event: (event.kind, event.thing)).map(
    lambda seen: [replace(event, link="A->B", ended=event.ended and event.kind == "state") for event in seen]
)


@given(st.lists(EVENTS, max_size=12), FIRST_LOOKS)
def test_looking_twice_tells_once_and_leaves_nothing_open_that_is_over(past: list[Event], look: list[Event]):
    told = news(past, look, "A->B", 2**42)
    assert news([*past, *told], look, "A->B", 2**42) == []
    shown = {event.thing for event in look if event.kind == "fault"}
    own = [event for event in [*past, *told] if event.link == "A->B"]
    assert {band.thing for band in bands(own, ["fault"]) if band.until_ms is None} == shown


@given(st.lists(EVENTS, max_size=30, unique_by=event_id), st.integers(1, 7))
def test_pages_together_are_all_of_it(events: list[Event], size: int):
    listed = sorted(events, key=lambda event: event.at_ms, reverse=True)
    found: list[Event] = []
    while page := before_id(listed, event_id(found[-1]) if found else "")[:size]:
        found += page
    assert found == listed
    if listed:
        gone = before_id(listed[1:], event_id(listed[0]))
        assert all(event.at_ms < listed[0].at_ms for event in gone), "the time tells where a forgotten one was"


def service_over(log: PaperLog, backend: PaperBackend, *, leads: bool = True) -> PaperService:
    memory = Chronicle(log, lambda: leads)
    return PaperService(
        PaperTopic(), app_state=lambda audit: AppState.of(backend, audit, look_seconds=0.02, memory=memory)
    )


def faults(events: Iterable[dict[str, object]]) -> list[bool]:
    """Of the fault, newest first: whether it ended."""
    return [bool(event["ended"]) for event in events if event["kind"] == "fault"]


@pytest.mark.proves("R7")
def test_a_service_that_begins_again_remembers_and_tells_nothing_twice():
    log = PaperLog()
    with asked(service_over(log, PaperBackend())) as client:
        wait_until(
            lambda: faults(client.get("/v1/events").json()), lambda found: found == [False], within_s=20, what="it"
        )
        before = client.get("/v1/events").json()
    kept = len(log.kept)
    with asked(service_over(log, PaperBackend(), leads=False)) as client:
        wait_until(lambda: client.get("/v1/events").json(), lambda found: len(found) >= kept, within_s=20, what="it")
        wait_until(
            lambda: client.get("/v1/links/east-%3Ewest/history").json()["samples"],
            lambda samples: len(samples) > 2,
            within_s=20,
            what="looks",
        )
        again = client.get("/v1/events").json()
        assert faults(again) == [False], "it is the same fault"
        assert {event["id"] for event in before} <= {event["id"] for event in again}
        assert len(log.kept) == kept, "who stands by writes nothing"
        pages = [client.get("/v1/events?limit=1").json()]
        while pages[-1]:
            pages.append(client.get(f"/v1/events?limit=1&before={pages[-1][0]['id']}").json())
        assert [event for page in pages for event in page if event in again] == again
        assert client.get("/v1/events?before=x").status_code == 422
    with asked(service_over(log, PaperBackend(faulted=False))) as client:
        wait_until(
            lambda: faults(client.get("/v1/events").json()),
            lambda found: found == [True, False],
            within_s=20,
            what="it",
        )
    assert len(log.kept) > kept


def test_a_store_that_is_away_keeps_nobody_from_looking(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("twinlog.watch.monitor._RECALL_SECONDS", 0.01)
    log = PaperLog()
    log.append(dump_event(Event(1, "east->west", "switch", "good", "east->west", "long ago", ended=True)))
    log.away = True
    with asked(service_over(log, PaperBackend())) as client:
        present = wait_until(lambda: client.get("/v1/events").json(), bool, within_s=20, what="the present")
        assert "long ago" not in {event["says"] for event in present}
        log.away = False
        both = wait_until(
            lambda: client.get("/v1/events").json(), lambda told: len(told) > len(present), within_s=20, what="the past"
        )
        assert both[-1]["says"] == "long ago"


def test_the_end_of_a_process_waits_for_its_last_events():
    closed: list[bool] = []
    log = PaperLog()
    log.close = lambda: closed.append(True)  # type: ignore[method-assign]
    asyncio.run(Chronicle(log, lambda: True).close())
    assert closed == [True]
