"""One pipeline's life: plan an epoch, run it as a streaming query, look at how it ended. Runs in the service.

    plan ──▶ query runs (minutes) ──▶ ended: by time, new schema, other gear ──▶ plan …
                                  └─▶ broke ──▶ pause, longer each time ──▶ plan …

A failure is a visible state with its cause. It never ends the engine.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from pyspark.sql import DataFrame

from twinlog.errors import TwinlogError
from twinlog.model.backoff import Backoff
from twinlog.pipelines.connector import Connector
from twinlog.pipelines.progress import Progress
from twinlog.pipelines.records import PlanRefused
from twinlog.pipelines.run import SinkRun, SourceRun
from twinlog.pipelines.session import own_session
from twinlog.pipelines.settings import SettingsRefused
from twinlog.pipelines.stream import pipeline_format
from twinlog.pipelines.task_line import LineAddress, LineServer
from twinlog.spark.session import Session, driver_address, make_active

log = logging.getLogger("twinlog.pipelines")

_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 30.0
_NOTHING_S: Final = 0.5
_LOOK_S: Final = 1
_GRACE_S: Final = 15.0
_SOUND_S: Final = 5.0
"""A task that breaks does so at its start: after so long the epoch counts as running."""


@dataclass(frozen=True)
class Epoch:
    """A planned epoch: what tasks get, the reader's columns, and the plan between reader and writer."""

    run: SinkRun | SourceRun
    columns: str
    plan: Any  # DataFrame -> DataFrame
    batch_rows: int


@dataclass(frozen=True)
class Nothing:
    """There is nothing to run now."""

    waiting: str = ""  # what must come first; empty: everything that is there was handled
    idle: bool = False  # nobody need look at it: it waits for records, and for nothing else


class EpochBroke(Exception):
    """A task could not go on."""


class Planner(Protocol):
    """Plans the epochs of one kind of pipeline."""

    def plan(self, session: Session, line: LineAddress) -> Epoch | Nothing:
        """The next epoch, or why there is none now."""
        ...

    def heard(self, report: Mapping[str, Any]) -> None:
        """What a task reported."""
        ...

    def broke(self) -> None:
        """The epoch that was planned last ended before its work was done."""
        ...


class Engine:
    """Runs one pipeline in a thread of its own."""

    def __init__(self, connector: Connector, planner: Planner, spark: Session, scratch: Path) -> None:
        self.connector = connector
        self.progress = Progress()
        self.planner = planner
        self._spark = spark
        self._scratch = scratch
        self._stopping = threading.Event()
        self._line: LineServer | None = None
        self._query: Any = None
        self._broke = ""
        self._thread = threading.Thread(target=self._run, name=f"pipeline-{connector.name}", daemon=True)

    def start(self) -> None:
        self.progress.state = "RUNNING"
        self._thread.start()

    def stop(self, within_s: float = _GRACE_S) -> None:
        """End the epoch; tasks that do not end by themselves in time are cancelled."""
        self._stopping.set()
        if self._line is not None:
            self._line.stop_tasks()
        self._thread.join(within_s)
        query = self._query
        if self._thread.is_alive() and query is not None:
            query.stop()
            self._thread.join(within_s)

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def wait(self, within_s: float) -> bool:
        """Wait until the pipeline ends by itself (run = available)."""
        self._thread.join(within_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        backoff = Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S)
        while not self._stopping.is_set():
            try:
                nothing = self._epoch()
            except (TwinlogError, PlanRefused, SettingsRefused, EpochBroke) as error:
                self._failed(f"{error}")
            except Exception as error:  # one pipeline's failure must not end the service
                log.debug("%s", self.connector.name, exc_info=True)
                self._failed(self._broke or f"{type(error).__name__}: {error}")
            else:
                self.progress.sound(moved=True)
                backoff.reset()
                if nothing is not None:
                    self.progress.waiting = "" if nothing.idle else nothing.waiting
                    if self.connector.common.run == "available" and not nothing.waiting:
                        self.progress.caught_up = not self.progress.faults
                        return
                    self._stopping.wait(_NOTHING_S)
                continue
            self._stopping.wait(backoff.next_s())

    def _failed(self, reason: str) -> None:
        if self._stopping.is_set():
            return
        self.progress.fail(reason)
        log.warning("%s: %s; trying again", self.connector.name, reason)

    def _epoch(self) -> Nothing | None:
        """Plan and run one epoch, or tell why there is none."""
        self._broke = ""
        self._line = LineServer(self._heard, *driver_address(self._spark))
        session = own_session(self._spark)
        folder = Path(tempfile.mkdtemp(prefix="pipeline-", dir=self._scratch))
        try:
            epoch = self.planner.plan(session, self._line.address)
            if isinstance(epoch, Nothing):
                return epoch
            self.progress.waiting = ""
            self.progress.epochs += 1
            self.progress.restarts += int(self.progress.failures_in_a_row > 0)
            self.progress.tasks = len(epoch.run.tasks)
            self._query = self._started(session, epoch, folder)
            if self._stopping.is_set():
                self._line.stop_tasks()
            self._await(self._query)
        except BaseException:
            self.planner.broke()
            raise
        else:
            return None
        finally:
            self._query = None
            self._line.close()
            self.progress.end_epoch()
            shutil.rmtree(folder, ignore_errors=True)

    def _await(self, query: Any) -> None:
        """Wait for the end of the epoch. A task that broke ends it: Spark would run the task again without a pause."""
        began = time.monotonic()
        while not query.awaitTermination(_LOOK_S):
            if self._broke:
                query.stop()
                raise EpochBroke(self._broke)
            if self.progress.state == "FAILED" and time.monotonic() - began > _SOUND_S:
                self.progress.sound()

    def _started(self, session: Session, epoch: Epoch, folder: Path) -> Any:
        name = "twinlog_" + "".join(c if c.isalnum() else "_" for c in f"{self.connector.name}_{time.monotonic_ns()}")
        session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(epoch.batch_rows))
        make_active(session)
        session.sparkContext.setLocalProperty("spark.scheduler.pool", self.connector.name)
        session.dataSource.register(pipeline_format(epoch.run, name, epoch.columns))
        rows: DataFrame = epoch.plan(session.readStream.format(name).load())
        return (
            rows.writeStream.format(name)
            .queryName(f"{self.connector.name} {time.monotonic_ns()}")
            .option("checkpointLocation", str(folder))
            .trigger(availableNow=True)
            .start()
        )

    def _heard(self, report: Mapping[str, Any]) -> None:
        """A task's report; comes in a thread of its connection."""
        self.progress.take(report)
        if "broke" in report:
            self._broke = str(report["broke"])
        if "counts" in report and self.connector.kind == "source":
            self.progress.faults = []  # the record that stopped it was passed
        self.planner.heard(report)
        if {"end", "fault", "stream"} & report.keys() and self._line is not None:
            # The other tasks would go on for minutes with a plan that is not right any more.
            self._line.stop_tasks()
