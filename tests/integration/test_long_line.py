"""A line of 80 ms to one of the clusters, which breaks while more is under way than a broker remembers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from bench.wan.line import LineKind, laid
from confluent_kafka import Producer
from tests.kit.ends import Ends
from tests.kit.logs import read_logs
from tests.kit.threads import engine_running
from tests.kit.waiting import wait_until

from twinlog.config.settings import ClientSettings
from twinlog.flow.outbox import Outbox
from twinlog.flow.streams import Streams
from twinlog.flow.window import FEW
from twinlog.kafka.admin import ClusterAdmin
from twinlog.kafka.client_options import client_options
from twinlog.local.blueprint import free_ports
from twinlog.local.cluster import LocalCluster
from twinlog.model.names import TopicPartition

MakeCluster = Callable[..., LocalCluster]
RECORDS = 24_000
LINE = LineKind(80, 0)


class FarCluster:
    """A cluster behind a line that can be cut: all connections break, in the middle of whatever they carry."""

    def __init__(self, make_cluster: MakeCluster) -> None:
        (self.port,) = free_ports(1)
        self.cluster = make_cluster("far", advertised_ports={1: self.port})
        servers = tuple(self.cluster.internal_servers.split(","))
        self.near = ClusterAdmin(ClientSettings(cluster="far", bootstrap_servers=servers))
        self._line = ExitStack()

    @contextmanager
    def reachable(self) -> Iterator[None]:
        self.mend()
        try:
            yield
        finally:
            self._line.close()

    def mend(self) -> None:
        self._line.enter_context(laid(LINE, self.cluster.brokers[0].port, self.port))

    def cut(self) -> None:
        self._line.close()
        self.mend()

    def await_end(self, topic: str, least: int) -> None:
        """Wait for so many records, seen from the cluster's own side of the line."""
        where = TopicPartition(topic, 0)

        def end() -> int:
            answer = self.near.fetch_end_offsets([where])[where]
            return answer if isinstance(answer, int) else 0

        wait_until(end, lambda found: found >= least, within_s=60, what=f"{least} copies")


def fill(ends: Ends, name: str) -> None:
    """One partition, in batches that are too large to be merged."""
    producer = Producer({**client_options(ends.link.clients.source_admin), "linger.ms": 5, "batch.size": 16_384})
    for number in range(RECORDS):
        producer.produce(name, b"%d " % number + bytes(1000), partition=0)
        if number % 1000 == 0:
            producer.flush(30)
    assert producer.flush(30) == 0


def copied(ends: Ends) -> list[int]:
    records = read_logs(ends.target_logs, ends.remote("orders"), "read_committed")[0]
    return [int(bytes(record.value or b"-1").split()[0]) for record in records]


@pytest.mark.chaos
@pytest.mark.proves("R1", "R2", "R3", "R9")
def test_a_line_that_breaks_with_many_batches_under_way_loses_and_doubles_nothing(
    make_cluster: MakeCluster, source_cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deepest, recalled = 0, 0
    send, recall = Outbox.next_to_send, Outbox.recall

    def sending(self: Outbox, *depth: int) -> Any:
        nonlocal deepest
        deepest = max(deepest, len(self.under_way))
        return send(self, *depth)

    def recalling(self: Outbox, offsets: Mapping[tuple[int, int], int]) -> bool:
        nonlocal recalled
        recalled += 1
        return recall(self, offsets)

    monkeypatch.setattr(Outbox, "next_to_send", sending)
    monkeypatch.setattr(Outbox, "recall", recalling)
    far = FarCluster(make_cluster)
    with far.reachable():
        ends = Ends(source_cluster, far.cluster)
        name = ends.create("orders")
        fill(ends, name)
        with engine_running(ends.link, tmp_path):
            for share in (0.1, 0.3, 0.5, 0.7):
                far.await_end(ends.remote(name), int(RECORDS * share))
                far.cut()
            status = ends.await_copied(within_s=90)
            assert not status.faults
        assert copied(ends) == list(range(RECORDS))
    assert deepest > FEW, "the line never held more than a broker remembers"
    assert recalled, "no broken connection had more under way than a broker remembers"


@pytest.mark.chaos
@pytest.mark.proves("R1", "R2", "R3", "R9")
def test_a_far_source_is_read_by_several_connections_and_its_line_may_break(
    make_cluster: MakeCluster, target_cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted: list[int] = []
    place = Streams.place

    def placing(self: Streams, *where: Any) -> None:
        wanted.append(self.streams_wanted())
        place(self, *where)

    monkeypatch.setattr(Streams, "place", placing)
    far = FarCluster(make_cluster)
    with far.reachable():
        ends = Ends(far.cluster, target_cluster)
        name = ends.create("orders", 4)
        load = ends.load(name, 4, linger_ms=20)
        load.produce(2000)
        with engine_running(ends.link, tmp_path):
            ends.await_copied(name)
            far.cut()
            load.produce(2000)
            status = ends.await_copied(name, within_s=90)
            assert not status.faults
        assert ends.check(name).source_records == load.count
    assert max(wanted) > 1
