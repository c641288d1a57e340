"""The line between tasks and the driver: who may report, and where the driver is found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.kit.waiting import wait_until

from twinlog.pipelines.task_line import LineServer, TaskLine


def test_tasks_find_the_driver_by_its_host_wherever_it_listens() -> None:
    heard: list[Any] = []
    server = LineServer(heard.append, "driver.invalid", "127.0.0.1")
    assert server.address.host == "driver.invalid"
    task = TaskLine(replace(server.address, host="127.0.0.1"), task=3)
    task.send(counts={"put": 1})
    wait_until(lambda: heard, bool, within_s=10, what="a report")
    assert heard == [{"task": 3, "counts": {"put": 1}}]
    assert server.not_met(5) == [0, 1, 2, 4]
    assert not task.stopping
    server.stop_tasks()
    wait_until(lambda: task.stopping, bool, within_s=10, what="the word to stop")
    server.close()


def test_nobody_reports_without_the_token() -> None:
    heard: list[Any] = []
    server = LineServer(heard.append)
    stranger = TaskLine(replace(server.address, token="guessed"), task=0)
    stranger.send(counts={"put": 1})
    wait_until(lambda: stranger.stopping, bool, within_s=10, what="the end of the line")
    server.close()
    assert heard == []
