"""What a kind of connector brings. A kind that brings it is one entry in one list (control/kinds.py).

    class name ─▶ Kind ─▶ type, keys, check            /connector-plugins, /validate, POST and PUT of /connectors
                      └─▶ status, topics, offsets      /connectors/NAME/…, the command line, metrics
    Family ─▶ plan: all its connectors together ─▶ specs ─▶ jobs of the fleet (engine/fleet.py)

Kinds that must be planned together are a family: a link and the sync jobs that other connectors switch on for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from twinlog.config.resolve import Resolved
from twinlog.config.settings import HeartbeatPair, LinkSettings
from twinlog.control.grounds import Grounds
from twinlog.control.states import ConnectorStatus, EngineView
from twinlog.engine.spec_changes import Change, Spec
from twinlog.errors import Finding
from twinlog.model.connectors import Connector, TargetState

ConnectorType: TypeAlias = Literal["source", "sink"]
Role: TypeAlias = Literal["link", "sync job", "pipeline"]
"""What the command line lists a connector as."""
Position: TypeAlias = tuple[str, int, int]
"""Source topic, partition, and the offset to copy next."""


StateOf: TypeAlias = Callable[[str], TargetState]
"""What was asked for a connector of the file, by its name."""


class Definition(NamedTuple):
    """One key that may be set, in Connect's words."""

    name: str
    type: str = "STRING"
    default: str | None = None
    meaning: str = ""
    required: bool = False
    importance: str = "MEDIUM"


@dataclass(frozen=True)
class OtherPlugin:
    """A plugin that is no connector: a converter, a transform or a predicate."""

    class_name: str
    type: str
    version: str
    definitions: Callable[[], Sequence[Definition]]
    is_called: Callable[[str], bool]


class Offset(NamedTuple):
    """How far a connector is in one partition of its source, in Connect's form. None forgets it."""

    partition: Mapping[str, Any]
    offset: Mapping[str, Any] | None


@dataclass(frozen=True)
class OffsetsChange:
    """A change of offsets that was checked and may be made. `after` goes into the audit."""

    what: str
    after: Any
    apply: Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class Part:
    """What is to run of one family. `specs` has every job by its name, also those that stand still."""

    jobs: tuple[Spec, ...] = ()
    specs: Mapping[str, Spec] = field(default_factory=dict)
    troubles: Mapping[str, str] = field(default_factory=dict)  # by connector: why it does not run
    heartbeats: tuple[HeartbeatPair, ...] = ()

    @property
    def links(self) -> tuple[LinkSettings, ...]:
        """The links that are to run."""
        return tuple(spec for spec in self.jobs if isinstance(spec, LinkSettings))


@dataclass(frozen=True)
class Plan(Part):
    """What is to run of all families. `refused` says by job why this machine cannot run it."""

    refused: Mapping[str, str] = field(default_factory=dict)


class Runner(Protocol):
    """What runs jobs (given by the service)."""

    async def become(self, specs: Sequence[Spec], heartbeats: Sequence[HeartbeatPair]) -> tuple[Change, ...]:
        """Run these jobs and nothing else."""

    async def begun(self) -> None:
        """Wait until jobs can run."""

    async def restart(self, name: str) -> None:
        """Restart a job."""

    def snapshot(self, name: str) -> EngineView | None:
        """The state of a job; None when there is none of this name."""

    def check(self, spec: Spec) -> None:
        """Raise TwinlogError when this machine cannot run a job. Blocking."""

    async def positions(self, link: LinkSettings) -> list[Position]:
        """How far a link is, by its ledger."""

    async def forget(self, link: LinkSettings, topic: str) -> None:
        """Copy a topic again from its start."""


@dataclass(frozen=True)
class Subject:
    """One connector that a kind is asked about, with the plan that it is part of. `active`: this service leads.

    `elsewhere` is the state of its job where another service of the group runs it.
    """

    connector: Connector
    plan: Plan
    runner: Runner
    active: bool
    elsewhere: EngineView | None = None

    @property
    def name(self) -> str:
        return self.connector.name


class Kind(Protocol):
    """One class of connectors."""

    @property
    def class_name(self) -> str:
        """The class in full; users may leave the package and the word Connector out."""

    @property
    def type(self) -> ConnectorType:
        """Whether records come from its source into Kafka, or go from Kafka to a sink."""

    @property
    def role(self) -> Role:
        """What the command line lists it as."""

    @property
    def may_come_first(self) -> bool:
        """Whether it may be made before that what it needs: it runs once that is there."""

    def is_called(self, name: str) -> bool:
        """Whether a user means this class by a name."""

    def about(self, connector: Connector) -> str:
        """What rights are granted for, and what it is listed by: the link, or the connector itself."""

    def job(self, connector: Connector) -> str:
        """The name of the job that does its work."""

    def definitions(self) -> Sequence[Definition]:
        """The keys that may be set; required ones first."""

    def check(self, connector: Connector, grounds: Grounds) -> tuple[Finding, ...]:
        """Everything that is wrong with one connector by itself. Blocking: it may read files."""

    def try_out(self, connector: Connector, grounds: Grounds) -> tuple[Finding, ...]:
        """What the other system says about a connector that is in order by itself. Blocking: it asks that system."""

    def status(self, subject: Subject) -> ConnectorStatus:
        """The state of a connector and its tasks."""

    async def topics(self, subject: Subject) -> list[str]:
        """The topics that it writes to, or reads."""

    async def offsets(self, subject: Subject) -> list[Offset]:
        """How far it is."""

    async def change_offsets(self, subject: Subject, wanted: Sequence[Offset] | None) -> OffsetsChange | None:
        """Check a change of offsets of a stopped connector; None for `wanted` forgets all. Raises ConnectorRefused.

        Returns None when there is nothing to change.
        """


class Family(Protocol):
    """Kinds that are planned together."""

    def kinds(self) -> Sequence[Kind]:
        """All kinds of connectors."""

    def other_plugins(self) -> Sequence[OtherPlugin]:
        """What its connectors may be configured with."""

    def in_file(self, file: Resolved) -> list[Connector]:
        """What the settings file has of them, shown as connectors."""

    def plan(self, file: Resolved | None, stored: Sequence[Connector], state_of: StateOf, grounds: Grounds) -> Part:
        """Read all of its connectors together. Blocking. A connector that cannot be read stops only itself (R8)."""
