"""What can be asked of the pipelines of a service, and ordered: state, positions, parked records, preview.

Runs in the service's loop; what blocks runs in threads. The page and /v1 use it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from twinlog.config.security.masking import masked
from twinlog.control.connector_service import ConnectorService
from twinlog.control.kinds import kind_of
from twinlog.control.states import ConnectorStatus
from twinlog.errors import ConnectorRefused, ConnectorUnknown, ParkedRefused
from twinlog.pipelines.spec import PipelineSpec
from twinlog.service.pipeline_job import PipelineJob

if TYPE_CHECKING:
    from twinlog.config.settings import ClientSettings
    from twinlog.control.kind import Offset
    from twinlog.pipelines.engine import Engine
    from twinlog.pipelines.parked import Parked, Place
    from twinlog.pipelines.preview_rows import Preview
    from twinlog.service.links import Service

NO_DEAD_LETTERS: Final = "it parks no records: errors.deadletterqueue.topic.name is not set"


@dataclass(frozen=True)
class PipelineView:
    """One pipeline as it is shown. `engine` is None where it does not run, or not here."""

    name: str
    type: str
    class_name: str
    config: Mapping[str, str]  # secrets are masked
    status: ConnectorStatus
    topics: tuple[str, ...]
    engine: Engine | None
    worker: str = ""  # HOST:PORT of the service that runs it; empty: unknown
    told: Mapping[str, float | None] = field(default_factory=dict)  # numbers of one that runs at another service

    @property
    def dead_letters(self) -> str:
        """The topic of its parked records; empty: it parks none."""
        return self.config.get("errors.deadletterqueue.topic.name", "")


class PipelineQueries:
    """The pipelines of one service, and its connectors that are none are left out."""

    def __init__(self, service: Service, control: ConnectorService) -> None:
        self._service = service
        self._control = control

    def names(self) -> list[str]:
        """All of them, those that stand still included."""
        return sorted(connector.name for connector in self._control.connectors.all() if _is_pipeline(connector))

    def engines(self) -> list[Engine]:
        """Those that run here."""
        return [job.engine for job in self._jobs() if job.engine is not None]

    def _jobs(self) -> list[PipelineJob]:
        return [job for job in self._service.jobs if isinstance(job, PipelineJob)]

    def view(self, name: str) -> PipelineView:
        """One of them. Raises ConnectorUnknown."""
        connectors = self._control.connectors
        connector = connectors.connector(name)
        if not _is_pipeline(connector):
            raise ConnectorUnknown(name, f"{name} is no pipeline: the page of its link shows it")
        sharing = self._control.sharing
        told, url = sharing.told_of(name), sharing.url_of(name)
        job = next((running for running in self._jobs() if running.spec.connector_name == name), None)
        return PipelineView(
            name, connectors.type(name), connector.class_name, masked(connector.config), connectors.status(name),
            (() if told is None else told.topics) if job is None else job.topics, None if job is None else job.engine,
            "" if url is None else urlsplit(url).netloc, {} if told is None else told.numbers,
        )  # fmt: skip

    async def offsets(self, name: str) -> list[Offset]:
        """How far it is. Raises ClusterError, ConnectorRefused."""
        return await self._control.connectors.offsets(name)

    async def parked(self, name: str) -> list[Parked]:
        """Its dead letters. Raises ClusterError, ConnectorRefused."""
        from twinlog.pipelines.parked import read_parked  # noqa: PLC0415  loads pyspark: a second

        cluster, topic = self._letters(name)
        return await asyncio.to_thread(read_parked, cluster, topic)

    async def replay(self, name: str, at: Sequence[str], repaired: Mapping[str, bytes], to: str | None) -> int:
        """Write open dead letters back to their topics; none named: all. Raises ParkedRefused, ClusterError."""
        from twinlog.pipelines.parked import Place, replay  # noqa: PLC0415  loads pyspark: a second

        cluster, topic = self._letters(name)
        chosen = chosen_of(topic, await self.parked(name), at)
        values = {Place.parse(place): value for place, value in repaired.items()}
        return await asyncio.to_thread(replay, cluster, topic, chosen, values, to)

    async def drop(self, name: str, at: Sequence[str]) -> int:
        """Say of open dead letters that nothing will be done with them. Raises ParkedRefused, ClusterError."""
        from twinlog.pipelines.parked import drop  # noqa: PLC0415  loads pyspark: a second

        cluster, topic = self._letters(name)
        return await asyncio.to_thread(drop, cluster, topic, chosen_of(topic, await self.parked(name), at))

    async def preview(self, name: str, rows: int) -> Preview:
        """Sample records after each step. Nothing is written. Raises ConnectorRefused, ClusterError."""
        spec = self._spec(name)
        return await asyncio.to_thread(self._service.preview, spec, rows)

    def _letters(self, name: str) -> tuple[ClientSettings, str]:
        spec, topic = self._spec(name), self.view(name).dead_letters
        if not topic:
            raise ConnectorRefused(name, f"{name}: {NO_DEAD_LETTERS}")
        return spec.worker.cluster, topic

    def _spec(self, name: str) -> PipelineSpec:
        self.view(name)
        plan = self._control.planning.plan
        spec = plan.specs.get(f"pipeline {name}")
        if not isinstance(spec, PipelineSpec):
            raise ConnectorRefused(name, plan.troubles.get(name, f"{name}: this service has not read it yet"))
        return spec


def chosen_of(topic: str, parked: Sequence[Parked], at: Sequence[str]) -> list[Parked]:
    """Those that are named; without names, all that are open. Raises ParkedRefused when there is none."""
    from twinlog.pipelines.parked import Place  # noqa: PLC0415  loads pyspark: a second

    try:
        places: set[Place] = {Place.parse(text) for text in at}
    except ValueError:
        raise ParkedRefused(topic, ", ".join(at), "a place is PARTITION:OFFSET, two numbers such as 0:17") from None
    missing = places - {record.place for record in parked}
    if missing:
        raise ParkedRefused(topic, str(min(missing)), "there is no such dead letter")
    chosen = [record for record in parked if (record.place in places if places else record.action == "open")]
    if not chosen:
        raise ParkedRefused(topic, "all", "no record is open")
    return chosen


def _is_pipeline(connector: Any) -> bool:
    kind = kind_of(connector)
    return kind is not None and kind.role == "pipeline"
