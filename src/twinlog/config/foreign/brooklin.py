"""A datastream of Brooklin's mirror maker, as its REST interface gives it, read as one link. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from twinlog.config.foreign.imported import Imported
from twinlog.errors import UsageError

_ADDRESS: Final = re.compile(r"kafka(?:ssl)?://(?P<servers>[^/]+)(?:/(?P<topics>.*))?", re.DOTALL)
_METADATA: Final = {
    "system.reuseExistingDestination": "Twinlog uses topics that exist",
    "system.destination.payloadSerde": "records are copied as bytes",
    "owner": "links have no owner; see roles per link",
    "system.IsUserManagedDestination": "Twinlog uses topics that exist",
    "system.destination.identityPartitioningEnabled": "each record always keeps its partition",
}


def import_brooklin(datastream: Any) -> Imported:
    """Read one datastream. Raises UsageError."""
    if not isinstance(datastream, dict) or "source" not in datastream:
        raise UsageError("the file holds no datastream: a JSON object with source and destination is expected")
    imported = Imported("Brooklin")
    servers, pattern = _address(datastream["source"], "source")
    metadata: Mapping[str, Any] = datastream.get("metadata") or {}
    destination = datastream.get("destination") or {}
    target = str(metadata.get("system.destination.KafkaBrokers") or "") or _address(destination, "destination")[0]
    source = imported.cluster("source", {"bootstrap.servers": servers})
    target = imported.cluster("target", {"bootstrap.servers": target})
    settings = {
        "topics": _unanchored(pattern) or ".*",
        "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
    }
    if prefix := metadata.get("destinationTopicPrefix") or metadata.get("system.destination.topicPrefix"):
        settings["replication.policy.class"] = "org.apache.kafka.connect.mirror.DefaultReplicationPolicy"
        imported.note("destination prefix", f"copies are called source.TOPIC here, not {prefix}TOPIC")
    if group := metadata.get("group.id"):
        settings["start.from"] = f"group:{group}"
        imported.note(
            "metadata.group.id", f"the link begins at the committed offsets of {group}; stop the datastream first"
        )
    if "maxTasks" in metadata:
        settings["tasks.max"] = str(metadata["maxTasks"])
    for key, value in metadata.items():
        if key in _METADATA:
            imported.note(f"metadata.{key}", _METADATA[key])
        elif key not in {"group.id", "maxTasks", "system.destination.KafkaBrokers"} and "Prefix" not in key:
            imported.note(f"metadata.{key}", f"no counterpart for {value!r}")
    if str(datastream["source"].get("connectionString", "")).startswith("kafkassl"):
        imported.note("source", "kafkassl: set security.protocol = SSL and the key stores of both clusters")
    imported.link(source, target, settings)
    return imported


def _address(end: Mapping[str, Any], name: str) -> tuple[str, str]:
    match = _ADDRESS.fullmatch(str(end.get("connectionString", "")))
    if match is None:
        raise UsageError(f"{name}.connectionString: {end.get('connectionString')!r} is not kafka://SERVERS/TOPICS")
    return match["servers"], match["topics"] or ""


def _unanchored(pattern: str) -> str:
    return pattern.removeprefix("^").removesuffix("$")
