"""A pipeline as a job of the fleet: started in a thread of its own, looked at and stopped from the service's loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

from twinlog.errors import ConnectorRefused, EngineDied
from twinlog.pipelines.engine import Engine
from twinlog.pipelines.settings import SettingsRefused
from twinlog.pipelines.sink_planner import SinkPlanner
from twinlog.pipelines.source_planner import SourcePlanner
from twinlog.pipelines.spec import PipelineSpec
from twinlog.pipelines.worker import Pipelines
from twinlog.spark.session import Session, is_gone

_PHASES: Final = {"RUNNING": "running", "FAILED": "waiting"}
_LOOK_S: Final = 0.5


class PipelineJob:
    """Runs one pipeline. A failure inside of it is a state with its cause, never the end of the job."""

    take_over = False

    def __init__(
        self, spec: PipelineSpec, session: Callable[[], Session], scratch: Path, worker_id: str = "twinlog"
    ) -> None:
        """Nothing is started yet; `session` gives the Spark of the process once it is there."""
        self._worker_id = worker_id
        self._spec = spec
        self._session = session
        self._scratch = scratch
        self._asked = asyncio.Event()
        self._engine: Engine | None = None
        self._ended = False

    @property
    def spec(self) -> PipelineSpec:
        return self._spec

    @property
    def engine(self) -> Engine | None:
        """What runs it, once it was started."""
        return self._engine

    @property
    def phase(self) -> str:
        """starting, running, waiting or stopped."""
        if self._ended:
            return "stopped"
        return "starting" if self._engine is None else _PHASES.get(self._engine.progress.state, "starting")

    @property
    def trouble(self) -> str | None:
        """Why it does not advance, if so."""
        progress = None if self._engine is None else self._engine.progress
        if progress is None:
            return None
        return (progress.trace if progress.state == "FAILED" else progress.hindrance) or None

    @property
    def tasks(self) -> int:
        """How many tasks do its work."""
        return 1 if self._engine is None else max(1, self._engine.progress.tasks)

    @property
    def task_troubles(self) -> dict[int, str]:
        """Why single tasks do not advance: a system that they wait for, or partitions that stand still."""
        return {} if self._engine is None else self._engine.progress.troubles()

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that a sink reads, or a source writes to."""
        planner = None if self._engine is None else self._engine.planner
        if isinstance(planner, SinkPlanner):
            return tuple(planner.topics())
        if isinstance(planner, SourcePlanner):
            return tuple(sorted({topic for topic, _, _ in planner.streams}))
        return ()

    async def run(self) -> None:
        """Until stopped. Raises ClusterError when its topics cannot be had, EngineDied when Spark is gone."""
        session = self._session()
        pipelines = Pipelines(self._spec.worker, session, self._worker_id)
        try:
            self._engine = await asyncio.to_thread(self._started, pipelines)
            while not self._asked.is_set():
                if self._engine.progress.state == "FAILED" and await asyncio.to_thread(is_gone, session):
                    raise EngineDied(self._engine.progress.trace)
                await _within(self._asked, _LOOK_S)
        finally:
            await asyncio.to_thread(pipelines.close)
            self._ended = True

    def _started(self, pipelines: Pipelines) -> Engine:
        self._scratch.mkdir(parents=True, exist_ok=True)
        pipelines.prepare()
        try:
            return pipelines.start(self._spec.connector_name, self._spec.config, self._spec.provided)
        except SettingsRefused as error:
            raise ConnectorRefused(self._spec.connector_name, self._spec.provided.masked(str(error))) from None

    def stop(self) -> None:
        """Ask for a clean end: what was read is written first."""
        self._asked.set()


async def _within(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
