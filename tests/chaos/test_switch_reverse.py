"""A planned failover that copies back at once, and the way home from there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.kit.groups import position
from tests.kit.switches import (
    QUICK_SWITCH,
    BothWays,
    both_running,
    commit_at,
    do_switch,
    log_numbers,
    numbers_of,
    produce,
)
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster

SETTINGS = {
    **QUICK_SWITCH,
    "switch_reverse": "start",
}

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]


@pytest.mark.proves("R1", "R2", "R5", "R7")
def test_the_way_back_begins_at_the_cut_and_a_stray_on_the_old_primary_is_not_lost(
    source_cluster: LocalCluster, target_cluster: LocalCluster, tmp_path: Path
) -> None:
    ends = BothWays(source_cluster, target_cluster, **SETTINGS)
    here, there = source_cluster.bootstrap_servers, target_cluster.bootstrap_servers
    topic, group = ends.create("orders"), f"g{ends.alias}"
    produce(here, topic, range(100))
    commit_at(here, group, topic, 60)
    with both_running(ends, tmp_path):
        over = do_switch(ends, tmp_path, "failover-planned")
        assert over.steps[-1]["step"] == "reverse"
        assert numbers_of(there, group, topic) == list(range(60, 100))
        assert produce(there, topic, range(100, 120)) == []
        assert numbers_of(there, group, topic) == list(range(100, 120))
        wait_until(
            lambda: log_numbers(here, topic), lambda log: log == list(range(120)), within_s=60, what="the way back"
        )
        assert log_numbers(there, topic) == list(range(120))
        wait_until(
            lambda: position(ends.source_logs, group, topic),
            lambda at: at == 120,
            within_s=30,
            what="its return",
        )
        # A topic config cannot keep a stray out while the way back writes: it is found as a tail.
        assert produce(here, topic, range(500, 501)) == []

        back = do_switch(ends, tmp_path, "failback-delta")
        assert back.active == ends.alias
        assert back.tail["records"] == 1
        assert log_numbers(here, topic) == log_numbers(there, topic) == [*range(120), 500]
        assert numbers_of(here, group, topic) == [500]
        assert produce(here, topic, range(120, 130)) == []
        assert produce(there, topic, range(130, 140)) == []
        everything = [*range(140), 500]
        wait_until(
            lambda: [sorted(log_numbers(side, topic)) for side in (here, there)],
            lambda logs: logs == [everything, everything],
            within_s=60,
            what="both links copying",
        )
