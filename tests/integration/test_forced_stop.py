"""A forced stop stays: whatever an engine does afterwards, nothing of it lies behind the cut."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.kit.ends import Ends
from tests.kit.steady_load import SETTINGS, end_of, steady_load
from tests.kit.switches import do_switch, service_running
from tests.kit.waiting import wait_until

from twinlog.engine import switch_watch
from twinlog.errors import AccessDenied
from twinlog.ledger.switch_log import SwitchTopic
from twinlog.model.switch.log import SwitchLog
from twinlog.recovery import standstill


@pytest.fixture
def may_read_the_switch(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """While it is not set, the engine's principal has no right to read the switch topic, as the broker would say it."""
    granted = threading.Event()

    class Denied(SwitchTopic):
        async def catch_up(self) -> SwitchLog:
            if not granted.is_set():
                raise AccessDenied(self.cluster.alias, "Read and Describe on __twinlog-switch are needed")
            return await super().catch_up()

        async def follow(self) -> None:
            await asyncio.to_thread(granted.wait)
            await super().follow()

    monkeypatch.setattr(switch_watch, "SwitchTopic", Denied)
    monkeypatch.setattr(standstill, "_FOLLOWED_WITHIN_S", 2.0)
    yield granted
    granted.set()  # an engine that ended leaves no thread behind


@pytest.mark.proves("R10", "R14")
def test_an_engine_that_cannot_read_the_switch_adds_nothing_behind_the_cut_and_continues_after_the_failback(
    make_ends: Callable[..., Ends], tmp_path: Path, may_read_the_switch: threading.Event
) -> None:
    ends = make_ends(**SETTINGS)
    topic = ends.create("payments")
    with service_running(ends, tmp_path) as engine:
        with steady_load(ends.source_cluster.bootstrap_servers, topic) as sent:
            engine.await_running()
            wait_until(lambda: end_of(ends, topic), lambda end: end > 100, within_s=30, what="copies")
            report = do_switch(ends, tmp_path, "failover-unplanned")
            assert "by force" in next(step["says"] for step in report.steps if step["step"] == "stop-link")
            at_the_cut, later = end_of(ends, topic), sent() + 200
            wait_until(
                lambda: (engine.engine.phase, engine.engine.trouble),
                lambda seen: seen[0] == "switched" and "__twinlog-switch" in (seen[1] or ""),
                within_s=30,
                what="an engine that stands still and says why",
            )
            wait_until(sent, lambda count: count > later, within_s=30, what="records that are not copied")
            assert end_of(ends, topic) == at_the_cut
        may_read_the_switch.set()
        do_switch(ends, tmp_path, "failback-delta")
        wait_until(lambda: engine.engine.phase, lambda phase: phase == "running", within_s=30, what="a running engine")
        ends.await_copied(topic)
