"""Twenty thousand positions that move for a long time: their topic stays small, and a failover finds all of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Place
from tests.kit.ends import Ends
from tests.kit.switches import IDENTITY, as_if_killed, do_switch, service_running
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster
from twinlog.model.mirrormaker.records import Checkpoint
from twinlog.sync.checkpoints import Checkpoints
from twinlog.sync.internal_topics import InternalLog
from twinlog.wire.connection import Cluster

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]

GROUPS, PARTITIONS, ROUNDS = 1_000, 20, 60
SMALL = 48 << 20
"""An uncompacted segment of 16 MB, one that is being cleaned, and what counts."""


@pytest.mark.proves("R5", "R9")
def test_positions_that_moved_for_long_are_all_found_at_a_failover(
    make_cluster: Callable[..., LocalCluster], tmp_path: Path
) -> None:
    source = make_cluster("here")
    target = make_cluster("there", settings={"log.cleaner.backoff.ms": "500"})
    ends = Ends(source, target, replication_policy_class=IDENTITY, switch_grace_seconds="0")
    topic = ends.create("orders", PARTITIONS)
    ends.load(topic, PARTITIONS).produce(ROUNDS * PARTITIONS * 3)
    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        ends.await_copied(topic)
        view = engine.engine.view
        assert view is not None
        incarnation = view.roster[topic].incarnation
        checkpoints = ends.link.naming.checkpoints_topic(ends.link.source)
        # The service makes the topic, with the configs that it always has.
        ends.await_topic(ends.target, checkpoints)
    as_if_killed(ends)
    written = asyncio.run(move(ends, checkpoints, topic, incarnation))
    folder = target.folder / "broker-1" / "data" / f"{checkpoints}-0"

    def kept() -> int:
        return sum(file.stat().st_size for file in folder.glob("*.log"))

    assert written > 2 * SMALL
    wait_until(kept, lambda size: size < SMALL, within_s=120, what=f"{written >> 20} MB of checkpoints to be compacted")

    began = time.monotonic()
    report = do_switch(ends, tmp_path, "failover-unplanned")
    took = time.monotonic() - began
    (known,) = [step for step in report.steps if step["step"] == "positions-known"]
    assert f"{GROUPS:,} groups with last synced positions ({GROUPS * PARTITIONS:,} partitions" in known["says"], known
    assert (report.outcome, report.active) == ("done", "T")
    print(f"checkpoints: {written >> 20} MB written, {kept() >> 20} MB kept; the failover took {took:.0f} s")
    consumer = Consumer({"bootstrap.servers": target.bootstrap_servers, "group.id": f"g{GROUPS - 1}"})
    places = consumer.committed([Place(topic, partition) for partition in range(PARTITIONS)], 30)
    consumer.close()
    assert [place.offset for place in places] == [ROUNDS] * PARTITIONS


async def move(ends: Ends, checkpoints: str, topic: str, incarnation: str) -> int:
    """Every group moves on by one record in every partition, as often as there are rounds; returns bytes written."""
    cluster = Cluster(ends.link.clients.target_producer, "test")
    told = Checkpoints(InternalLog(cluster, checkpoints))
    written = 0
    try:
        for at in range(1, ROUNDS + 1):
            fresh = [
                Checkpoint(f"g{group}", topic, partition, at, at, "")
                for group in range(GROUPS)
                for partition in range(PARTITIONS)
            ]
            await told.emit((one, incarnation) for one in fresh)
            written += sum(len(one.key()) + len(one.value()) + len(incarnation) + 30 for one in fresh)
    finally:
        await cluster.close()
    return written
