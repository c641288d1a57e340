"""A part of the ledger without a leader: its partitions stop, with the cause named, and no other does."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import count
from operator import le
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from tests.kit.ends import Ends
from tests.kit.threads import engine_running
from tests.kit.waiting import wait_until

from twinlog.errors import ClusterError
from twinlog.local.cluster import LocalCluster
from twinlog.model.ledger.records import ledger_topic, shard_of
from twinlog.model.names import TopicPartition
from twinlog.model.routes.provenance import WRITERS_TOPIC

MakeCluster = Callable[..., LocalCluster]


@pytest.mark.chaos
@pytest.mark.proves("R8", "R9", "R11", "R14")
def test_a_part_of_the_ledger_without_a_leader_stops_its_partitions_only(
    make_cluster: MakeCluster, source_cluster: LocalCluster, tmp_path: Path
) -> None:
    target = make_cluster("noted", brokers=2)
    ends = Ends(source_cluster, target, ledger_shards="2", epoch_seconds="600")
    admin = AdminClient({"bootstrap.servers": target.bootstrap_servers})

    def copied(name: str) -> int:
        (end,) = ends.target.fetch_end_offsets([TopicPartition(ends.remote(name), 0)]).values()
        assert not isinstance(end, ClusterError)
        return int(end)

    def place(name: str, *brokers: list[int]) -> None:
        admin.create_topics([NewTopic(name, len(brokers), replica_assignment=list(brokers))])[name].result(30)

    numbers = count()
    fine, stuck, idle = (
        ends.create(next(f"t{n}" for n in numbers if shard_of(TopicPartition(ends.name(f"t{n}"), 0), 2) == shard))
        for shard in (0, 1, 1)
    )
    place(WRITERS_TOPIC, [1])
    place(ledger_topic(ends.alias), [1], [1], [2])
    for name in (fine, stuck, idle):
        place(ends.remote(name), [1])
    loads = {name: ends.load(name) for name in (fine, stuck)}
    ends.load(idle).produce(10)
    (broker,) = [broker for broker in target.brokers if broker.node_id == 2]
    with engine_running(ends.link, tmp_path) as engine:
        for load in loads.values():
            load.produce(50)
        ends.await_copied()
        broker.kill()
        said = wait_until(
            lambda: engine.engine.trouble or "",
            lambda trouble: f"{ledger_topic(ends.alias)}: no leader for its partitions 2" in trouble,
            within_s=40,
            what="the cause",
        )
        assert "not copied meanwhile" in said
        ends_of_stuck: list[int] = []
        deadline = time.monotonic() + 90
        # The other topic moves on all the time; this one does not, from some moment on.
        while len(set(ends_of_stuck[-8:])) != 1 or len(ends_of_stuck) < 8:
            assert time.monotonic() < deadline, f"it is copied on, and nobody can note it: {ends_of_stuck}"
            for load in loads.values():
                load.produce(20)
            wait_until(partial(copied, fine), partial(le, loads[fine].count), within_s=30, what="the other topic")
            ends_of_stuck.append(copied(stuck))
        assert ends_of_stuck[-1] < loads[stuck].count
        broker.start(120)
        ends.await_copied(within_s=90)
        wait_until(lambda: engine.engine.trouble, lambda trouble: trouble is None, within_s=30, what="no trouble")
        # A partition without new records has nothing that would show that it is well.
        ends.await_status(lambda status: not status.faults, "no fault")
    ends.check()
