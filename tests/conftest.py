"""What all tests share: real clusters and where their folders go."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tests.kit.ends import Ends

from twinlog.local.cluster import LocalCluster
from twinlog.model.mirrormaker.records import Heartbeat
from twinlog.model.naming import HEARTBEATS

_CHAOS_S = 600
"""A long run may take longer than the limit that all others share."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give long runs their time, wherever they are."""
    for item in items:
        if item.get_closest_marker("chaos") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(_CHAOS_S))


OLDER_KAFKA = "3.9.2"
"""The newest release before 4.0: no produce by topic id, transactions of the first kind."""
PATIENCE_S = 150.0
"""For a broker to start on a machine that has much else to do."""
_HEARTBEATS = 120


@pytest.fixture(scope="session", autouse=True)
def _state_of_this_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test may touch the local clusters of whoever runs the tests."""
    before = os.environ.get("TWINLOG_HOME")
    os.environ["TWINLOG_HOME"] = str(tmp_path_factory.mktemp("twinlog-home"))
    yield
    if before is None:
        del os.environ["TWINLOG_HOME"]
    else:
        os.environ["TWINLOG_HOME"] = before


@pytest.fixture(scope="session")
def session_clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LocalCluster, LocalCluster]]:
    """Source and target, one broker each, started side by side once per session."""
    folder = tmp_path_factory.mktemp("clusters")
    # Topics of the source are compacted within seconds of the wish, for the tests that wait for it.
    source = LocalCluster("source", folder / "source", settings={"log.cleaner.backoff.ms": "500"})
    target = LocalCluster("target", folder / "target")
    with ExitStack() as stack:
        for cluster in (source, target):
            stack.callback(cluster.stop)
            cluster.launch()
        source.await_ready(PATIENCE_S)
        target.await_ready(PATIENCE_S)
        for cluster in (source, target):
            _leave_heartbeats(cluster)
        yield source, target


def _leave_heartbeats(cluster: LocalCluster) -> None:
    """Every link copies heartbeats. One test leaves them to another in no order that can be told, so all find some."""
    client: dict[str, str | int | float | bool] = {**cluster.client_properties("admin")}
    admin = AdminClient(client)
    admin.create_topics([NewTopic(HEARTBEATS, 1, 1)])[HEARTBEATS].result(30)
    producer = Producer(client)
    for number in range(_HEARTBEATS):
        beat = Heartbeat("elsewhere", cluster.name, 1_700_000_000_000 + number)
        producer.produce(HEARTBEATS, beat.value(), beat.key())
    assert producer.flush(30) == 0


@pytest.fixture(scope="session")
def source_cluster(session_clusters: tuple[LocalCluster, LocalCluster]) -> LocalCluster:
    return session_clusters[0]


@pytest.fixture(scope="session")
def target_cluster(session_clusters: tuple[LocalCluster, LocalCluster]) -> LocalCluster:
    return session_clusters[1]


@pytest.fixture(scope="session")
def secure_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """One broker that asks for passwords and rights, for the tests that are about them."""
    with LocalCluster("closed", tmp_path_factory.mktemp("closed"), secure=True) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def third_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """One more, for rings and meshes; started when the first test asks for it."""
    cluster = LocalCluster("third", tmp_path_factory.mktemp("clusters") / "third")
    try:
        yield cluster.start()
    finally:
        cluster.stop()


@pytest.fixture
def make_cluster(tmp_path: Path) -> Iterator[Callable[..., LocalCluster]]:
    """Start a cluster of one test's own, for tests that break things; its brokers are killed when the test ends."""
    with ExitStack() as stack:

        def make(name: str = "own", **wishes: Any) -> LocalCluster:
            cluster = LocalCluster(name, tmp_path / name, **wishes)
            stack.callback(cluster.kill)
            return cluster.start(PATIENCE_S)

        yield make


@pytest.fixture
def make_ends(source_cluster: LocalCluster, target_cluster: LocalCluster) -> Callable[..., Ends]:
    """Make a link of one test's own between the clusters of the session; settings as keyword arguments."""
    return lambda **settings: Ends(source_cluster, target_cluster, **settings)
