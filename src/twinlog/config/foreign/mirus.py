"""The config of a Mirus source connector, read as one link. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from twinlog.config.foreign.imported import Imported
from twinlog.errors import UsageError

_CLASS: Final = "com.salesforce.mirus.MirusSourceConnector"
_WITHOUT: Final = {
    "enable.partition.matching": "each record always keeps its partition",
    "enable.destination.topic.checking": "a missing target topic is created, or named by twinlog status",
    "monitor.poll.wait.ms": "use refresh.topics.interval.seconds",
    "poll.timeout.ms": "Twinlog waits for the broker",
    "commit.failure.restart.ms": "Twinlog restarts by itself",
    "source.key.converter": "records are copied as bytes",
    "source.value.converter": "records are copied as bytes",
    "source.header.converter": "headers are copied as bytes",
}


def import_mirus(config: Mapping[str, str]) -> Imported:
    """Read one connector config. Raises UsageError."""
    if config.get("connector.class", _CLASS).rpartition(".")[2] != "MirusSourceConnector":
        raise UsageError(f"connector.class is {config['connector.class']}, not {_CLASS}")
    imported = Imported("Mirus")
    settings: dict[str, dict[str, str]] = {"consumer.": {}, "destination.consumer.": {}}
    for prefix, into in settings.items():
        into.update({key[len(prefix) :]: value for key, value in config.items() if key.startswith(prefix)})
        if not into.get("bootstrap.servers"):
            raise UsageError(f"{prefix}bootstrap.servers is missing")
    source = imported.cluster("source", _cluster(settings["consumer."]))
    target = imported.cluster("target", _cluster(settings["destination.consumer."]))
    topics = [
        part.strip() for key in ("topics.whitelist", "topics.regex.list") for part in config.get(key, "").split(",")
    ]
    topics.append(config.get("topics.regex", ""))
    link = {
        "topics": ", ".join(part for part in topics if part),
        "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
        "tasks.max": config.get("tasks.max", "1"),
        "start.from": config.get("consumer.auto.offset.reset", "earliest"),
    }
    if not link["topics"]:
        raise UsageError("no topics are chosen: topics.whitelist, topics.regex and topics.regex.list are empty")
    for end in ("prefix", "suffix"):
        if value := config.get(f"destination.topic.name.{end}"):
            imported.note(f"destination.topic.name.{end}", f"copies keep their names here; {value!r} is not added")
    for key in config:
        if key in _WITHOUT:
            imported.note(key, _WITHOUT[key])
        elif key.startswith("transforms"):
            imported.note(key, "transforms of a link are written as A->B.transforms")
    imported.note("offsets", "the position of Mirus is not read; `twinlog verify` names records that were copied twice")
    imported.link(source, target, link)
    return imported


def _cluster(settings: Mapping[str, str]) -> dict[str, str]:
    return {
        key: value for key, value in settings.items() if key.startswith(("bootstrap.", "security.", "sasl.", "ssl."))
    }
