"""Links as Kafka Connect's users know them: connectors with a class, a config and a wanted state. Pure.

The records of the links topic are those of Connect's config topic, with the service's group before each key:

    <group>/connector-<name>     {"properties": {...}, "signature"}         null: it was deleted
    <group>/target-state-<name>  {"state": "PAUSED", "state.v2": "STOPPED"}
    <group>/leader               {"instance", "url", "links"}               the last one runs the links
    <group>/logger-cluster-<name>  {"level": "DEBUG", "at_ms"}              for every service that reads it now

The config topic of a Connect worker belongs to one group (`own_topic`). Its keys have no group before them, and the
leader's key is `twinlog-leader`. Records that Connect writes there for its own tasks change nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple, TypeAlias

TargetState: TypeAlias = Literal["STARTED", "PAUSED", "STOPPED"]
STARTED: Final = "STARTED"

LINKS_TOPIC: Final = "__twinlog-links"
AUDIT_TOPIC: Final = "__twinlog-audit"
EVENTS_TOPIC: Final = "__twinlog-events"


def names_class(written: str, class_name: str) -> bool:
    """Whether a user means this class: in full, without its package, or without the word Connector, as in Connect."""
    simple, known = written.strip().rpartition(".")[2], class_name.rpartition(".")[2]
    return simple in {known, known.removesuffix("Connector")} and written.strip() in {simple, class_name}


@dataclass(frozen=True)
class Connector:
    """One connector as it was written. The config may hold secrets and stays out of `repr` (R12)."""

    name: str
    config: Mapping[str, str] = field(repr=False)
    state: TargetState = STARTED
    in_file: bool = False

    @property
    def class_name(self) -> str:
        """Its class, as it was written."""
        return self.config.get("connector.class", "")

    def wanted(self, state: TargetState) -> Connector:
        """The same connector, wanted in another state."""
        return replace(self, state=state)


@dataclass(frozen=True)
class Leader:
    """Who runs the links of a group."""

    instance: str
    url: str | None
    links: tuple[str, ...] = ()
    # Made with the secret of the group over instance and url (connectors.group_trust).
    signature: str = ""


class LevelOrder(NamedTuple):
    """A level of logging for all services of a group; ordered again, it is another order."""

    level: str
    at_ms: int


@dataclass(frozen=True)
class GroupState:
    """All that the links topic says about one group, record by record."""

    group: str
    configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    signatures: Mapping[str, str] = field(default_factory=dict, repr=False)  # of configs (connectors.sealing)
    states: Mapping[str, TargetState] = field(default_factory=dict)
    leader: Leader | None = None
    levels: Mapping[str, LevelOrder] = field(default_factory=dict)
    records: int = 0  # of this group that were read: tells an older look from a newer one
    own_topic: bool = False  # whether the topic belongs to this group alone, as Connect's config topic does

    def take(self, key: bytes | None, value: bytes | None) -> GroupState:
        """Read one record on; one of another group, or one that nobody understands, changes nothing."""
        taken = self._take(key, value)
        return self if taken is self else replace(taken, records=self.records + 1)

    def _take(self, key: bytes | None, value: bytes | None) -> GroupState:
        what = self._what((key or b"").decode("utf-8", errors="replace"))
        if what is None:
            return self
        found = _parse(value)
        if what == self._leader:
            return replace(self, leader=_leader(found))
        if what.startswith("connector-"):
            properties = found.get("properties") if found else None
            config = {str(k): str(v) for k, v in properties.items()} if isinstance(properties, dict) else None
            name, signature = what.removeprefix("connector-"), str((found or {}).get("signature", "")) or None
            signatures = _with(self.signatures, name, None if config is None else signature)
            return replace(self, configs=_with(self.configs, name, config), signatures=signatures)
        if what.startswith("target-state-"):
            state = found.get("state.v2", found.get("state")) if found else None
            known: TargetState | None = state if state in {"STARTED", "PAUSED", "STOPPED"} else None
            return replace(self, states=_with(self.states, what.removeprefix("target-state-"), known))
        if what.startswith("logger-cluster-"):
            return replace(self, levels=_with(self.levels, what.removeprefix("logger-cluster-"), _level(found)))
        return self

    def _what(self, key: str) -> str | None:
        """What a record of this group is about; None for a record of another group."""
        if self.own_topic:
            return key
        group, slash, what = key.partition("/")
        return what if slash and group == self.group else None

    @property
    def _leader(self) -> str:
        return "twinlog-leader" if self.own_topic else "leader"

    def state_of(self, name: str) -> TargetState:
        """What was asked for a connector last; at first, that it runs."""
        return self.states.get(name, STARTED)

    # --- records of this group ----------------------------------------------------------------------------------------

    def config_record(
        self, name: str, config: Mapping[str, str] | None, signature: str = ""
    ) -> tuple[bytes, bytes | None]:
        """Write a connector's config, or its end."""
        if config is None:
            return self._key(f"connector-{name}"), None
        signed = {"signature": signature} if signature else {}
        return self._key(f"connector-{name}"), _dump({"properties": dict(config), **signed})

    def state_record(self, name: str, state: TargetState | None) -> tuple[bytes, bytes | None]:
        """Write what is asked for a connector, or that nothing is any more. Old readers take STOPPED for PAUSED."""
        if state is None:
            return self._key(f"target-state-{name}"), None
        old = "PAUSED" if state == "STOPPED" else state
        return self._key(f"target-state-{name}"), _dump({"state": old, "state.v2": state})

    def leader_record(self, leader: Leader) -> tuple[bytes, bytes]:
        """Write who runs the links from now on."""
        value = {"instance": leader.instance, "url": leader.url, "links": list(leader.links)}
        value |= {"signature": leader.signature} if leader.signature else {}
        return self._key(self._leader), _dump(value)

    def level_record(self, logger: str, order: LevelOrder) -> tuple[bytes, bytes]:
        """Write a level of logging for all services."""
        return self._key(f"logger-cluster-{logger}"), _dump(order._asdict())

    def _key(self, what: str) -> bytes:
        # The group comes first and holds no slash; the rest may.
        return what.encode() if self.own_topic else f"{self.group}/{what}".encode()


def _with(before: Mapping[str, Any], name: str, value: Any) -> dict[str, Any]:
    after = {key: kept for key, kept in before.items() if key != name}
    return after if value is None else {**after, name: value}


def _leader(found: dict[str, Any] | None) -> Leader | None:
    if not found or not isinstance(found.get("instance"), str):
        return None
    links = found.get("links")
    url = found.get("url")
    return Leader(
        found["instance"],
        url if isinstance(url, str) else None,
        tuple(str(link) for link in links) if isinstance(links, list) else (),
        str(found.get("signature", "")),
    )


def _level(found: dict[str, Any] | None) -> LevelOrder | None:
    level, at_ms = (found or {}).get("level"), (found or {}).get("at_ms", 0)
    return LevelOrder(level, at_ms) if isinstance(level, str) and isinstance(at_ms, int) else None


def _parse(value: bytes | None) -> dict[str, Any] | None:
    try:
        found = json.loads(value) if value else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _dump(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
