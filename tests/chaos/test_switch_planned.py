"""A planned switch and back in one process: every record and every position accounted for, nothing read twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.kit.ends import Ends
from tests.kit.switches import (
    QUICK_SWITCH,
    commit_at,
    do_switch,
    log_numbers,
    numbers_of,
    pair_of_ends,
    produce,
    service_running,
)
from tests.kit.waiting import wait_until

SETTINGS = QUICK_SWITCH

pytestmark = pytest.mark.chaos


@pytest.mark.proves("R1", "R2", "R5")
def test_a_planned_switch_and_back_loses_nothing_and_reads_nothing_twice(
    make_ends: Callable[..., Ends], tmp_path: Path
) -> None:
    ends = make_ends(**SETTINGS)
    here, there = ends.source_cluster.bootstrap_servers, ends.target_cluster.bootstrap_servers
    topic = ends.create("orders")
    group = f"g{ends.alias}"
    produce(here, topic, range(100))
    commit_at(here, group, topic, 60)
    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        report = do_switch(ends, tmp_path, "failover-planned")
        assert report.outcome == "done"
        assert report.active == "T"
        assert set(produce(here, topic, range(1))) == {"MSG_SIZE_TOO_LARGE"}
        assert numbers_of(there, group, topic) == list(range(60, 100))
        assert produce(there, topic, range(100, 120)) == []
        wait_until(lambda: engine.engine.phase, lambda phase: phase == "switched", within_s=10, what="a held link")
        assert engine.engine.trouble is not None
        assert "T is the active side" in engine.engine.trouble
        # Who looks from outside is told how it ended, not how it stood when the link stopped.
        told = ends.status().engine
        assert told is not None
        assert "T is the active side" in (told.trouble or "")

        back = do_switch(ends, tmp_path, "failback-delta")
        assert back.active == ends.alias
        assert back.tail["records"] == 0
        assert log_numbers(here, topic) == list(range(120))
        assert numbers_of(here, group, topic) == list(range(100, 120))
        assert produce(here, topic, range(120, 130)) == []
        wait_until(
            lambda: log_numbers(there, topic), lambda seen: seen == list(range(130)), within_s=30, what="a copying link"
        )
    assert pair_of_ends(ends).back_enabled is False
