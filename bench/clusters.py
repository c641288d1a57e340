"""The two clusters that every question is asked on: one broker each, on this machine, with their logs on its disk."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

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
Side: TypeAlias = Literal["source", "target"]
SIDES: Final[tuple[Side, ...]] = ("source", "target")


@dataclass(frozen=True)
class End:
    """One cluster with what it takes to ask it something."""

    cluster: LocalCluster
    settings: ClientSettings
    admin: ClusterAdmin
    servers: str  # for everybody on its own side of the line

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
    far: Side | None = None  # the cluster that the mirror reaches over the long line

    def mirror_servers(self, side: Side) -> str:
        """Where the mirror finds a cluster."""
        end = self.source if side == "source" else self.target
        return end.cluster.bootstrap_servers if side == self.far else end.servers


@contextmanager
def two_clusters(relay_ports: Mapping[Side, int] | None = None) -> Iterator[Pair]:
    """Both clusters, fresh; they and their folder are gone afterwards.

    With relay ports, clients that come by the line are told to use these; all others come by the inner listener.
    """
    ports = relay_ports or {}
    with tempfile.TemporaryDirectory(prefix="twinlog-bench-", ignore_cleanup_errors=True) as name, ExitStack() as stack:
        folder = Path(name)
        clusters = [
            LocalCluster(
                which,
                folder / which,
                settings=SETTINGS,
                java_options=JAVA_OPTIONS,
                advertised_ports={1: ports[which]} if which in ports else None,
            )
            for which in SIDES
        ]
        for cluster in clusters:
            stack.callback(cluster.stop)
            cluster.launch()
        for cluster in clusters:
            cluster.await_ready()
        source, target = (_end(cluster) for cluster in clusters)
        yield Pair(source, target, folder)


def _end(cluster: LocalCluster) -> End:
    servers = cluster.internal_servers
    settings = ClientSettings(cluster=cluster.name, bootstrap_servers=tuple(servers.split(",")))
    return End(cluster, settings, ClusterAdmin(settings), servers)


def _raise_any(answers: Iterable[ClusterError | None]) -> None:
    for answer in answers:
        if answer is not None:
            raise answer
