"""MirrorMaker 2 in its dedicated mode, started as its own script starts it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bench.peers.peer import Errand

from twinlog.local.jars import CONNECT_MIRROR, class_path, resolve
from twinlog.machine.java import find_java

_JAVA = (
    *("-Xms256M", "-Xmx2G"),
    *("-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35"),
    *("-XX:+ExplicitGCInvokesConcurrent", "-XX:MaxInlineLevel=15", "-Djava.awt.headless=true"),
)
_ONE_BROKER = {
    f"{what}.replication.factor": "1"
    for what in (
        *("offset-syncs.topic", "checkpoints.topic", "heartbeats.topic"),
        *("offset.storage", "status.storage", "config.storage"),
    )
} | {"replication.factor": "1"}


@dataclass(frozen=True)
class MirrorMaker:
    """One way to set it up."""

    name: str
    title: str
    settings: str
    tuning: Mapping[str, str] = field(default_factory=dict)

    def command(self, errand: Errand) -> list[str]:
        file = errand.properties_file({"LINK.tasks.max": "4", **_ONE_BROKER, **self.tuning})
        jars = class_path(resolve(CONNECT_MIRROR))
        return [str(find_java().java), *_JAVA, "-cp", jars, "org.apache.kafka.connect.mirror.MirrorMaker", str(file)]


def _listed(settings: Mapping[str, str]) -> str:
    return ", ".join(f"{key.partition('.')[2]}={value}" for key, value in settings.items())


TUNING = {
    "SOURCE.consumer.fetch.max.bytes": "67108864",
    "SOURCE.consumer.max.partition.fetch.bytes": "8388608",
    "SOURCE.consumer.max.poll.records": "10000",
    "LINK.producer.override.batch.size": "524288",
    "LINK.producer.override.linger.ms": "20",
    "LINK.producer.override.compression.type": "lz4",
    "LINK.producer.override.buffer.memory": "134217728",
    "LINK.producer.override.max.request.size": "8388608",
}

DEFAULT = MirrorMaker(
    "mm2-default",
    "MirrorMaker 2, defaults",
    f"tasks.max=4; java {' '.join(_JAVA[:2])}, the collector settings of its start script",
)
TUNED = MirrorMaker(
    "mm2-tuned",
    "MirrorMaker 2, tuned",
    f"as above, and {_listed(TUNING)}",
    TUNING,
)
