"""Each side decides while the other one is away: when both are back, one decision holds, and one side takes writes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.kit.switches import IDENTITY, BothWays, _serving, both_running, do_switch, produce, switching
from tests.kit.waiting import wait_until

from twinlog.config.pair import resolve_pair
from twinlog.ledger.switch_log import SwitchTopic
from twinlog.local.cluster import LocalCluster
from twinlog.model.names import LinkName
from twinlog.model.switch.log import StateEntry, newest
from twinlog.recovery.report import Report
from twinlog.wire.connection import Cluster

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]

SETTINGS = {"replication_policy_class": IDENTITY, "switch_grace_seconds": "0", "switch_fence": "topic-config"}


def fail_over_the_other_way(ends: BothWays, folder: Path) -> Report:
    """From T to the first cluster, while T is away."""

    async def run() -> Report:
        one = switching(ends, folder)
        one.pair = resolve_pair(ends.properties.encode("latin-1"), "test.properties", f"T->{ends.alias}", {})
        _, plan = await one.plan("failover-unplanned")
        return await one.execute(plan)

    return asyncio.run(run())


def decided(ends: BothWays) -> list[StateEntry | None]:
    """What each cluster's own log says."""

    async def look() -> list[StateEntry | None]:
        found = []
        for settings in (ends.link.clients.source_admin, ends.link.clients.target_admin):
            cluster = Cluster(settings, "test")
            try:
                found.append((await SwitchTopic(cluster, LinkName(ends.alias, "T")).catch_up()).state)
            finally:
                await cluster.close()
        return found

    return asyncio.run(look())


@pytest.mark.proves("R10")
def test_two_failovers_that_did_not_hear_of_each_other_leave_one_side_active(
    make_cluster: Callable[..., LocalCluster], tmp_path: Path
) -> None:
    first, second = make_cluster("first"), make_cluster("second")
    ends = BothWays(first, second, **SETTINGS)
    here, there = first.bootstrap_servers, second.bootstrap_servers
    topic = ends.create("orders")
    produce(here, topic, range(100))
    with both_running(ends, tmp_path / "before"):
        ends.await_copied(topic)
    first.kill()
    assert do_switch(ends, tmp_path / "one", "failover-unplanned").outcome == "done"
    second.kill()
    first.start()
    assert fail_over_the_other_way(ends, tmp_path / "two").outcome == "done"
    second.start()
    states = decided(ends)
    generations = [state.generation for state in states if state is not None]
    assert len(set(generations)) == 2, "both decisions have the same number"
    holds = newest(*states)
    assert holds is not None
    with _serving(ends.links[0], tmp_path / "there"), _serving(ends.links[1], tmp_path / "back"):

        def refused() -> list[bool]:
            return [bool(produce(servers, topic, range(1))) for servers in (here, there)]

        found = wait_until(refused, lambda seen: seen.count(True) == 1, within_s=60, what="one side that is shut")
        active = here if holds.active == ends.alias else there
        assert found == [here != active, there != active]
