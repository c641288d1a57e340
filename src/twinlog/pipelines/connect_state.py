"""Connectors and their wished states, as Connect's config topic holds them. Pure.

connector-orders        {"properties": {…}}; null: deleted
target-state-orders     {"state": "PAUSED", "state.v2": "STOPPED"}
twinlog-leader          which service of the group runs the connectors
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

Target: TypeAlias = Literal["STARTED", "PAUSED", "STOPPED"]
_CONNECTOR: Final = b"connector-"
_TARGET: Final = b"target-state-"
_LEADER: Final = b"twinlog-leader"


@dataclass(frozen=True)
class ConnectState:
    """Everything that the config topic says."""

    connectors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    targets: Mapping[str, Target] = field(default_factory=dict)
    leader: Mapping[str, str] = field(default_factory=dict)

    def target(self, name: str) -> Target:
        return self.targets.get(name, "STARTED")

    def applied(self, key: bytes | None, value: bytes | None) -> ConnectState:
        """The state after one record. Records that Connect writes for its own tasks are passed over."""
        try:
            found: Any = None if value is None else json.loads(value)
        except ValueError:
            return self
        if key is None or not (found is None or isinstance(found, dict)):
            return self
        if key == _LEADER:
            return replace(self, leader={} if found is None else {k: str(v) for k, v in found.items()})
        if key.startswith(_CONNECTOR):
            return self._connector(key.removeprefix(_CONNECTOR).decode(), found)
        if key.startswith(_TARGET):
            name = key.removeprefix(_TARGET).decode()
            targets = {k: v for k, v in self.targets.items() if k != name}
            wish = None if found is None else found.get("state.v2", found.get("state"))
            if wish in {"STARTED", "PAUSED", "STOPPED"}:
                targets[name] = wish
            return replace(self, targets=targets)
        return self

    def _connector(self, name: str, found: dict[str, Any] | None) -> ConnectState:
        connectors = {k: v for k, v in self.connectors.items() if k != name}
        properties = None if found is None else found.get("properties")
        if isinstance(properties, dict):
            connectors[name] = {str(k): str(v) for k, v in properties.items() if v is not None}
            return replace(self, connectors=connectors)
        targets = {k: v for k, v in self.targets.items() if k != name}
        return replace(self, connectors=connectors, targets=targets)


def connector_record(name: str, config: Mapping[str, str] | None) -> tuple[bytes, bytes | None]:
    value = None if config is None else _json({"properties": dict(config)})
    return _CONNECTOR + name.encode(), value


def target_record(name: str, target: Target | None) -> tuple[bytes, bytes | None]:
    """Old workers do not know STOPPED and read the first field."""
    if target is None:
        return _TARGET + name.encode(), None
    plain = "PAUSED" if target == "STOPPED" else target
    return _TARGET + name.encode(), _json({"state": plain, "state.v2": target})


def leader_record(worker_id: str, url: str) -> tuple[bytes, bytes | None]:
    return _LEADER, _json({"worker_id": worker_id, "url": url})


def _json(found: Any) -> bytes:
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False).encode()
