"""Pipelines that run until everything was handled: an epoch that broke is planned again, nothing is taken for done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from twinlog.pipelines.connector import read_connector
from twinlog.pipelines.engine import Nothing
from twinlog.pipelines.job import Epoch
from twinlog.pipelines.source_planner import SourcePlanner
from twinlog.pipelines.task_line import LineAddress
from twinlog.pipelines.worker_settings import read_worker

LINE = LineAddress("127.0.0.1", 1, "")


@pytest.mark.proves("R30")
def test_a_source_that_broke_is_not_done(tmp_path: Path) -> None:
    config = {"connector.class": "FileStreamSource", "file": str(tmp_path / "x"), "topic": "t", "run": "available"}
    session: Any = None
    planner = SourcePlanner(read_connector("lines", config, {}), read_worker({}), 1, 1)
    assert isinstance(planner.plan(session, LINE), Epoch)
    planner.broke()
    assert isinstance(planner.plan(session, LINE), Epoch), "the rows of the broken epoch were never written"
    planner.heard({"task": 0, "end_of": "reader", "unfinished": True})
    assert isinstance(planner.plan(session, LINE), Epoch), "the longest time of an epoch is not the end of a table"
    assert planner.plan(session, LINE) == Nothing()
