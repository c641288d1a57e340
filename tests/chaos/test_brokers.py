"""Clusters of three brokers on both sides that lose one, roll, freeze and vanish under load."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.kit.ends import Ends
from tests.kit.engine import twinlog_run
from tests.kit.load import Load
from tests.kit.waiting import wait_until

from twinlog.local.broker import Broker
from twinlog.local.cluster import LocalCluster

PATIENCE_S = 150.0
pytestmark = [pytest.mark.chaos, pytest.mark.timeout(1_200)]

Play = Callable[[LocalCluster, random.Random], None]


@pytest.fixture(scope="module")
def trios(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LocalCluster, LocalCluster]]:
    folder = tmp_path_factory.mktemp("trios")
    clusters = tuple(LocalCluster(name, folder / name, brokers=3) for name in ("source", "target"))
    with ExitStack() as stack:
        for cluster in clusters:
            stack.callback(cluster.stop)
            cluster.launch()
        for cluster in clusters:
            cluster.await_ready(120)
        yield clusters[0], clusters[1]


def kill_one(cluster: LocalCluster, dice: random.Random) -> None:
    broker = dice.choice(cluster.brokers)
    broker.kill()
    broker.start(120)


def roll(cluster: LocalCluster, _: random.Random) -> None:
    for broker in cluster.brokers:
        broker.restart(120)


def freeze_one(cluster: LocalCluster, dice: random.Random) -> None:
    broker = dice.choice(cluster.brokers)
    broker.freeze()
    wait_until_shut_out(cluster, broker)
    broker.thaw()


def wait_until_shut_out(cluster: LocalCluster, frozen: Broker) -> None:
    """The others notice that one is silent: a fact in their log."""
    others = [broker for broker in cluster.brokers if broker is not frozen]
    fenced = f"Fencing broker {frozen.node_id}"
    seen = {broker: broker.log.read_text(errors="replace").count(fenced) for broker in others}
    wait_until(
        lambda: {broker: broker.log.read_text(errors="replace").count(fenced) for broker in others},
        lambda now: any(now[broker] > seen[broker] for broker in others),
        within_s=60,
        what=f"broker {frozen.node_id} shut out",
    )


@pytest.mark.proves("R1", "R2", "R3", "R9")
@pytest.mark.parametrize("play", [kill_one, roll, freeze_one], ids=["kill", "roll", "freeze"])
def test_brokers_in_trouble_on_both_sides_cost_no_record_and_no_fault(
    trios: tuple[LocalCluster, LocalCluster], tmp_path: Path, play: Play
) -> None:
    dice = random.Random(11)
    source, target = trios
    ends = Ends(source, target, tasks_max="2", replication_factor="3")
    name = ends.create("orders", 6)
    load = ends.load(name, 6)
    with twinlog_run(ends, tmp_path) as engine:
        with load.in_background(rate=1_000):
            await_copies(ends, 1_000)
            play(source, dice)
            await_copies(ends, 1_000)
            play(target, dice)
            await_copies(ends, 1_000)
        status = ends.await_copied(within_s=PATIENCE_S)
        assert not status.faults
        assert engine.exit_code is None
    assert ends.check(name).source_records == load.count


@pytest.mark.proves("R1", "R2", "R9", "R11")
def test_a_target_that_is_away_for_half_a_minute_is_waited_for_with_bounded_memory(
    trios: tuple[LocalCluster, LocalCluster], tmp_path: Path
) -> None:
    source, target = trios
    ends = Ends(source, target, tasks_max="2", replication_factor="3", max_bytes_in_flight="4194304")
    name = ends.create("orders", 6)
    load = ends.load(name, 6, max_record_bytes=4_000)
    with twinlog_run(ends, tmp_path) as engine:
        load.produce(2_000)
        ends.await_copied(within_s=PATIENCE_S)
        before = engine.resident_bytes()
        for broker in target.brokers:
            broker.kill()
        produce_for(load, seconds=30)
        during = engine.resident_bytes()
        target.start(120)
        ends.await_copied(within_s=PATIENCE_S)
    assert during - before < 150_000_000, f"{before} -> {during} bytes"
    assert ends.check(name).source_records == load.count


def test_clusters_that_are_gone_do_not_hold_the_process(
    make_cluster: Callable[..., LocalCluster], tmp_path: Path
) -> None:
    clusters = make_cluster("one"), make_cluster("other")
    ends = Ends(*clusters)
    name = ends.create("orders")
    ends.load(name).produce(100)
    with twinlog_run(ends, tmp_path) as engine:
        ends.await_copied(within_s=PATIENCE_S)
        for cluster in clusters:
            cluster.kill()
        # A question to a cluster that is away takes librdkafka half a minute; it may not be waited for.
        assert engine.stop(within_s=25) == 0


def produce_for(load: Load, seconds: float) -> None:
    """About 4 MB a second on the source while the target is away."""
    over = threading.Event()
    with load.in_background(rate=2_000):
        over.wait(seconds)


def await_copies(ends: Ends, more: int) -> None:
    """Wait for so many more records to be copied."""

    def copied() -> int:
        return sum(part.records for part in ends.status().partitions)

    before = copied()
    wait_until(copied, lambda now: now >= before + more, within_s=PATIENCE_S, what=f"{more} more copies")
