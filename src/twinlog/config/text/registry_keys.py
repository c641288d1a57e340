"""Keys of a link that concern the schema registry of its clusters. One table, no logic."""

from __future__ import annotations

from typing import Any

from twinlog.config.text.keys import Key, Scope
from twinlog.config.text.values import Kind, OneOf, T_co, Text, Whole


def _own(name: str, kind: Kind[T_co], default: str | None, meaning: str) -> Key[T_co]:
    return Key(name, (Scope.LINK,), kind, default, meaning, own=True)


MIRROR = _own(
    "registry.mirror", OneOf(("auto", "on", "off")), "auto",
    "Mirror the topic of the schema registry under its own name, whatever `topics` says. It goes one way. auto: along "
    "the first link into a cluster, in the order of `clusters`.",
)  # fmt: skip
TOPIC = _own("registry.topic", Text(), "_schemas", "The topic of the schema registry (kafkastore.topic).")
GROUP_ID = _own(
    "registry.group.id", Text(), "schema-registry",
    "The group of the registry's instances (schema.registry.group.id). A switch fences their leader by it.",
)  # fmt: skip
GATE_MS = _own(
    "registry.gate.ms", Whole(0, 86_400_000), "300000",
    "Records are held back until the schemas that were registered before them are copied, but no longer than this. "
    "0: records never wait for schemas.",
)  # fmt: skip
ID_GAP = _own(
    "registry.id.gap", Whole(1, 100_000_000), "100000",
    "Ids that the source may give before the target has confirmed the last ones. A promoted target gives ids behind "
    "them.",
)  # fmt: skip

LISTENERS = Key(
    "registry.listeners", (Scope.FILE,), Text(), None,
    "Addresses at which `twinlog run --listen` serves a schema registry beside the links, such as "
    "http://127.0.0.1:8081. Absent: it serves none.",
    own=True,
)  # fmt: skip
CLUSTER = Key(
    "registry.cluster", (Scope.FILE,), Text(), None,
    "The cluster whose topic that registry serves. Absent: the target of the first link.",
    own=True,
)  # fmt: skip
SERVER = Key(
    "registry.server.*", (Scope.FILE,), Text(), None,
    "Any key of schema-registry.properties for that registry, such as registry.server.schema.compatibility.level.",
    own=True,
)  # fmt: skip

REGISTRY_KEYS: tuple[Key[Any], ...] = (MIRROR, TOPIC, GROUP_ID, GATE_MS, ID_GAP, LISTENERS, CLUSTER, SERVER)
