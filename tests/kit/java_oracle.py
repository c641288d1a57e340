"""Kafka's own Java classes as judges: RemoteClusterUtils, MirrorClient and MirrorMaker 2's console formatters.

They run in one JVM beside the tests; py4j, which comes with pyspark, calls them. Nothing of ours is in that JVM.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway  # type: ignore[import-untyped]

from twinlog.local.jars import CONNECT_MIRROR, JarSet, class_path, resolve
from twinlog.machine.java import find_java
from twinlog.model.names import TopicPartition

Positions: TypeAlias = dict[TopicPartition, tuple[int, str]]


class Oracle:
    """What Java says about one cluster."""

    def __init__(self, gateway: JavaGateway) -> None:
        self._gateway = gateway
        self._jvm = gateway.jvm
        self._mirror = self._jvm.org.apache.kafka.connect.mirror

    def topology(self, properties: Mapping[str, str]) -> dict[str, set[str]]:
        """All names that MirrorClient finds on a cluster."""
        client = self._mirror.MirrorClient(self._map(properties))
        try:
            return {
                "upstream_clusters": set(client.upstreamClusters()),
                "heartbeat_topics": set(client.heartbeatTopics()),
                "checkpoint_topics": set(client.checkpointTopics()),
                "remote_topics": set(client.remoteTopics()),
            }
        finally:
            client.close()

    def replication_hops(self, properties: Mapping[str, str], alias: str) -> int:
        return int(self._mirror.RemoteClusterUtils.replicationHops(self._map(properties), alias))

    def translate_offsets(self, properties: Mapping[str, str], alias: str, group: str) -> Positions:
        deadline = self._jvm.java.time.Duration.ofSeconds(20)
        found = self._mirror.RemoteClusterUtils.translateOffsets(self._map(properties), alias, group, deadline)
        return _positions(found)

    def translate_all(self, properties: Mapping[str, str], alias: str, pattern: str) -> dict[str, Positions]:
        deadline = self._jvm.java.time.Duration.ofSeconds(20)
        groups = self._jvm.java.util.regex.Pattern.compile(pattern)
        found = self._mirror.RemoteClusterUtils.translateOffsets(self._map(properties), alias, groups, deadline)
        return {str(group): _positions(found[group]) for group in found}

    def formatted(self, formatter: str, topic: str, key: bytes | None, value: bytes | None) -> str:
        """What a console consumer would print with `CheckpointFormatter` and the like."""
        record = self._jvm.org.apache.kafka.clients.consumer.ConsumerRecord(topic, 0, 0, key, value)
        out = self._jvm.java.io.ByteArrayOutputStream()
        paper = self._jvm.java.io.PrintStream(out)
        getattr(self._mirror.formatters, formatter)().writeTo(record, paper)
        paper.flush()
        return str(out.toString()).strip()

    def _map(self, properties: Mapping[str, str]) -> Any:
        found = self._jvm.java.util.HashMap()
        for name, value in properties.items():
            found.put(name, value)
        return found


def _positions(found: Any) -> Positions:
    return {
        TopicPartition(place.topic(), place.partition()): (found[place].offset(), found[place].metadata())
        for place in found
    }


@contextmanager
def java_running(*more: JarSet) -> Iterator[Oracle]:
    """A JVM with MirrorMaker 2's client classes, and more, while the block runs."""
    pyspark = find_spec("pyspark")
    assert pyspark is not None
    assert pyspark.origin is not None
    (py4j,) = (Path(pyspark.origin).parent / "jars").glob("py4j-*.jar")
    port, token = launch_gateway(
        jarpath=str(py4j),
        classpath=class_path(tuple(jar for one in (CONNECT_MIRROR, *more) for jar in resolve(one))),
        javaopts=["-XX:TieredStopAtLevel=1", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"],
        java_path=str(find_java().java),
        die_on_exit=True,
        enable_auth=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True))
    try:
        yield Oracle(gateway)
    finally:
        gateway.shutdown()
