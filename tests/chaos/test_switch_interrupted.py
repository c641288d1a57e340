"""SIGKILL ends the process of a switch at every point of every plan; another process goes on to the same end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.kit.doomed_switch import KilledSwitch
from tests.kit.ends import Ends
from tests.kit.switches import QUICK_SWITCH, commit_at, do_switch, log_numbers, numbers_of, produce, service_running
from tests.kit.waiting import wait_until

from twinlog.errors import ClusterError
from twinlog.local.cluster import LocalCluster
from twinlog.model.switch.events import Acted, Began, SwitchEvent
from twinlog.model.switch.log import Command

SETTINGS = QUICK_SWITCH

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]


@pytest.mark.proves("R1", "R2", "R5", "R9")
@pytest.mark.parametrize(
    ("over", "back"), [("failover-planned", "failback-delta"), ("failover-unplanned", "failback-full")]
)
def test_a_switch_comes_to_the_same_end_wherever_its_process_is_killed(
    make_ends: Callable[..., Ends], tmp_path: Path, over: Command, back: Command
) -> None:
    ends = make_ends(**SETTINGS)
    here, there = ends.source_cluster.bootstrap_servers, ends.target_cluster.bootstrap_servers
    topic = ends.create("orders", 2)
    group = f"g{ends.alias}"
    for partition in range(2):
        produce(here, topic, range(100), partition=partition)
        commit_at(here, group, topic, 60, partition)
    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        ends.await_copied(topic)
        wait_until(lambda: told_groups(ends), lambda count: count >= 1, within_s=30, what="positions of the group")
        assert_killed_everywhere(KilledSwitch(ends, tmp_path, over), "T")
        assert sorted(numbers_of(there, group, topic)) == sorted([*range(60, 100), *range(60, 100)])
        for partition in range(2):
            assert produce(there, topic, range(100, 120), partition=partition) == []
        assert_killed_everywhere(KilledSwitch(ends, tmp_path, back), ends.alias)
        for partition in range(2):
            assert log_numbers(here, topic, partition) == list(range(120))
        assert sorted(numbers_of(here, group, topic)) == sorted([*range(100, 120), *range(100, 120)])
        for partition in range(2):
            assert produce(here, topic, range(120, 130), partition=partition) == []
        wait_until(
            lambda: [log_numbers(there, topic, partition) for partition in range(2)],
            lambda seen: seen == [list(range(130))] * 2,
            within_s=60,
            what="a copying link",
        )


@pytest.mark.proves("R7", "R10")
def test_a_source_that_comes_back_during_the_switch_is_shut_before_the_other_side_opens(
    make_cluster: Callable[..., LocalCluster], target_cluster: LocalCluster, tmp_path: Path
) -> None:
    source = make_cluster("primary")
    ends = Ends(source, target_cluster, **SETTINGS)
    topic = ends.create("orders")
    produce(source.bootstrap_servers, topic, range(100))
    # No engine is left to guard it: the switch itself must see the return.
    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        ends.await_copied(topic)
    source.kill()
    seen: list[str | None] = []

    def on_event(event: SwitchEvent) -> None:
        if isinstance(event, Began) and event.step == "release":
            source.start()
            produce(source.bootstrap_servers, topic, range(100, 103))  # half dead: somebody still writes there
        if isinstance(event, Acted) and event.step == "release":
            seen.append(size_limit(ends, topic))

    report = do_switch(ends, tmp_path, "failover-unplanned", on_event)
    assert seen == ["0"]
    assert set(produce(source.bootstrap_servers, topic, range(1))) == {"MSG_SIZE_TOO_LARGE"}
    assert any("came back during the switch" in step["says"] for step in report.steps)
    back = do_switch(ends, tmp_path, "failback-delta")
    assert back.tail["records"] == 3
    assert log_numbers(source.bootstrap_servers, topic) == list(range(103))


def assert_killed_everywhere(switch: KilledSwitch, active: str) -> None:
    """Play a switch; a process must have died before, in and after each step."""
    report = switch.play()
    died_at = set(switch.died_at())
    assert {f"{step} {event}" for step in report["steps"] for event in ("Began", "Acted", "Ended")} <= died_at
    assert report["active"] == active


def size_limit(ends: Ends, topic: str) -> str | None:
    """What the source takes."""
    configs = ends.source.fetch_topic_configs([topic])[topic]
    assert not isinstance(configs, ClusterError)
    return next(config.value for config in configs if config.name == "max.message.bytes")


def told_groups(ends: Ends) -> int:
    """How many groups the link translates by now."""
    note = next((chore for chore in ends.status().chores if chore.chore == "groups"), None)
    return note.counts.get("groups", 0) if note else 0
