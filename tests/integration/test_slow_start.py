"""An engine that takes long to start is alive, and says so: nobody takes its link meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.kit.ends import Ends
from tests.kit.threads import ThreadedEngine
from tests.kit.waiting import wait_until

from twinlog.engine import engine, telling


class SlowEngine(ThreadedEngine):
    """Its query starts when it is let go."""

    go = threading.Event()

    def _start_query(self, *given: Any) -> Any:
        assert self.go.wait(60)
        return super()._start_query(*given)


@pytest.mark.proves("R9", "R14")
def test_an_engine_that_waits_for_spark_goes_on_saying_that_it_lives(
    make_ends: Callable[..., Ends], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "HEARTBEAT_SECONDS", 0.3)
    monkeypatch.setattr(telling, "HEARTBEAT_SECONDS", 0.3)
    monkeypatch.setattr(telling, "_SLOW_START_SECONDS", 0.5)
    ends = make_ends()
    ends.load(ends.create("orders", 1), 1).produce(10)
    slow = SlowEngine(ends.link, tmp_path)
    try:
        heard: set[int] = set()

        def look() -> tuple[int, str, str | None]:
            found = ends.status().engine
            if found is None:
                return 0, "none", None
            heard.add(found.at_ms)
            return len(heard), found.phase, found.trouble

        wait_until(look, lambda seen: seen[0] >= 4 and seen[2] is not None, within_s=40, what="signs of life")
        _, phase, trouble = look()
        assert phase == "starting"
        assert "Spark has been starting" in (trouble or "")
        slow.go.set()
        ends.await_copied()
        assert slow.engine.trouble is None
    finally:
        slow.go.set()
        slow.stop()
