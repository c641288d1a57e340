"""What keeps records from moving is in status while it lasts: quotas, and a query that fails again and again."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path
from typing import Any

import pytest
from tests.kit.ends import Ends
from tests.kit.threads import ThreadedEngine, engine_running
from tests.kit.waiting import wait_until

from twinlog.flow.source import LinkRun
from twinlog.local.cluster import LocalCluster
from twinlog.model.health.states import LinkStatus
from twinlog.wire.connection import Cluster
from twinlog.wire.quotas import alter_quotas

_TRICKLE = 2_000.0


def _quota(settings: Any, clients: list[str], **limits: float | None) -> None:
    """A quota for some clients: others may use the same cluster."""

    async def alter() -> dict[Any, Any]:
        cluster = Cluster(settings, "test-quotas")
        try:
            return await alter_quotas(cluster, {(("client-id", client),): limits for client in clients})
        finally:
            await cluster.close()

    assert asyncio.run(alter()) == {}


def _said(status: LinkStatus) -> str:
    troubles = [chore.trouble or "" for chore in status.chores]
    return "; ".join(filter(None, [status.engine.trouble if status.engine else None, *troubles]))


@pytest.mark.proves("R14")
@pytest.mark.parametrize("side", [pytest.param("source", marks=pytest.mark.chaos), "target"])
def test_a_quota_that_holds_the_link_back_is_named(
    side: str, source_cluster: LocalCluster, target_cluster: LocalCluster, tmp_path: Path
) -> None:
    ends = Ends(source_cluster, target_cluster)
    name = ends.create("orders", 2)
    load = ends.load(name, 2)
    load.produce(100)
    settings = ends.link.clients.source_consumer if side == "source" else ends.link.clients.target_producer
    role = "reader" if side == "source" else "writer"
    clients = [f"twinlog|{ends.link.name}|{role}-{task}" for task in range(4)]
    rate = "consumer_byte_rate" if side == "source" else "producer_byte_rate"
    with engine_running(ends.link, tmp_path, with_chores=True):
        ends.await_copied(name)
        _quota(settings, clients, **{rate: _TRICKLE})
        try:
            load.produce(2_000)
            found = ends.await_status(lambda status: "throttles this link by a quota" in _said(status), "a quota", 30)
            assert found.state in {"DEGRADED", "CATCHING_UP"}
        finally:
            _quota(settings, clients, **{rate: None})
        ends.await_copied(name)
        ends.await_status(lambda status: "quota" not in _said(status), "no quota any more", 30)
    ends.check(name)


@pytest.mark.proves("R9", "R14")
def test_a_query_that_cannot_start_is_named_and_tried_again(
    source_cluster: LocalCluster, target_cluster: LocalCluster, tmp_path: Path
) -> None:
    ends = Ends(source_cluster, target_cluster)
    name = ends.create("orders", 2)
    ends.load(name, 2).produce(100)
    full = True

    class FullDisk(ThreadedEngine):
        def _start_query(self, run: LinkRun, folder: Path) -> Any:
            if full:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super()._start_query(run, folder)

    engine = FullDisk(ends.link, tmp_path)
    try:
        found = ends.await_status(lambda status: "No space left on device" in _said(status), "the full disk", 30)
        assert found.state == "STALLED"
        wait_until(lambda: engine.engine.epochs_failed, lambda failed: failed > 2, within_s=30, what="attempts")
        full = False
        ends.await_copied(name)
        ends.await_status(lambda status: status.state == "RUNNING", "a link that runs", 30)
    finally:
        engine.stop()
    ends.check(name)
