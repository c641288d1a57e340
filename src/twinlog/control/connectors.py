"""The connectors of a service, read-only: names, configs, states, topics and offsets. Runs in the service's loop."""

from __future__ import annotations

from dataclasses import dataclass

from twinlog.control.kind import Kind, Offset, Runner, Subject
from twinlog.control.kinds import kind_of, unknown_class
from twinlog.control.leadership import Leadership
from twinlog.control.planning import Planning
from twinlog.control.sharing import Sharing
from twinlog.control.states import ConnectorStatus, EngineView, judge
from twinlog.errors import ConnectorRefused, ConnectorUnknown
from twinlog.model.connectors import Connector


@dataclass
class Connectors:
    """All connectors of the group, those of the settings file included."""

    leadership: Leadership
    planning: Planning
    runner: Runner
    sharing: Sharing

    @property
    def made_of(self) -> object:
        """What the list of connectors is made of: the same objects until it changes."""
        return self.planning.file, self.leadership.group_state

    def all(self) -> list[Connector]:
        """All of them, those of the file first."""
        return self.planning.connectors(self.leadership.group_state)

    def names(self) -> list[str]:
        """The names of all connectors."""
        return [connector.name for connector in self.all()]

    def find(self, name: str) -> Connector | None:
        """One of them by its name."""
        return next((connector for connector in self.all() if connector.name == name), None)

    def connector(self, name: str) -> Connector:
        """One of them by its name. Raises ConnectorUnknown."""
        connector = self.find(name)
        if connector is None:
            raise ConnectorUnknown(name, f"Connector {name} not found")
        return connector

    def about(self, name: str) -> str | None:
        """What rights for a connector are granted for, usually its link; None when there is no such connector."""
        connector = self.find(name)
        if connector is None:
            return None
        kind = kind_of(connector)
        return name if kind is None else kind.about(connector)

    def kind(self, name: str) -> Kind:
        """The kind of a connector. Raises ConnectorUnknown, and ConnectorRefused for a class that nobody has."""
        connector = self.connector(name)
        kind = kind_of(connector)
        if kind is None:
            raise ConnectorRefused(name, unknown_class(connector.class_name))
        return kind

    def type(self, name: str) -> str:
        """Source or sink; `unknown`, as with Connect, for a class that nobody has."""
        kind = kind_of(self.connector(name))
        return "unknown" if kind is None else kind.type

    def subject(self, name: str) -> Subject:
        """What its kind is asked about."""
        connector = self.connector(name)
        return Subject(connector, self.planning.plan, self.runner, self.leadership.active, self._view_elsewhere(name))

    def status(self, name: str) -> ConnectorStatus:
        """The state of a connector and its tasks."""
        subject = self.subject(name)
        told = self.sharing.told_of(name)
        if told is not None:  # The service that runs it knows best: it may have classes that this one does not have.
            view = told.view or self.runner.snapshot(f"pipeline {name}") or subject.elsewhere
            return judge(subject.connector.state, told.refused, view, copies=True)
        kind = kind_of(subject.connector)
        if kind is None:
            return ConnectorStatus("FAILED", unknown_class(subject.connector.class_name))
        return kind.status(subject)

    def _view_elsewhere(self, name: str) -> EngineView | None:
        """What another service tells of a pipeline's job; a job that it has not ended yet is there, whoever owns it."""
        told = self.sharing.told_of(name)
        if told is not None and told.view is not None:
            return told.view
        return EngineView("running", None) if self.sharing.holder_of(name) is not None else None

    async def topics(self, name: str) -> list[str]:
        """The topics that it writes to, or reads."""
        return await self.kind(name).topics(self.subject(name))

    async def offsets(self, name: str) -> list[Offset]:
        """How far it is."""
        return await self.kind(name).offsets(self.subject(name))
