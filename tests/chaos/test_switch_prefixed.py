"""Switches with prefixed copies (`A.orders`): producers go on under the original name, and the way back carries it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.kit.ends import Ends
from tests.kit.groups import position
from tests.kit.switches import BothWays, both_running, commit_at, do_switch, log_numbers, numbers_of, produce
from tests.kit.waiting import wait_until

from twinlog.errors import ClusterError
from twinlog.local.cluster import LocalCluster
from twinlog.model.switch.events import Acted, SwitchEvent

SETTINGS = {
    "emit_checkpoints_interval_seconds": "1",
    "sync_group_offsets_interval_seconds": "1",
    "refresh_groups_interval_seconds": "1",
    "switch_grace_seconds": "0",
}

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]


def size_limit(ends: Ends, topic: str) -> str | None:
    """What the source takes."""
    configs = ends.source.fetch_topic_configs([topic])[topic]
    assert not isinstance(configs, ClusterError)
    return next(config.value for config in configs if config.name == "max.message.bytes")


@pytest.mark.proves("R1", "R2", "R5")
def test_what_was_written_under_the_original_name_comes_home_and_the_old_primary_stays_shut_meanwhile(
    source_cluster: LocalCluster, target_cluster: LocalCluster, tmp_path: Path
) -> None:
    ends = BothWays(source_cluster, target_cluster, **SETTINGS)
    here, there = source_cluster.bootstrap_servers, target_cluster.bootstrap_servers
    topic, group = ends.create("orders"), f"g{ends.alias}"
    copy, returned = ends.remote(topic), ends.returned(topic)
    produce(here, topic, range(100))
    commit_at(here, group, topic, 60)
    limits: list[str | None] = []

    def on_event(event: SwitchEvent) -> None:
        if isinstance(event, Acted) and event.step in {"reverse", "admit", "copy-back", "drain-back"}:
            limits.append(size_limit(ends, topic))

    with both_running(ends, tmp_path):
        over = do_switch(ends, tmp_path, "failover-planned", on_event)
        assert over.active == "T"
        assert numbers_of(there, group, copy) == list(range(60, 100))
        ends.create_there(topic)
        assert produce(there, topic, range(100, 120)) == []
        assert numbers_of(there, group, topic) == list(range(100, 120))

        back = do_switch(ends, tmp_path, "failback-delta", on_event)
        assert back.active == ends.alias
        assert back.tail["records"] == 0
        assert limits == ["0", "0", "0", "0"]
        assert [log_numbers(here, one) for one in (topic, returned)] == [list(range(100)), list(range(100, 120))]
        # It has read everything, under both names.
        assert position(ends.source_logs, group, topic) == 100
        assert position(ends.source_logs, group, returned) == 20
        assert produce(here, topic, range(120, 130)) == []
        assert produce(there, topic, range(130, 140)) == []
        wait_until(
            lambda: (log_numbers(there, copy), log_numbers(here, returned)),
            lambda seen: seen == ([*range(100), *range(120, 130)], [*range(100, 120), *range(130, 140)]),
            within_s=60,
            what="both links copying",
        )


@pytest.mark.proves("R1", "R2", "R7")
def test_a_tail_is_appended_to_the_copy_and_records_that_have_no_way_home_are_named(
    source_cluster: LocalCluster, target_cluster: LocalCluster, tmp_path: Path
) -> None:
    ends = BothWays(source_cluster, target_cluster, **SETTINGS)
    here, there = source_cluster.bootstrap_servers, target_cluster.bootstrap_servers
    topic = ends.create("orders")
    copy, returned = ends.remote(topic), ends.returned(topic)
    produce(here, topic, range(100))
    with both_running(ends, tmp_path):
        ends.await_copied(topic)
    produce(here, topic, range(100, 103))  # no engine runs: nobody copies these
    over = do_switch(ends, tmp_path, "failover-unplanned")
    assert over.lost["lost"] == {f"{topic}-0": [100, 103]}
    ends.create_there(topic)
    assert produce(there, topic, range(103, 110)) == []
    assert produce(there, copy, range(200, 202)) == []

    back = do_switch(ends, tmp_path, "failback-delta")
    assert back.tail["records"] == 3
    assert log_numbers(here, topic) == list(range(103))
    assert log_numbers(here, returned) == list(range(103, 110))
    assert log_numbers(there, copy) == [*range(100), 200, 201, 100, 101, 102]
    (named,) = [finding for step in back.steps for finding in step["findings"] if copy in finding]
    assert named.startswith(f"{copy}-0: others than {ends.link.name} wrote 2 records there")
