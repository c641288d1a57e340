"""Replicator's keys that are called otherwise here, allow one value only, or set nothing. One table, no logic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Rename:
    """What a key is called here, and its value; None from `convert` is a refusal."""

    name: str
    convert: Callable[[str], str | None] = lambda text: text
    allowed: str = ""


def _seconds(text: str) -> str | None:
    return str(max(1, (int(text) + 999) // 1000)) if text.isdecimal() else None


def _replicas(text: str) -> str | None:
    """0 asks for the source's factor; here the target's default takes its place."""
    return ("-1" if int(text) == 0 else text) if text.isdecimal() else None


def _translates(text: str) -> str | None:
    return {"0": "false"}.get(text, "true") if text.lstrip("-").isdecimal() else None


_MILLISECONDS: Final = "a whole number of milliseconds"
_NUMBER: Final = "a whole number"

RENAMED: Final[dict[str, Rename]] = {
    "topic.poll.interval.ms": Rename("refresh.topics.interval.seconds", _seconds, _MILLISECONDS),
    "topic.config.sync": Rename("sync.topic.configs.enabled"),
    "topic.config.sync.interval.ms": Rename("sync.topic.configs.interval.seconds", _seconds, _MILLISECONDS),
    "dest.topic.replication.factor": Rename("replication.factor", _replicas, _NUMBER),
    "offset.translator.tasks.max": Rename("sync.group.offsets.enabled", _translates, _NUMBER),
    "offset.translator.batch.period.ms": Rename("sync.group.offsets.interval.seconds", _seconds, _MILLISECONDS),
}

_BYTES: Final = "records are copied as bytes, whatever is in them"
MUST_BE: Final[dict[str, tuple[str, str]]] = {
    **dict.fromkeys(
        [f"{side}{part}.converter" for side in ("", "src.") for part in ("key", "value", "header")],
        ("ByteArrayConverter", _BYTES),
    ),
    "topic.preserve.partitions": ("true", "a record keeps its partition"),
    "topic.auto.create": ("true", "topics that are missing on the target are created; leave topics out by selection"),
    "topic.timestamp.type": ("CreateTime", "records keep their times"),
    "offset.start": ("connect", "positions are in Twinlog's ledger; for a new link see start.from"),
}

_LEDGER: Final = "positions are kept in Twinlog's ledger on the target; `twinlog status` shows the lag"
_EXACT: Final = "positions of groups are translated exactly by the ledger, not by timestamps"
_NO_CONNECT: Final = "there are no Connect workers here"
MEANINGLESS: Final[dict[str, str]] = {
    "topic.create.backoff.ms": "a topic that cannot be created is tried again in every cycle",
    "consumer.poll.timeout.interval.ms": "nothing blocks in a poll here",
    "offset.topic.commit": _LEDGER,
    "offset.topic.commit.batch.period.ms": _LEDGER,
    "offset.timestamps.commit": _EXACT,
    "offset.translator.tasks.separate": _EXACT,
    "offset.translator.batch.size": _EXACT,
    "src.kafka.timestamps.*": _EXACT,
    "timestamps.*": _EXACT,
    "src.zookeeper.*": "Kafka has no ZooKeeper any more",
    "dest.zookeeper.*": "Kafka has no ZooKeeper any more",
    "confluent.*": "Twinlog needs no licence",
    "src.consumer.confluent.*": "Confluent's interceptors cannot be loaded here",
    "schema.registry.*": "schemas are not translated: the topic of a schema registry is copied as it is",
    "schema.subject.translator.*": "schemas are not translated: the topic of a schema registry is copied as it is",
    "task.id": _NO_CONNECT,
    "partition.assignment": _NO_CONNECT,
}

IMPLIED: Final[dict[str, str]] = {
    "topic.rename.format": "${topic}",
    "topic.whitelist": "",
    # Replicator writes none of MirrorMaker 2's topics and leaves ACLs alone.
    "heartbeats.replication.enabled": "false",
    "emit.heartbeats.enabled": "false",
    "emit.checkpoints.enabled": "false",
    "emit.offset-syncs.enabled": "false",
    "sync.topic.acls.enabled": "false",
}
