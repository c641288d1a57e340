"""Links as Kafka Connect's users know them: connectors with a class, a config and a wanted state. Pure.

The records of the links topic are those of Connect's config topic, with the service's group before each key:

    <group>/connector-<name>     {"properties": {...}}                      null: it was deleted
    <group>/target-state-<name>  {"state": "PAUSED", "state.v2": "STOPPED"}
    <group>/leader               {"instance", "url", "links", "work"}       the last one runs the links, and deals
    <group>/restart-connector-<name>  {"include-tasks", "only-failed", "at_ms"}  for the service that runs it
    <group>/logger-cluster-<name>  {"level": "DEBUG", "at_ms"}              for every service that reads it now

With a secret of the group each of them also has a number and a signature, and {"deleted": true} stands for null
(control.record_signatures). A signed record is replaced only by a signed one with a higher number.

The config topic of a Connect worker belongs to one group (`own_topic`). Its keys have no group before them, and the
leader's key is `twinlog-leader`. Records that Connect writes there for its own tasks change nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, TypeAlias

TargetState: TypeAlias = Literal["STARTED", "PAUSED", "STOPPED"]
Prove: TypeAlias = Callable[[str, Mapping[str, Any]], int | None]
"""Tells the number of a record that a service of the group signed; None when none of them did."""
STARTED: Final = "STARTED"

LINKS_TOPIC: Final = "__twinlog-links"
AUDIT_TOPIC: Final = "__twinlog-audit"
EVENTS_TOPIC: Final = "__twinlog-events"
_CONNECTOR, _STATE, _LEVEL, _RESTART = _ABOUT = ("connector-", "target-state-", "logger-cluster-", "restart-connector-")


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


class Share(NamedTuple):
    """What one service of a group runs besides links, and where it can be asked."""

    url: str | None
    connectors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Leader:
    """Who runs the links of a group, and how it dealt the pipelines: `work` by instance.

    It runs what it has not dealt to anybody, so the record of a service that is alone has no `work`.
    """

    instance: str
    url: str | None
    links: tuple[str, ...] = ()
    work: Mapping[str, Share] = field(default_factory=dict)

    @cached_property
    def owners(self) -> Mapping[str, str]:
        """The instance of each pipeline that was dealt."""
        return {name: instance for instance, share in self.work.items() for name in share.connectors}

    def owner_of(self, connector: str) -> str:
        """The instance of the service that runs a pipeline."""
        return self.owners.get(connector, self.instance)

    def url_of(self, instance: str) -> str | None:
        """Where a service of the group can be asked."""
        share = self.work.get(instance)
        return share.url if share is not None else self.url if instance == self.instance else None


class Held(NamedTuple):
    """A signed record that counts. Number 0: signed by a version that did not number records."""

    number: int
    value: Mapping[str, Any]

    @property
    def deleted(self) -> bool:
        """Whether it says that there is nothing any more."""
        return self.value.get("deleted") is True


class LevelOrder(NamedTuple):
    """A level of logging for all services of a group; ordered again, it is another order."""

    level: str
    at_ms: int


@dataclass(frozen=True)
class GroupState:
    """All that the links topic says about one group, record by record."""

    group: str
    configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    states: Mapping[str, TargetState] = field(default_factory=dict)
    leader: Leader | None = None
    levels: Mapping[str, LevelOrder] = field(default_factory=dict)
    restarts: Mapping[str, int] = field(default_factory=dict)  # connector -> when somebody ordered it last, in ms
    led_since: int = 0  # the number of the record with which the service that leads began to
    tenures: Mapping[str, int] = field(default_factory=dict)  # the same for a pipeline's service, where it differs
    records: int = 0  # of this group that were read: tells an older look from a newer one
    own_topic: bool = False  # whether the topic belongs to this group alone, as Connect's config topic does
    prove: Prove | None = field(default=None, repr=False, compare=False)  # None: nothing is signed, all is taken
    held: Mapping[str, Held] = field(default_factory=dict, repr=False)  # what a record is about -> the signed one
    number: int = 0  # the highest of a signed record
    refused: frozenset[str] = frozenset()  # what the topic has a later record about that nobody of the group signed

    def take(self, key: bytes | None, value: bytes | None) -> GroupState:
        """Read one record on; one of another group, or one that nobody understands, changes nothing."""
        taken = self._take(key, value)
        return self if taken is self else replace(taken, records=self.records + 1)

    def _take(self, key: bytes | None, value: bytes | None) -> GroupState:
        what = self.about(key or b"")
        if not (what == self._leader or what.startswith(_ABOUT)):
            return self
        record = _parse(value)
        if self.prove is None:
            return self._with_record(what, record)
        number = self.prove(what, record) if record else None
        before = self.held.get(what)
        if not self._takes(what, number, before):
            # Connect's readers need a null behind a deletion: it says nothing new.
            says_it_again = before is not None and before.deleted and record is None
            return self if says_it_again else replace(self, refused=self.refused | {what})
        held = None if number is None or record is None else Held(number, record)
        return replace(
            self._with_record(what, record),
            held=_with(self.held, what, held),
            number=max(self.number, number or 0),
            refused=self.refused - {what},
        )

    def _takes(self, what: str, number: int | None, before: Held | None) -> bool:
        """Whether a record counts. Numbers keep an older one that was signed from being brought back."""
        if before is not None and before.number > 0:
            return number is not None and number > before.number
        # A connector that nobody signed is shown, so that somebody can look at it and send it again; it does not run.
        # The rest was not signed either before the group began to.
        return number is not None or what.startswith(_CONNECTOR) or self.number == 0

    def _with_record(self, what: str, record: dict[str, Any] | None) -> GroupState:
        if what == self._leader:
            return self._led_by(_leader(record))
        if what.startswith(_CONNECTOR):
            properties = record.get("properties") if record else None
            config = {str(k): str(v) for k, v in properties.items()} if isinstance(properties, dict) else None
            return replace(self, configs=_with(self.configs, what.removeprefix(_CONNECTOR), config))
        if what.startswith(_STATE):
            state = record.get("state.v2", record.get("state")) if record else None
            known: TargetState | None = state if state in {"STARTED", "PAUSED", "STOPPED"} else None
            return replace(self, states=_with(self.states, what.removeprefix(_STATE), known))
        if what.startswith(_RESTART):
            at_ms = (record or {}).get("at_ms", 0)
            ordered = at_ms if isinstance(at_ms, int) else 0
            return replace(self, restarts=_with(self.restarts, what.removeprefix(_RESTART), ordered))
        return replace(self, levels=_with(self.levels, what.removeprefix(_LEVEL), _level(record)))

    def _led_by(self, leader: Leader | None) -> GroupState:
        """Count who runs a pipeline since when: between two looks it may have been another service, and this one again.

        A pipeline that another service ran meanwhile has to be started again.
        """
        before, now = self.leader, self.records + 1
        same = before is not None and leader is not None and before.instance == leader.instance
        since = self.led_since if same else now
        tenures: dict[str, int] = {}
        dealt = {name for its in (before, leader) if its is not None for name in its.owners}
        for name in dealt | self.tenures.keys():
            stays = before is not None and leader is not None and before.owner_of(name) == leader.owner_of(name)
            at = self.tenure_of(name) if stays else now
            if at != since and name in self.configs:
                tenures[name] = at
        return replace(self, leader=leader, led_since=since, tenures=tenures)

    def tenure_of(self, name: str) -> int:
        """The number of the record with which the service that runs a pipeline got it."""
        return self.tenures.get(name, self.led_since)

    def about(self, key: bytes) -> str:
        """What a record of this group is about; empty for a record of another group."""
        text = key.decode("utf-8", errors="replace")
        if self.own_topic:
            return text
        group, slash, what = text.partition("/")
        return what if slash and group == self.group else ""

    @property
    def proves_leader(self) -> bool:
        """Whether a service of the group signed who leads."""
        return self.prove is not None and self._leader in self.held

    @property
    def _leader(self) -> str:
        return "twinlog-leader" if self.own_topic else "leader"

    def state_of(self, name: str) -> TargetState:
        """What was asked for a connector last; at first, that it runs."""
        return self.states.get(name, STARTED)

    def signed(self, name: str) -> bool:
        """Whether a service of the group signed a connector."""
        return f"{_CONNECTOR}{name}" in self.held

    # --- records of this group ----------------------------------------------------------------------------------------

    def to_write_again(self) -> list[tuple[bytes, bytes | None]]:
        """What counts, where the topic does not say so in a numbered record: the leader signs and writes it.

        That is what others wrote over, and what is older than signatures.
        """
        if self.prove is None:
            return []
        old = {what for what, held in self.held.items() if held.number == 0}
        old |= {what for name in self.states if (what := f"{_STATE}{name}") not in self.held}
        return [(self._key(what), self._value(what)) for what in sorted(self.refused | old)]

    def _value(self, what: str) -> bytes | None:
        held = self.held.get(what)
        if held is not None:
            plain = {key: value for key, value in held.value.items() if key not in {"number", "signature"}}
            return None if held.deleted else _dump(plain)
        if what.startswith(_STATE) and (state := self.states.get(what.removeprefix(_STATE))) is not None:
            return self.state_record(what.removeprefix(_STATE), state)[1]
        return None

    def config_record(self, name: str, config: Mapping[str, str] | None) -> tuple[bytes, bytes | None]:
        """Write a connector's config, or its end."""
        value = None if config is None else _dump({"properties": dict(config)})
        return self._key(f"{_CONNECTOR}{name}"), value

    def state_record(self, name: str, state: TargetState | None) -> tuple[bytes, bytes | None]:
        """Write what is asked for a connector, or that nothing is any more. Old readers take STOPPED for PAUSED."""
        if state is None:
            return self._key(f"{_STATE}{name}"), None
        old = "PAUSED" if state == "STOPPED" else state
        return self._key(f"{_STATE}{name}"), _dump({"state": old, "state.v2": state})

    def leader_record(self, leader: Leader) -> tuple[bytes, bytes]:
        """Write who runs the links from now on."""
        value: dict[str, Any] = {"instance": leader.instance, "url": leader.url, "links": list(leader.links)}
        if leader.work:
            value["work"] = {instance: share._asdict() for instance, share in leader.work.items()}
        return self._key(self._leader), _dump(value)

    def restart_record(self, name: str, at_ms: int) -> tuple[bytes, bytes]:
        """Order the service that runs a connector to restart it."""
        value = {"include-tasks": True, "only-failed": False, "at_ms": at_ms}
        return self._key(f"{_RESTART}{name}"), _dump(value)

    def level_record(self, logger: str, order: LevelOrder) -> tuple[bytes, bytes]:
        """Write a level of logging for all services."""
        return self._key(f"{_LEVEL}{logger}"), _dump(order._asdict())

    def _key(self, what: str) -> bytes:
        # The group comes first and holds no slash; the rest may.
        return what.encode() if self.own_topic else f"{self.group}/{what}".encode()


