"""Brokers that are away, owners that change, a ledger full of noise: nobody has to help (R9, R10)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from tests.kit.ends import Ends, numbers
from tests.kit.logs import read_logs
from tests.kit.threads import ThreadedEngine, ThreadedQuery, engine_running
from tests.kit.waiting import wait_until

from twinlog.kafka.admin import TopicOrder
from twinlog.local.cluster import LocalCluster
from twinlog.model.ledger.records import ledger_topic

MakeEnds = Callable[..., Ends]
MakeCluster = Callable[..., LocalCluster]


@pytest.mark.proves("R1", "R2", "R3", "R9")
@pytest.mark.parametrize("victim", ["source", "target"])
def test_a_killed_broker_is_waited_for_and_is_no_fault(
    make_cluster: MakeCluster,
    source_cluster: LocalCluster,
    target_cluster: LocalCluster,
    tmp_path: Path,
    victim: str,
) -> None:
    own = make_cluster("fragile")
    ends = Ends(own, target_cluster) if victim == "source" else Ends(source_cluster, own)
    name = ends.create("orders", 4)
    load = ends.load(name, 4, linger_ms=0)
    with engine_running(ends.link, tmp_path):
        with load.in_background(rate=400):
            await_copies(ends, 500)
            own.kill()
            own.start()
            ends.await_copied(within_s=60)
        status = ends.await_copied(within_s=60)
        assert not status.faults
    assert ends.check(name).source_records == load.count


@pytest.mark.proves("R2", "R10")
def test_a_second_engine_takes_over_and_the_first_ends_by_itself(make_ends: MakeEnds, tmp_path: Path) -> None:
    ends = make_ends()
    name = ends.create("orders", 4)
    load = ends.load(name, 4, linger_ms=0)
    with engine_running(ends.link, tmp_path / "one") as one:
        with load.in_background(rate=400):
            await_copies(ends, 500)
            other = ThreadedEngine(ends.link, tmp_path / "other")
            one.await_end()
            assert one.engine.phase == "superseded"
        ends.await_copied(name)
        other.stop()
    assert ends.check(name).source_records == load.count


@pytest.mark.proves("R9", "R10", "R14")
def test_an_engine_of_a_service_says_who_took_its_link_and_continues_when_that_one_ends(
    make_ends: MakeEnds, tmp_path: Path
) -> None:
    ends = make_ends()
    name = ends.create("orders", 4)
    load = ends.load(name, 4, linger_ms=0)
    service = ThreadedEngine(ends.link, tmp_path / "one", stands_by=True)
    try:
        service.await_running()
        with load.in_background(rate=400):
            await_copies(ends, 500)
            other = ThreadedEngine(ends.link, tmp_path / "other")
            wait_until(lambda: service.engine.phase, lambda phase: phase == "superseded", within_s=20, what="its word")
            told = wait_until(lambda: service.engine.trouble or "", bool, within_s=5, what="why")
            assert f"(pid {os.getpid()}) has run this link since" in told
            assert f"`twinlog link restart '{ends.link.name}'`" in told
            other.await_running()
            await_copies(ends, 200)
            other.stop()
            service.await_running()
            await_copies(ends, 200)
        ends.await_copied(name)
        assert service.engine.trouble is None
    finally:
        service.stop()
    assert ends.check(name).source_records == load.count


def await_copies(ends: Ends, more: int) -> None:
    """Wait for so many more records to be copied."""
    before = sum(part.records for part in ends.status().partitions)
    ends.await_status(lambda s: sum(part.records for part in s.partitions) >= before + more, f"{more} more copies")


def run_twice(engine: ThreadedEngine) -> None:
    """Do what Spark does when it speculates or loses sight of an executor: run the same plan beside itself."""
    failed = engine.engine.epochs_failed
    twin = ThreadedQuery(engine.queries[-1].run)
    wait_until(
        lambda: (twin.isActive, engine.engine.epochs_failed),
        lambda seen: not seen[0] or seen[1] > failed,
        within_s=30,
        what="one of the two to be shut out",
    )
    twin.give_up()


@pytest.mark.proves("R1", "R2", "R3", "R10")
def test_attempts_of_the_same_tasks_side_by_side_write_every_record_once(make_ends: MakeEnds, tmp_path: Path) -> None:
    ends = make_ends(tasks_max="2")
    name = ends.create("orders", 4)
    load = ends.load(name, 4, linger_ms=0)
    with engine_running(ends.link, tmp_path) as engine:
        with load.in_background(rate=400):
            for _ in range(3):
                await_copies(ends, 500)
                run_twice(engine)
            await_copies(ends, 500)
        ends.await_copied(name)
    assert ends.check(name).source_records == load.count


@pytest.mark.proves("R7")
def test_a_target_topic_made_anew_by_somebody_gets_no_record_of_the_old_one(
    make_ends: MakeEnds, tmp_path: Path
) -> None:
    ends = make_ends()
    name = ends.create("orders")
    load = ends.load(name)
    load.produce(100)
    with engine_running(ends.link, tmp_path):
        ends.await_copied(name)
        ends.delete(ends.target, ends.remote(name))
        assert ends.target.create_topics([TopicOrder(ends.remote(name), 1, -1, {})]) == {ends.remote(name): None}
        load.produce(100)
        ends.await_fault("TARGET_TOPIC_MISSING", name)
    assert numbers(read_logs(ends.target_logs, ends.remote(name), "read_uncommitted")[0]) == []


@pytest.mark.proves("R9")
def test_noise_in_the_ledger_is_ignored(make_ends: MakeEnds, tmp_path: Path) -> None:
    ends = make_ends()
    name = ends.create("orders", 4)
    load = ends.load(name, 4)
    load.produce(400)
    with engine_running(ends.link, tmp_path):
        ends.await_copied(name)
    noise = Producer({"bootstrap.servers": ends.target_cluster.bootstrap_servers})
    for partition in range(5):
        for key, value in (
            (b"state/x", b"{"),
            (b"\xff\xfe", b"?"),
            (None, b"?"),
            (b"engine", b"[]"),
            (b"gap/a/b/c", None),
        ):
            noise.produce(ledger_topic(ends.alias), key=key, value=value, partition=partition)
    assert noise.flush(30) == 0
    load.produce(400)
    with engine_running(ends.link, tmp_path) as engine:
        ends.await_copied(name)
        wait_until(lambda: engine.engine.phase, lambda phase: phase == "running", within_s=60, what="a running engine")
    assert ends.check(name).target_records == 800
