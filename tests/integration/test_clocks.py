"""Clocks of other hosts: a record stamped in the future is no sign of life."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.kit.ends import Ends
from tests.kit.switches import IDENTITY, as_if_killed, do_switch, log_numbers, produce, service_running
from tests.kit.threads import engine_running

from twinlog.errors import SwitchRefused
from twinlog.kafka.admin import TopicOrder
from twinlog.model.clock import SystemClock
from twinlog.model.ledger.records import ledger_topic

HOUR_MS = 3_600_000


@pytest.mark.chaos
@pytest.mark.proves("R14")
def test_a_dead_engine_whose_clock_was_an_hour_ahead_is_silent_and_drains_nothing(
    make_ends: Callable[..., Ends], tmp_path: Path
) -> None:
    ends = make_ends(replication_policy_class=IDENTITY)
    topic = ends.create("orders")
    produce(ends.source_cluster.bootstrap_servers, topic, range(10))
    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        ends.await_copied(topic)
    as_if_killed(ends, ahead_ms=HOUR_MS)
    assert ends.status().state == "STALLED"
    with pytest.raises(SwitchRefused, match="did not speak"):
        do_switch(ends, tmp_path, "failover-planned")


@pytest.mark.proves("R9")
@pytest.mark.parametrize("older", [False, True], ids=["new", "made-by-an-older-version"])
def test_a_target_whose_clock_is_two_hours_behind_takes_the_notes_of_the_engine(
    make_ends: Callable[..., Ends], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, older: bool
) -> None:
    """Brokers refuse records that are more than an hour ahead of their clock."""
    monkeypatch.setattr(SystemClock, "now_ms", lambda _: int(time.time() * 1000) + 2 * HOUR_MS)
    ends = make_ends()
    topic = ends.create("orders")
    produce(ends.source_cluster.bootstrap_servers, topic, range(10))
    if older:
        ledger = ledger_topic(ends.alias)
        assert ends.target.create_topics([TopicOrder(ledger, 5, 1, {"cleanup.policy": "compact"})]) == {ledger: None}
    with engine_running(ends.link, tmp_path):
        ends.await_copied(topic)
    assert log_numbers(ends.target_cluster.bootstrap_servers, ends.remote(topic)) == list(range(10))
