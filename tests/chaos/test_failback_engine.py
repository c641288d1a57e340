"""A failback copies with the engine of a service that runs, and says how long nobody could write."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.kit.switches import IDENTITY, BothWays, both_running, do_switch, log_numbers, produce, switching
from tests.kit.waiting import wait_until

from twinlog.config.settings import LinkSettings
from twinlog.local.cluster import LocalCluster
from twinlog.model.switch.log import Command
from twinlog.recovery.report import Report

pytestmark = pytest.mark.chaos


@asynccontextmanager
async def no_engine(link: LinkSettings) -> AsyncIterator[None]:
    raise AssertionError(f"a second engine is started for {link.name}")
    yield


@pytest.mark.proves("R1", "R2")
@pytest.mark.parametrize("command", ["failback-delta", "failback-full"])
def test_a_failback_uses_the_engine_of_the_service_and_reports_the_outage_of_writes(
    source_cluster: LocalCluster, target_cluster: LocalCluster, tmp_path: Path, command: Command
) -> None:
    ends = BothWays(source_cluster, target_cluster, replication_policy_class=IDENTITY, switch_grace_seconds="0")
    here, there = source_cluster.bootstrap_servers, target_cluster.bootstrap_servers
    topic = ends.create("orders")
    produce(here, topic, range(100))

    async def failback() -> Report:
        one = switching(ends, tmp_path)
        one.copier = no_engine
        _, plan = await one.plan(command)
        return await one.execute(plan)

    with both_running(ends, tmp_path):
        ends.await_copied(topic)
        over = do_switch(ends, tmp_path, "failover-planned")
        assert over.writes_stopped_ms is not None
        assert produce(there, topic, range(100, 150)) == []
        back = asyncio.run(failback())
        assert back.outcome == "done"
        assert log_numbers(here, topic) == list(range(150))
        assert back.writes_stopped_ms is not None
        assert back.rto_ms is not None
        assert 0 < back.writes_stopped_ms < back.rto_ms
        assert produce(here, topic, range(150, 160)) == []
        wait_until(lambda: log_numbers(there, topic), lambda log: log == list(range(160)), within_s=60, what="copies")
