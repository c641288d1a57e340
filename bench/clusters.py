"""The two clusters that every question is asked on: one broker each, on this machine, with their logs on its disk."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from twinlog.config.settings import ClientSettings
from twinlog.errors import ClusterError
from twinlog.kafka.admin import ClusterAdmin, TopicOrder
from twinlog.local.cluster import LocalCluster
from twinlog.wire.connection import Cluster
from twinlog.wire.log import fetch_ends

JAVA_OPTIONS = (
    *("-Xms1g", "-Xmx1g", "-XX:TieredStopAtLevel=4"),
    # Kafka's own start script chooses these; the local clusters of demo and tests prefer small to fast.
    *("-XX:-UseSerialGC", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35"),
)
SETTINGS = {
    # Kafka's defaults again, where the local clusters are made small.
    "num.network.threads": "3",
    "num.io.threads": "8",
    "background.threads": "10",
    # A mirror at full speed leaves a broker little CPU; silent for three seconds, it would lose its partitions.
    "broker.heartbeat.interval.ms": "2000",
    "broker.session.timeout.ms": "9000",
    # Deleted topics of the run before must not still lie on the disk when the next one is measured.
    "log.segment.delete.delay.ms": "1000",
}
_KAFKA_OWN = "__"


@dataclass(frozen=True)
class End:
    """One cluster with what it takes to ask it something."""

    cluster: LocalCluster
    settings: ClientSettings
    admin: ClusterAdmin

    @property
    def servers(self) -> str:
        return self.cluster.bootstrap_servers

    def create(self, topic: str, partitions: int, configs: dict[str, str] | None = None) -> None:
        order = TopicOrder(topic, partitions, 1, configs or {})
        _raise_any(self.admin.create_topics([order]).values())
        # A broker names itself leader a moment before it accepts records.
        asyncio.run(self._await_leaders(topic, partitions))

    async def _await_leaders(self, topic: str, partitions: int) -> None:
        cluster = Cluster(self.settings, "bench|create")
        try:
            await fetch_ends(cluster, topic, dict.fromkeys(range(partitions), 0))
        finally:
            await cluster.close()

    def clear(self, keep: Iterable[str] = ()) -> None:
        """Delete every topic but Kafka's own and these."""
        spared = set(keep)
        names = [n for n in self.admin.list_topics() if not n.startswith(_KAFKA_OWN) and n not in spared]
        _raise_any(self.admin.delete_topics(names).values())


@dataclass(frozen=True)
class Pair:
    """Source, target, and a folder for what the mirrors write."""

    source: End
    target: End
    folder: Path


@contextmanager
def two_clusters() -> Iterator[Pair]:
    """Both clusters, fresh; they and their folder are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="twinlog-bench-", ignore_cleanup_errors=True) as name, ExitStack() as stack:
        folder = Path(name)
        clusters = [
            LocalCluster(which, folder / which, settings=SETTINGS, java_options=JAVA_OPTIONS)
            for which in ("source", "target")
        ]
        for cluster in clusters:
            stack.callback(cluster.stop)
            cluster.launch()
        source, target = (_end(cluster.await_ready()) for cluster in clusters)
        yield Pair(source, target, folder)


def _end(cluster: LocalCluster) -> End:
    settings = ClientSettings(cluster=cluster.name, bootstrap_servers=tuple(cluster.bootstrap_servers.split(",")))
    return End(cluster, settings, ClusterAdmin(settings))


def _raise_any(answers: Iterable[ClusterError | None]) -> None:
    for answer in answers:
        if answer is not None:
            raise answer
