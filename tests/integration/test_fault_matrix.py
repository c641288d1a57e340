"""A short part of `make faults`: the harness itself, on clusters of one broker, with three of its faults."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.faults.page import Page
from tests.faults.scenario import all_scenarios
from tests.faults.scene import Scene
from tests.faults.stage import Stage


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage("plain", brokers=1)
    try:
        yield stage
    finally:
        stage.close()


@pytest.mark.timeout(300)
@pytest.mark.proves("R1", "R2", "R3", "R7", "R9", "R14")
def test_a_killed_source_is_called_down_and_costs_no_record(stage: Stage, tmp_path: Path) -> None:
    down = next(one for one in all_scenarios() if one.key == "source-down")
    row = Scene(stage, replace(down, peer=False), 1).run("test")
    # Beside other tests ten seconds are nothing: here it only counts that it is named.
    missed = [goal for goal in row.missed if not goal.startswith("the true cause was named after")]
    assert not missed, f"{missed}; {row.notes}; {row.said}"
    assert row.said.startswith("SOURCE_DOWN; ")
    assert row.effect == ["all brokers of source were dead"]
    assert row.twinlog.records > 100
    Page(tmp_path).add(row, [row.key])
    assert "*Seen: all brokers of source were dead.*" in Page(tmp_path).file.read_text()


@pytest.mark.chaos  # what it proves, test_engine_killed.py and test_run.py prove as well
@pytest.mark.timeout(400)
@pytest.mark.proves("R1", "R2", "R3", "R7", "R9")
def test_a_killed_worker_and_a_record_too_large_reach_every_goal(stage: Stage, tmp_path: Path) -> None:
    known = {one.key: one for one in all_scenarios()}
    page = Page(tmp_path)
    for number, key in enumerate(("writer-killed", "record-too-large"), 1):
        one = replace(known[key], peer=False, spoils=False)
        row = Scene(stage, one, number).run("test")
        page.add(row, list(known))
        assert row.green, f"{key}: {row.missed}; {row.notes}; {row.said}"
        assert row.twinlog.records > 100
    assert "2 of 2 faults reached every goal" in page.file.read_text()
