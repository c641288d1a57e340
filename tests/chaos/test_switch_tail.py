"""What an old primary has and nobody copied: found, exported, and kept or appended as the operator chose."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.kit.ends import Ends
from tests.kit.switches import IDENTITY, commit_at, do_switch, log_numbers, numbers_of, produce, service_running
from tests.kit.waiting import wait_until

from twinlog.model.switch.events import Acted, SwitchEvent

pytestmark = pytest.mark.chaos


@pytest.mark.proves("R1", "R2", "R7")
@pytest.mark.parametrize("policy", ["append", "keep"])
def test_a_tail_is_exported_and_kept_or_appended(make_ends: Callable[..., Ends], tmp_path: Path, policy: str) -> None:
    ends = make_ends(replication_policy_class=IDENTITY, switch_grace_seconds="0", switch_tail=policy)
    ends.set(switch_tail_topic=f"tail-{ends.alias}")
    here, there = ends.source_cluster.bootstrap_servers, ends.target_cluster.bootstrap_servers
    topic = ends.create("orders")
    produce(here, topic, range(100))
    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        ends.await_copied(topic)
    produce(here, topic, range(100, 103))  # no engine runs: nobody copies these
    over = do_switch(ends, tmp_path, "failover-unplanned")
    assert over.lost["lost"] == {f"{topic}-0": [100, 103]}
    assert produce(there, topic, range(103, 110)) == []

    back = do_switch(ends, tmp_path, "failback-delta")
    assert back.tail["records"] == 3
    lines = [json.loads(line) for line in Path(back.tail["file"]).read_text().splitlines()]
    assert [int(base64.b64decode(line["value"])) for line in lines] == [100, 101, 102]
    assert [line["offset"] for line in lines] == [100, 101, 102]
    assert log_numbers(there, f"tail-{ends.alias}") == [100, 101, 102]
    assert log_numbers(here, topic) == list(range(110))
    new = [*range(100), *range(103, 110)]
    assert log_numbers(there, topic) == (new if policy == "keep" else [*new, 100, 101, 102])
    wanted = log_numbers(there, topic) + list(range(110, 115))
    assert produce(here, topic, range(110, 115)) == []
    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        wait_until(lambda: log_numbers(there, topic), lambda log: log == wanted, within_s=60, what="a copying link")
        (part,) = ends.status().partitions
        assert part.skipped == (3 if policy == "keep" else 0)


@pytest.mark.proves("R1", "R5", "R7")
def test_a_stray_that_slips_in_while_a_failback_copies_is_named_read_and_carried(
    make_ends: Callable[..., Ends], tmp_path: Path
) -> None:
    ends = make_ends(replication_policy_class=IDENTITY, switch_grace_seconds="0", switch_fence="topic-config")
    here, there = ends.source_cluster.bootstrap_servers, ends.target_cluster.bootstrap_servers
    topic, group = ends.create("orders"), f"g{ends.alias}"
    produce(here, topic, range(100))

    def on_event(event: SwitchEvent) -> None:
        if isinstance(event, Acted) and event.step == "copy-back":
            # The step ends when little is left to copy; the stray is to lie behind it.
            wait_until(lambda: len(log_numbers(here, topic)), lambda n: n == 110, within_s=30, what="the copy")
            assert produce(here, topic, range(777, 778)) == []
            assert produce(there, topic, range(110, 113)) == []
            assert numbers_of(there, group, topic) == list(range(113))

    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        do_switch(ends, tmp_path, "failover-planned")
        assert produce(there, topic, range(100, 110)) == []
        back = do_switch(ends, tmp_path, "failback-delta", on_event)
        assert log_numbers(here, topic) == [*range(110), 777, 110, 111, 112]
        (named,) = [finding for step in back.steps for finding in step["findings"] if "others wrote" in finding]
        assert named.startswith(f"{topic}-0: others wrote 1 record to")
        # The group had read all that the other side has; it goes back to what it has not read.
        assert numbers_of(here, group, topic) == [777, 110, 111, 112]
        wait_until(
            lambda: log_numbers(there, topic), lambda log: log == [*range(113), 777], within_s=60, what="the stray"
        )


@pytest.mark.proves("R5")
def test_copies_with_prefixed_names_are_failed_over_to_as_well(make_ends: Callable[..., Ends], tmp_path: Path) -> None:
    ends = make_ends(emit_checkpoints_interval_seconds="1", sync_group_offsets_interval_seconds="1")
    here, there = ends.source_cluster.bootstrap_servers, ends.target_cluster.bootstrap_servers
    topic, group = ends.create("orders"), f"g{ends.alias}"
    produce(here, topic, range(100))
    commit_at(here, group, topic, 60)
    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        report = do_switch(ends, tmp_path, "failover-planned")
        assert report.active == "T"
        assert numbers_of(there, group, ends.remote(topic)) == list(range(60, 100))
