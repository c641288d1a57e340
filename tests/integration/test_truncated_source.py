"""A source that lost records after they were copied: named until an operator decides, whatever is written meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from tests.kit.ends import Ends, numbers
from tests.kit.logs import read_logs
from tests.kit.threads import engine_running

from twinlog.local.cluster import LocalCluster
from twinlog.service.actions import accept_truncation


@pytest.mark.proves("R1", "R7", "R14")
def test_a_truncated_source_stays_a_fault_when_its_new_history_is_longer(
    make_cluster: Callable[..., LocalCluster], target_cluster: LocalCluster, tmp_path: Path
) -> None:
    source = make_cluster("cut")
    ends = Ends(source, target_cluster, epoch_seconds="2")
    name, beside = ends.create("orders"), ends.create("beside")
    load = ends.load(name, batch_records=10, linger_ms=50)
    for _ in range(20):
        load.produce(10)
    ends.load(beside).produce(10)
    with engine_running(ends.link, tmp_path):
        ends.await_copied(name, beside)
    source.stop()
    cut_behind(source, name, 100)
    source.start()
    fresh = ends.load(name, seed=2)
    fresh.produce(150)  # the new history is longer than what was copied, before anybody looks
    with engine_running(ends.link, tmp_path) as engine:
        part = ends.await_fault("SOURCE_TRUNCATED", name)
        assert part.fault is not None
        assert (part.fault.facts["wanted"], part.fault.facts["latest"], part.source_next) == (200, 100, 200)
        epochs = engine.epochs
        ends.load(beside, seed=3).produce(10)
        ends.await_copied(beside)
        ends.await_status(lambda _: engine.epochs >= epochs + 2, "two more epochs")
        again = ends.await_fault("SOURCE_TRUNCATED", name)
        assert again.fault is not None
        assert (again.source_next, again.fault.since_ms) == (200, part.fault.since_ms)
        assert copied(ends, name) == list(range(200))
        (lost,) = asyncio.run(accept_truncation(ends.link, name))  # the way out that the fault names
        assert (lost.first, lost.next) == (100, 200)
        ends.await_status(lambda s: not s.faults, "the end of the fault")
        ends.await_copied(name)
    assert copied(ends, name) == [*range(200), *range(150)]


def copied(ends: Ends, name: str) -> list[int]:
    """The numbers of the records on the target."""
    return numbers(read_logs(ends.target_logs, ends.remote(name), "read_committed")[0])


def cut_behind(cluster: LocalCluster, topic: str, offset: int) -> None:
    """What an unclean election leaves: the log ends before records that were acknowledged."""
    (log,) = cluster.folder.glob(f"broker-*/data/{topic}-0/*.log")
    data, at = log.read_bytes(), 0
    while at < len(data) and int.from_bytes(data[at : at + 8], "big") < offset:
        at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
    assert 0 < at < len(data)
    log.write_bytes(data[:at])
    for kind in ("*.index", "*.timeindex", "*.txnindex", "*.snapshot"):
        for path in log.parent.glob(kind):
            path.unlink()


@pytest.mark.chaos
@pytest.mark.timeout(600)
@pytest.mark.proves("R1", "R7", "R14")
def test_an_unclean_election_on_the_source_is_named_while_the_link_runs(
    make_cluster: Callable[..., LocalCluster], target_cluster: LocalCluster, tmp_path: Path
) -> None:
    source = make_cluster("trio", brokers=3)
    ends = Ends(source, target_cluster)
    name = ends.name("orders")
    admin = AdminClient({"bootstrap.servers": source.bootstrap_servers})
    order = NewTopic(name, 1, replica_assignment=[[2, 3]], config={"unclean.leader.election.enable": "true"})
    admin.create_topics([order])[name].result(30)
    ends.await_topic(ends.source, name)
    leader, follower = ({broker.node_id: broker for broker in source.brokers}[node] for node in (2, 3))
    ends.load(name).produce(100)
    with engine_running(ends.link, tmp_path):
        ends.await_copied(name)
        follower.kill()
        ends.load(name, seed=2).produce(100)
        ends.await_copied(name)
        leader.kill()
        follower.start(120)  # it misses the second hundred, and is all there is
        ends.load(name, seed=3).produce(250)
        part = ends.await_fault("SOURCE_TRUNCATED", name, within_s=60)
        assert part.fault is not None
        assert (part.fault.facts["wanted"], part.fault.facts["latest"]) == (200, 100)
        (lost,) = asyncio.run(accept_truncation(ends.link, name))
        assert (lost.first, lost.next) == (100, 200)
        ends.await_status(lambda s: not s.faults, "the end of the fault")
        ends.await_copied(name)
    assert copied(ends, name) == [*range(100), *range(100), *range(250)]
