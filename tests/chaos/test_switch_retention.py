"""Retention between two switches: no gap of records that came from the other side, and what it took is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.kit.ends import Ends
from tests.kit.switches import IDENTITY, do_switch, log_numbers, produce, service_running
from tests.kit.waiting import wait_until

from twinlog.model.switch.events import Acted, SwitchEvent
from twinlog.recovery.report import Report

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(400)]
SETTINGS = {"replication_policy_class": IDENTITY, "switch_grace_seconds": "0", "switch_timeout_seconds": "40"}


def findings(report: Report) -> list[str]:
    """Everything that a report says of single partitions."""
    return [finding for step in report.steps for finding in step["findings"]]


def await_log(bootstrap: str, topic: str, wanted: list[int]) -> None:
    wait_until(lambda: log_numbers(bootstrap, topic), lambda log: log == wanted, within_s=60, what="a copying link")


@pytest.mark.proves("R1", "R7", "R9")
def test_a_second_cycle_after_retention_took_everything_finds_no_gap(
    make_ends: Callable[..., Ends], tmp_path: Path
) -> None:
    ends = make_ends(**SETTINGS)
    here, there = ends.source_cluster.bootstrap_servers, ends.target_cluster.bootstrap_servers
    topic = ends.create("orders")
    produce(here, topic, range(100))
    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        do_switch(ends, tmp_path, "failover-planned")
        assert produce(there, topic, range(100, 110)) == []
        do_switch(ends, tmp_path, "failback-delta")
        assert produce(here, topic, range(110, 120)) == []
        await_log(there, topic, list(range(120)))
        ends.delete_records(topic, 0, -1, on_target=True)  # months go by

        do_switch(ends, tmp_path, "failover-planned")
        assert produce(there, topic, range(120, 130)) == []
        back = do_switch(ends, tmp_path, "failback-delta")
        assert back.outcome == "done"
        assert log_numbers(here, topic) == list(range(130))
        assert produce(here, topic, range(130, 140)) == []
        await_log(there, topic, list(range(120, 140)))
        assert not ends.status().faults


@pytest.mark.proves("R1", "R7", "R9")
def test_what_came_from_the_other_side_may_expire_on_the_old_side(
    make_ends: Callable[..., Ends], tmp_path: Path
) -> None:
    ends = make_ends(**SETTINGS)
    here, there = ends.source_cluster.bootstrap_servers, ends.target_cluster.bootstrap_servers
    topic = ends.create("orders")
    produce(here, topic, range(100))

    def on_event(event: SwitchEvent) -> None:
        if isinstance(event, Acted) and event.step == "stop-back":
            ends.delete_records(topic, 0, -1)

    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        do_switch(ends, tmp_path, "failover-planned")
        assert produce(there, topic, range(100, 150)) == []
        assert do_switch(ends, tmp_path, "failback-delta", on_event).outcome == "done"
        assert produce(here, topic, range(150, 160)) == []
        await_log(there, topic, list(range(160)))
        assert not ends.status().faults


@pytest.mark.proves("R7", "R9")
def test_a_tail_that_expired_is_named_and_stops_nothing(make_ends: Callable[..., Ends], tmp_path: Path) -> None:
    ends = make_ends(**SETTINGS)
    here, there = ends.source_cluster.bootstrap_servers, ends.target_cluster.bootstrap_servers
    topic = ends.create("orders")
    produce(here, topic, range(100))
    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        ends.await_copied(topic)
    produce(here, topic, range(100, 105))  # no engine runs: nobody copies these
    do_switch(ends, tmp_path, "failover-unplanned")
    assert produce(there, topic, range(105, 110)) == []
    ends.delete_records(topic, 0, 103)

    back = do_switch(ends, tmp_path, "failback-delta")
    assert back.tail["records"] == 2
    assert any("100..102" in finding and "deleted by retention" in finding for finding in findings(back))
    assert log_numbers(there, topic) == [*range(100), *range(105, 110), 103, 104]
    assert produce(here, topic, range(110, 115)) == []
    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        await_log(there, topic, [*range(100), *range(105, 110), 103, 104, *range(110, 115)])
        status = ends.status()
        assert not status.faults
        assert status.partitions[0].skipped == 3
