"""Pipelines that begin at once: only a few of them start their tasks at the same time, and all get their turn."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any
from unittest import mock

import pytest

from twinlog.pipelines import engine
from twinlog.pipelines.connector import read_connector
from twinlog.pipelines.engine import Engine
from twinlog.pipelines.starts import Starts
from twinlog.pipelines.task_line import TaskLine


class PaperPlanner:
    """Plans an epoch of one task, again and again."""

    def plan(self, _: Any, line: Any) -> Any:
        run = mock.Mock(tasks=({},), line=line)
        return mock.Mock(run=run)

    def heard(self, _: Mapping[str, Any]) -> None:
        pass

    def broke(self) -> None:
        pass

    def has_news(self) -> bool:
        return False

    def again(self) -> None: ...

    def rest(self) -> None:
        pass


class PaperJobs:
    """Jobs whose tasks call after a while, and that end when they are told to."""

    def __init__(self) -> None:
        self.silent = 0  # jobs whose tasks have not called yet
        self.most = 0
        self.begun: set[str] = set()
        self.lock = threading.Lock()

    def __call__(self, _: Any, epoch: Any, name: str) -> Any:
        with self.lock:
            self.silent += 1
            self.most = max(self.most, self.silent)
            self.begun.add(name)
        ended = threading.Event()

        def work() -> None:
            time.sleep(0.02)
            with self.lock:
                self.silent -= 1
            lines = [TaskLine(epoch.run.line, task=0, end_of=end) for end in ("reader", "writer")]
            while not all(line.stopping for line in lines):
                time.sleep(0.01)
            for line in lines:
                line.close()
            ended.set()

        threading.Thread(target=work, daemon=True).start()
        return mock.Mock(ended=ended.wait, stop=ended.set)


@pytest.mark.parametrize("at_once", [1, 3])
def test_so_many_start_at_once_and_no_more(at_once: int) -> None:
    jobs = PaperJobs()
    config = {"connector.class": "FileStreamSink", "file": "/tmp/x", "topics": "t"}  # noqa: S108  nobody opens it
    session: Any = mock.Mock()
    with (
        mock.patch.object(engine, "Job", jobs),
        mock.patch.object(engine, "own_session"),
        mock.patch.object(engine, "driver_address", return_value=("127.0.0.1", "")),
    ):
        starts = Starts(at_once)
        engines = [Engine(read_connector(f"c{n}", config, {}), PaperPlanner(), session, starts) for n in range(12)]
        for each in engines:
            each.start()
        deadline = time.monotonic() + 20
        while len(jobs.begun) < len(engines) and time.monotonic() < deadline:
            time.sleep(0.01)
        for each in engines:
            each.stop()
    assert len(jobs.begun) == len(engines)
    assert jobs.most <= at_once
    assert not any(each.running for each in engines)


def test_who_is_stopped_does_not_wait_for_a_turn() -> None:
    starts, stopping = Starts(1), threading.Event()
    with starts.turn(stopping) as first:
        assert first
        stopping.set()
        with starts.turn(stopping) as second:
            assert not second
    with starts.turn(threading.Event()) as third:
        assert third, "the turn that nobody got was not given back"
