"""Clocks of other hosts: a record stamped in the future is no sign of life."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.ends import Ends
from tests.switches import IDENTITY, as_if_killed, do_switch, produce, service_running

from twinlog.errors import SwitchRefused

HOUR_MS = 3_600_000


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
