"""One epoch as a Spark job. It begins and ends on the driver, in a thread of its own.

A job, and not a streaming query: positions are in the target or in Kafka, so Spark need not keep any. A query would
start a Python process of its own for each epoch, and write a log of offsets.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from twinlog.pipelines.job_ends import pipeline_format
from twinlog.pipelines.run import SinkRun, SourceRun
from twinlog.spark.session import Session, make_active


@dataclass(frozen=True)
class Epoch:
    """A planned epoch: what tasks get, the reader's columns, and the plan between reader and writer."""

    run: SinkRun | SourceRun
    columns: str
    plan: Callable[[DataFrame], DataFrame]
    batch_rows: int


class Job:
    """The job of one epoch, from its start."""

    def __init__(self, session: Session, epoch: Epoch, pipeline: str) -> None:
        self._session, self._epoch, self._pipeline = session, epoch, pipeline
        self._name = "twinlog_" + "".join(c if c.isalnum() else "_" for c in f"{pipeline}_{time.monotonic_ns()}")
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=f"job-{pipeline}", daemon=True)
        self._thread.start()

    def ended(self, within_s: float) -> bool:
        """Whether it has ended, after at most so long. Raises what ended it."""
        self._thread.join(within_s)
        if self._thread.is_alive():
            return False
        if self._error is not None:
            raise self._error
        return True

    def stop(self) -> None:
        """End its tasks; returns when they have ended."""
        while self._thread.is_alive():
            self._session.sparkContext.cancelJobsWithTag(self._name)  # it may not be there yet
            self._thread.join(1)

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001  whoever waits gets it
            self._error = error

    def _work(self) -> None:
        session, epoch, name = self._session, self._epoch, self._name
        make_active(session)
        session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(epoch.batch_rows))
        context = session.sparkContext
        context.setLocalProperty("spark.scheduler.pool", self._pipeline)
        context.setLocalProperty("spark.job.description", self._pipeline)
        context.setInterruptOnCancel(True)
        context.addJobTag(name)
        session.dataSource.register(pipeline_format(epoch.run, name, epoch.columns))
        rows: Any = epoch.plan(session.read.format(name).load())
        rows.write.format(name).mode("append").save()
