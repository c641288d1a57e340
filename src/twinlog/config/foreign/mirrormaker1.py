"""MirrorMaker 1: a consumer file, a producer file and its flags, read as one link. Pure.

MirrorMaker 1 keeps names and continues at the offsets of its consumer group. It spreads records over partitions by key;
Twinlog keeps the partition of each record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from twinlog.config.foreign.imported import Imported
from twinlog.errors import UsageError

SOURCE: Final = "source"
TARGET: Final = "target"
_SHARED: Final = ("bootstrap.servers", "security.protocol", "sasl.", "ssl.", "client.rack")
_IMPLIED: Final = {
    "acks": "Twinlog writes with acks=all",
    "retries": "Twinlog repeats until the record is written",
    "enable.idempotence": "always on",
    "max.in.flight.requests.per.connection": "order is kept with five",
    "enable.auto.commit": "the position is in the ledger",
    "auto.commit.interval.ms": "the position is in the ledger",
    "key.deserializer": "records are copied as bytes",
    "value.deserializer": "records are copied as bytes",
    "key.serializer": "records are copied as bytes",
    "value.serializer": "records are copied as bytes",
    "partition.assignment.strategy": "Twinlog deals partitions out itself",
    "zookeeper.connect": "only brokers that keep offsets in Kafka can be read",
    "session.timeout.ms": "there is no consumer group",
    "heartbeat.interval.ms": "there is no consumer group",
    "max.poll.records": "batches are copied, not records",
    "max.poll.interval.ms": "there is no consumer group",
    "compression.type": "batches keep their compression",
    "partitioner.class": "each record keeps its partition",
}


@dataclass(frozen=True)
class Flags:
    """The flags of kafka-mirror-maker.sh."""

    include: str = ""
    streams: int = 1
    abort_on_send_failure: bool = True
    message_handler: str = ""


def import_mirrormaker1(
    consumer: Mapping[str, str], producer: Mapping[str, str], flags: Flags, tool: str = "MirrorMaker 1"
) -> Imported:
    """Read both files and the flags; uReplicator's files are of the same kind. Raises UsageError."""
    for name, settings in (("consumer", consumer), ("producer", producer)):
        if not settings.get("bootstrap.servers", "").strip():
            raise UsageError(f"the {name} file has no bootstrap.servers")
    if not flags.include:
        raise UsageError("no topics are chosen: give --include REGEX (or --whitelist), as the other tool demands")
    imported = Imported(tool)
    imported.cluster(SOURCE, _connection(consumer))
    imported.cluster(TARGET, _connection(producer))
    link = {
        "topics": flags.include.replace(",", "|") if "," in flags.include else flags.include,
        "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
        "tasks.max": str(flags.streams),
        "topics.exclude": "__.*",
    }
    if group := consumer.get("group.id", "").strip():
        link["start.from"] = f"group:{group}"
        imported.note("group.id", f"the link begins at the committed offsets of {group}; stop MirrorMaker 1 first")
    else:
        link["start.from"] = consumer.get("auto.offset.reset", "latest")
    for client, settings in (("consumer", consumer), ("producer", producer)):
        for key in settings:
            if key in _IMPLIED:
                imported.note(f"{client} {key}", _IMPLIED[key])
            elif not _shared(key) and key not in {"group.id", "auto.offset.reset", "client.id"}:
                side = f"{SOURCE}.consumer" if client == "consumer" else f"{TARGET}.producer"
                imported.clusters[side.split(".", maxsplit=1)[0]][f"{side.split('.')[1]}.{key}"] = settings[key]
    if not flags.abort_on_send_failure:
        imported.note(
            "--abort.on.send.failure=false", "Twinlog drops no record; a partition that cannot be copied is FAULTED"
        )
    if flags.message_handler:
        imported.note("--message.handler", "Java code is not run; use a transform of the link or a pipeline")
    imported.note("partitions", "each record keeps its partition; MirrorMaker 1 chose it again by key")
    imported.links[f"{SOURCE}->{TARGET}"] = {"enabled": "true", **link}
    return imported


def _connection(settings: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in settings.items() if _shared(key)}


def _shared(key: str) -> bool:
    return key.startswith(_SHARED)
