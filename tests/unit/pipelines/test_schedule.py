"""Pipelines that run at times: each run handles what is there, and the wait for the next one is visible."""

from __future__ import annotations

from typing import Any

import pytest
from tests.kit.paper_pipelines import SINK, PaperPlanner, paper_engine
from tests.kit.waiting import wait_until

from twinlog.pipelines import engine as engine_module
from twinlog.pipelines.connector import read_connector
from twinlog.pipelines.engine import Nothing
from twinlog.pipelines.settings import SettingsRefused
from twinlog.pipelines.sink_planner import SinkPlanner
from twinlog.pipelines.source_planner import SourcePlanner
from twinlog.pipelines.worker_settings import read_worker

NIGHTLY = {**SINK, "run": "available", "schedule": "0 2 * * *"}
MIDNIGHT_S = 1_763_424_000.0  # 2025-11-18 00:00 UTC


class Clock:
    def __init__(self, at_s: float) -> None:
        self.at_s = at_s

    def now_s(self) -> float:
        return self.at_s


class Runs(PaperPlanner):
    def __init__(self) -> None:
        self.begun = 0

    def plan(self, *_: Any) -> Any:
        return Nothing()

    def again(self) -> None:
        self.begun += 1


def test_a_run_begins_when_its_time_has_come_and_waits_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(MIDNIGHT_S)
    monkeypatch.setattr(engine_module, "SYSTEM_CLOCK", clock)
    monkeypatch.setattr(
        engine_module, "LineServer", lambda *_: type("Line", (), {"address": "", "close": lambda _: 0})()
    )
    for name in ("own_session", "driver_address"):
        monkeypatch.setattr(engine_module, name, lambda *_: ())
    monkeypatch.setattr(engine_module, "_NOTHING_S", 0.01)
    planner = Runs()
    engine = paper_engine(NIGHTLY, planner)
    engine.start()
    try:
        wait_until(lambda: engine.progress.next_run_at, bool, within_s=5, what="the wait for the first run")
        assert (engine.progress.next_run_at, planner.begun) == (MIDNIGHT_S + 7200, 0)
        clock.at_s = MIDNIGHT_S + 7200
        wait_until(lambda: engine.progress.caught_up_at, bool, within_s=5, what="the first run")
        wait_until(lambda: engine.progress.next_run_at, bool, within_s=5, what="the wait for the second run")
        assert (engine.progress.next_run_at, planner.begun) == (MIDNIGHT_S + 7200 + 86_400, 1)
        clock.at_s += 86_400 + 60
        wait_until(lambda: planner.begun, lambda count: count == 2, within_s=5, what="the second run")
    finally:
        engine._stopping.set()
        assert engine.wait(5)


def test_a_new_run_handles_what_came_since() -> None:
    sink = SinkPlanner(read_connector("s", NIGHTLY, {}), read_worker({}), 1)
    sink._until = {}
    sink.again()
    assert sink._until is None
    lines = {"connector.class": "FileStreamSource", "file": "/x", "topic": "t", "run": "available"}
    source = SourcePlanner(read_connector("f", lines, {}), read_worker({}), 1, 1)
    source._available_done = True
    source.again()
    assert not source._available_done


@pytest.mark.parametrize(
    ("changed", "says"), [({"run": "continuous"}, "needs run=available"), ({"schedule": "often"}, "five fields")]
)
def test_a_schedule_that_cannot_be_kept_is_refused(changed: dict[str, str], says: str) -> None:
    with pytest.raises(SettingsRefused, match=says):
        read_connector("s", NIGHTLY | changed, {})
