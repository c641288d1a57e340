"""Spark sessions for pipelines: a JVM for tables, one session per pipeline. Runs in the service."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from twinlog.machine.java import spark_java_home
from twinlog.spark.session import Session, SparkRuntime, session_for, start_session
from twinlog.spark.work import MIRROR, TABLES

_BUFFERS: Final = ("spark.sql.execution.pandas.udf.buffer.size", "spark.sql.execution.python.udf.buffer.size")
PIPELINES: Final = replace(
    TABLES,
    session={
        **TABLES.session,
        # A record is passed on when its batch is complete, as in the mirror: nothing waits for a buffer to fill.
        **{name: MIRROR.session[name] for name in _BUFFERS},
        # As Java does it: numbers wrap, texts that are no number become null. Our expressions tell errors themselves.
        "spark.sql.ansi.enabled": "false",
        # TimestampConverter takes the letters of SimpleDateFormat.
        "spark.sql.legacy.timeParserPolicy": "LEGACY",
        "spark.sql.caseSensitive": "true",
    },
    process={
        **TABLES.process,
        "spark.buffer.size": MIRROR.process["spark.buffer.size"],
        "spark.scheduler.mode": "FAIR",
    },
    daemon="twinlog.pipelines.worker_daemon",
)


def start_pipeline_spark(scratch: Path, slots: int, **options: str) -> Session:
    """The Spark of a process that runs pipelines. Raises what Spark raises."""
    scratch.mkdir(parents=True, exist_ok=True)
    return start_session(SparkRuntime(PIPELINES, None, slots, str(spark_java_home()), options, scratch / "spark.log"))


def own_session(spark: Session, **options: str) -> Session:
    """A session of one pipeline: its settings are nobody else's."""
    return session_for(spark, PIPELINES, **options)