def _with(before: Mapping[str, Any], name: str, value: Any) -> dict[str, Any]:
    after = {key: kept for key, kept in before.items() if key != name}
    return after if value is None else {**after, name: value}


def _leader(record: dict[str, Any] | None) -> Leader | None:
    if not record or not isinstance(record.get("instance"), str):
        return None
    links = record.get("links")
    url = record.get("url")
    return Leader(
        record["instance"],
        url if isinstance(url, str) else None,
        tuple(str(link) for link in links) if isinstance(links, list) else (),
        _work(record.get("work")),
    )


def _work(told: Any) -> dict[str, Share]:
    work: dict[str, Share] = {}
    for instance, share in told.items() if isinstance(told, dict) else ():
        url, names = (share.get("url"), share.get("connectors")) if isinstance(share, dict) else (None, None)
        if isinstance(names, list):
            work[str(instance)] = Share(url if isinstance(url, str) else None, tuple(map(str, names)))
    return work


def _level(record: dict[str, Any] | None) -> LevelOrder | None:
    level, at_ms = (record or {}).get("level"), (record or {}).get("at_ms", 0)
    return LevelOrder(level, at_ms) if isinstance(level, str) and isinstance(at_ms, int) else None


def _parse(value: bytes | None) -> dict[str, Any] | None:
    try:
        record = json.loads(value) if value else None
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _dump(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
