"""A copy that takes no writes costs nothing but itself: it is named, the others continue, it continues by itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from tests.kit.ends import Ends
from tests.kit.records import Shape
from tests.kit.threads import ThreadedEngine, engine_running

from twinlog.local.cluster import LocalCluster

MakeCluster = Callable[..., LocalCluster]

PLACES = {"no leader": [[2]], "too few replicas": [[1, 2]]}
CONFIGS: Mapping[str, Mapping[str, str]] = {"no leader": {}, "too few replicas": {"min.insync.replicas": "2"}}
CAUSES = {"no leader": "it has no leader", "too few replicas": "min.insync.replicas is 2"}
LONG = [pytest.mark.chaos, pytest.mark.timeout(420)]  # the copy takes no writes for 150 s of them


@pytest.mark.proves("R8", "R9", "R14")
@pytest.mark.parametrize(
    ("case", "seconds"),
    [
        ("no leader", 10),
        pytest.param("no leader", 150, marks=LONG),
        pytest.param("too few replicas", 150, marks=LONG),
    ],
)
def test_a_copy_that_takes_no_writes_stops_no_other(
    make_cluster: MakeCluster, source_cluster: LocalCluster, tmp_path: Path, case: str, seconds: int
) -> None:
    # One task, one shard, room for little, and epochs that end while the copy is stuck.
    target = make_cluster("pair", brokers=2)
    ends = Ends(
        source_cluster,
        target,
        ledger_shards="1",
        replication_factor="2",
        epoch_seconds="8",
        max_bytes_in_flight=str(8 << 20),
    )
    fine, stuck = ends.create("fine"), ends.create("stuck")
    admin = AdminClient({"bootstrap.servers": target.bootstrap_servers})
    for name, places, configs in ((fine, [[1]], {}), (stuck, PLACES[case], CONFIGS[case])):
        order = NewTopic(ends.remote(name), 1, replica_assignment=places, config=dict(configs))
        admin.create_topics([order])[ends.remote(name)].result(30)
    trickle, flood = ends.load(fine), ends.load(stuck, shape=Shape.PLAIN, max_record_bytes=50_000)
    trickle.produce(10)
    flood.produce(10)
    (broker,) = [broker for broker in target.brokers if broker.node_id == 2]
    with engine_running(ends.link, tmp_path) as engine:
        ends.await_copied(fine, stuck)
        broker.kill()
        flood.produce(1_000)
        epochs = engine.epochs
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline or engine.epochs < epochs + 2:
            trickle.produce(10)
            ends.await_copied(fine, within_s=45)
        part = ends.await_fault("TARGET_UNWRITABLE", stuck)
        assert part.fault is not None
        assert CAUSES[case] in part.fault.says
        assert_no_task_failed(engine)
        broker.start(120)
        ends.await_status(lambda s: not s.faults, "the end of the fault")
        ends.await_copied(fine, stuck)
    ends.check(fine, stuck)


def assert_no_task_failed(engine: ThreadedEngine) -> None:
    """The query that the engine began with still runs."""
    assert [query.exception() for query in engine.queries] == [None]
