"""Long actions that outlive their process: reports are still there, and what was interrupted is told, once."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.connect_paper import PaperService, PaperTopic, asked
from tests.kit.paper_backend import PaperBackend
from tests.kit.paper_events import EVENTS, PaperLog
from tests.kit.waiting import wait_until

from twinlog.control.chronicle import Chronicle
from twinlog.control.reports import ReportFolder
from twinlog.model.health.event_log import dump_event, interrupted
from twinlog.model.health.history import Event
from twinlog.surface.http.app_state import AppState
from twinlog.surface.http.operations import Operation

VERIFY = "/v1/links/east-%3Ewest/verifications"


def service_over(folder: Path, backend: PaperBackend, log: PaperLog | None = None) -> PaperService:
    memory = Chronicle(log or PaperLog(), lambda: True)
    return PaperService(
        PaperTopic(),
        app_state=lambda audit: AppState.of(
            backend, audit, look_seconds=0.02, memory=memory, store=ReportFolder(folder)
        ),
    )


def begin(client: TestClient, key: str) -> dict[str, Any]:
    answer = client.post(VERIFY, json={}, headers={"Idempotency-Key": key})
    assert answer.status_code == 202, answer.text
    begun: dict[str, Any] = answer.json()
    return begun


def ended(client: TestClient, operation_id: str) -> dict[str, Any]:
    return wait_until(
        lambda: client.get(f"/v1/operations/{operation_id}").json(),
        lambda found: found["status"] != "running",
        within_s=20,
        what="the end of it",
    )


def again_later(client: TestClient) -> None:
    """Let the service look some more times."""

    def looked_ms() -> int:
        return int(client.get("/v1/links/east-%3Ewest").json()["looked_ms"])

    before = looked_ms()
    wait_until(looked_ms, lambda now: now > before + 100, within_s=20, what="some more looks")


def told(log: PaperLog) -> list[dict[str, Any]]:
    """Of operations, oldest first."""
    return [event for event in map(json.loads, log.kept) if event["kind"] == "operation"]


def test_a_report_is_there_when_the_service_that_made_it_is_gone(tmp_path: Path) -> None:
    with asked(service_over(tmp_path, PaperBackend(step_seconds=0.01))) as client:
        done = ended(client, begin(client, "the-first-key")["id"])
        assert done["result"]["verdict"]
    with asked(service_over(tmp_path, PaperBackend())) as client:
        assert client.get(f"/v1/operations/{done['id']}").json() == done
        assert client.get(VERIFY).json() == [done]
        assert client.get("/v1/links/west-%3Eeast/verifications").json() == []
        assert begin(client, "the-first-key") == done, "the same key still gives the same operation"


def test_what_ran_when_the_service_was_stopped_is_told_as_interrupted(tmp_path: Path) -> None:
    log = PaperLog()
    with asked(service_over(tmp_path, PaperBackend(step_seconds=60), log)) as client:
        begun = begin(client, "a-long-one")
    assert [event["says"] for event in told(log)] == [
        "verification started",
        "verification failed: interrupted: the service that ran it ended first",
    ]
    with asked(service_over(tmp_path, PaperBackend(), log)) as client:
        found = client.get(f"/v1/operations/{begun['id']}").json()
        assert (found["status"], found["error"]["code"]) == ("failed", "INTERRUPTED")
        assert found["ended_ms"] is not None


def test_what_ran_when_the_service_was_killed_is_told_by_the_next_one_once(tmp_path: Path) -> None:
    killed = Operation("verification", "east->west", {}, pid=os.getpid())
    ReportFolder(tmp_path).keep(killed.id, killed.kept())
    log = PaperLog()
    log.append(dump_event(Event(killed.began_ms, "east->west", "operation", "info", "verification", "begun")))
    for _ in range(2):
        with asked(service_over(tmp_path, PaperBackend(), log)) as client:
            wait_until(lambda: len(told(log)), lambda found: found > 1, within_s=20, what="the end of it")
            assert client.get(f"/v1/operations/{killed.id}").json()["error"]["code"] == "INTERRUPTED"
            again_later(client)
    end = told(log)[1:]
    assert [event["says"] for event in end] == ["verification interrupted: the service that ran it ended first"]
    assert end[0]["ended"]
    assert end[0]["remedy"] == "Begin it again."


def test_what_a_service_beside_us_runs_is_left_to_it(tmp_path: Path) -> None:
    beside = Operation("verification", "east->west", {}, pid=os.getppid())
    ReportFolder(tmp_path).keep(beside.id, beside.kept())
    with asked(service_over(tmp_path, PaperBackend())) as client:
        assert client.get("/v1/operations").json() == []
    (kept,) = ReportFolder(tmp_path).read()
    assert kept["status"] == "running"


def test_who_takes_over_ends_what_the_leader_before_began_but_nothing_of_its_own() -> None:
    log, leads = PaperLog(), [False]
    one = Event(1, "A->B", "operation", "info", "drill", "drill begun")
    two = Event(2, "A->B", "operation", "info", "switch", "switch begun")
    log.append(dump_event(one))
    taking_over = Chronicle(log, lambda: leads[0])
    assert asyncio.run(taking_over.left_open()) == [], "who stands by knows that the leader lives"
    leads[0] = True
    taking_over.keep([two])
    assert [event.thing for event in asyncio.run(taking_over.left_open())] == ["drill"]
    assert asyncio.run(taking_over.left_open()) == []


@given(st.lists(EVENTS, max_size=12))
def test_every_operation_has_an_end(past: list[Event]) -> None:
    ends = interrupted(past, 2**42)
    assert interrupted([*past, *ends], 2**42) == []
    assert all(event.ended and event.kind == "operation" and event.remedy for event in ends)


def test_reports_are_bounded_and_one_that_cannot_be_read_hides_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = ReportFolder(tmp_path / "reports", most=3)
    assert folder.read() == []
    for number in range(5):
        folder.keep(f"report-{number}", {"number": number})
        os.utime(tmp_path / "reports" / f"report-{number}.json", (number, number))
    folder.keep("report-4", {"number": 4, "again": True})
    assert folder.read() == [{"number": 2}, {"number": 3}, {"number": 4, "again": True}]
    (tmp_path / "reports" / "report-3.json").write_text("{")
    assert [report["number"] for report in folder.read()] == [2, 4]
    assert "report-3.json" in caplog.text


def test_a_disk_that_refuses_is_told_and_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    ReportFolder(tmp_path / "file").keep("x", {})
    assert "the report of x is not kept" in caplog.text


def test_who_asks_wrongly_is_told_where_the_api_is_described(tmp_path: Path) -> None:
    with asked(service_over(tmp_path, PaperBackend())) as client:
        for answer, status in (
            (client.get("/v1/nope"), 404),
            (client.post("/v1/links"), 405),
            (client.post(VERIFY), 422),
        ):
            assert answer.status_code == status
            assert "/openapi.json" in answer.json()["remedy"]
        assert "Idempotency-Key" in client.post(VERIFY, json={}).json()["message"]


@pytest.mark.proves("R12")
def test_the_words_of_an_unexpected_error_stay_in_the_log(tmp_path: Path) -> None:
    """They may quote what it stumbled over: a password, for one."""

    class Stumbling(PaperBackend):
        async def verify(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("password=hush")

    with asked(service_over(tmp_path, Stumbling())) as client:
        found = ended(client, begin(client, "a-failing-one")["id"])
        assert (found["status"], found["error"]["message"]) == ("failed", "unexpected: RuntimeError")
        assert "hush" not in json.dumps(found)
        assert "hush" not in client.get("/v1/events").text
