"""Links and their sync jobs as kinds of connectors: MirrorMaker 2's three classes, and Confluent Replicator's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from twinlog.config.resolve import Resolved
from twinlog.config.settings import LinkSettings
from twinlog.config.text.catalogue import CATALOGUE
from twinlog.config.text.keys import Key, Scope, Supported
from twinlog.config.text.values import Flag, Regexes, Whole, Words
from twinlog.control.grounds import Grounds
from twinlog.control.kind import (
    ConnectorType,
    Definition,
    Offset,
    OffsetsChange,
    OtherPlugin,
    Part,
    Role,
    StateOf,
    Subject,
)
from twinlog.control.link_offsets import change_offsets
from twinlog.control.link_plan import check_connector, connectors_of, link_name, plan_links
from twinlog.control.states import ConnectorStatus, EngineView, judge
from twinlog.errors import ConnectorRefused, Finding
from twinlog.model.connectors import Connector, names_class
from twinlog.model.link_connectors import CLASSES, COPYING, Sort
from twinlog.model.naming import HEARTBEATS

_TYPES: Final[tuple[tuple[type, str], ...]] = ((Flag, "BOOLEAN"), (Whole, "INT"), (Words, "LIST"), (Regexes, "LIST"))
_REQUIRED: Final = ("name", "connector.class", "source.cluster.alias", "target.cluster.alias")


@dataclass(frozen=True)
class LinkKind:
    """One of the classes."""

    sort: Sort
    type: ConnectorType = "source"

    @property
    def class_name(self) -> str:
        """The class in full."""
        return CLASSES[self.sort]

    @property
    def role(self) -> Role:
        """A link, or a sync job of one."""
        return "link" if self.sort in COPYING else "sync job"

    @property
    def may_come_first(self) -> bool:
        """Checkpoints may be switched on before their link is there."""
        return self.sort == "checkpoint"

    def is_called(self, name: str) -> bool:
        """In full, without the package, or without the word Connector."""
        return names_class(name, self.class_name)

    def about(self, connector: Connector) -> str:
        """The link."""
        return link_name(connector)

    def job(self, connector: Connector) -> str:
        """The link: its engine runs the sync jobs, too."""
        return link_name(connector)

    def definitions(self) -> Sequence[Definition]:
        """What the pair of clusters needs, then every key of a link."""
        required = [Definition(name, required=True) for name in _REQUIRED]
        return [*required, *(_definition(key) for key in _keys())]

    def check(self, connector: Connector, grounds: Grounds) -> tuple[Finding, ...]:
        """As its line in a settings file would be checked."""
        return check_connector(connector, grounds)

    def try_out(self, connector: Connector, grounds: Grounds) -> tuple[Finding, ...]:
        """Nothing: `twinlog doctor` asks the clusters."""
        del connector, grounds
        return ()

    def status(self, subject: Subject) -> ConnectorStatus:
        """The engine's state; heartbeats to a cluster without a link need no engine."""
        connector, plan = subject.connector, subject.plan
        link = link_name(connector)
        trouble = plan.troubles.get(connector.name) or plan.refused.get(link)
        if self.sort == "heartbeat" and link not in plan.specs and subject.active:
            return judge(connector.state, trouble, EngineView("running", None), copies=False)
        view = subject.runner.snapshot(link) if subject.active else None
        return judge(connector.state, trouble, view, copies=self.sort in COPYING)

    async def topics(self, subject: Subject) -> list[str]:
        """The copies on the target, by the ledger; what a sync job writes to."""
        link = subject.plan.specs.get(link_name(subject.connector))
        if self.sort == "heartbeat":
            return [HEARTBEATS]
        if not isinstance(link, LinkSettings) or subject.name in subject.plan.troubles:
            return []
        if self.sort == "checkpoint":
            return [link.naming.checkpoints_topic(link.source)]
        sources = {topic for topic, _, _ in await subject.runner.positions(link)}
        return sorted(link.naming.remote(link.source, topic) for topic in sources)

    async def offsets(self, subject: Subject) -> list[Offset]:
        """The offset of the last copied record of each source partition."""
        if self.sort not in COPYING:
            return []
        link = settings_of(subject)
        return [
            Offset(self._partition(link.source, topic, number), {"offset": reached - 1})
            for topic, number, reached in await subject.runner.positions(link)
            if reached > 0
        ]

    def _partition(self, cluster: str, topic: str, number: int) -> dict[str, Any]:
        place = {"topic": topic, "partition": number}
        return place if self.sort == "replicator" else {"cluster": cluster, **place}

    async def change_offsets(self, subject: Subject, wanted: Sequence[Offset] | None) -> OffsetsChange | None:
        """Topics may be copied again from their start; an offset cannot be set to a number."""
        if self.sort not in COPYING:
            if wanted:
                raise ConnectorRefused(subject.name, f"{subject.name}: a sync job has no offsets of its own")
            return None
        return await change_offsets(subject, settings_of(subject), wanted)


def settings_of(subject: Subject) -> LinkSettings:
    """What a connector's link is set to. Raises ConnectorRefused for one that cannot be read."""
    name = subject.name
    settings = subject.plan.specs.get(link_name(subject.connector))
    if not isinstance(settings, LinkSettings):
        raise ConnectorRefused(name, subject.plan.troubles.get(name, f"{name}: no link is copied by it"))
    return settings


@dataclass(frozen=True)
class LinkFamily:
    """All of them; they are planned together with the links of the settings file."""

    def kinds(self) -> Sequence[LinkKind]:
        """The kinds of links, one per class name."""
        return [LinkKind(sort) for sort in CLASSES]

    def other_plugins(self) -> Sequence[OtherPlugin]:
        """None: records are copied as they are."""
        return ()

    def in_file(self, file: Resolved) -> list[Connector]:
        """Each link of the file, and its sync jobs that are on."""
        return connectors_of(file)

    def plan(self, file: Resolved | None, stored: Sequence[Connector], state_of: StateOf, grounds: Grounds) -> Part:
        """Read the links of the file and of all connectors together."""
        return plan_links(file, stored, state_of, grounds)


def _keys() -> list[Key[Any]]:
    return [
        key
        for key in CATALOGUE
        if Scope.LINK in key.scopes and isinstance(key.support, Supported) and not key.name.endswith("*")
    ]


def _definition(key: Key[Any]) -> Definition:
    kind = next((name for value_type, name in _TYPES if isinstance(key.kind, value_type)), "STRING")
    return Definition(key.name, "PASSWORD" if key.secret else kind, key.default, key.meaning)
