"""Spark sessions for pipelines: one JVM with the full compiler, one session per pipeline. Runs in the service."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from twinlog.engine.query import FLOWING, SparkRuntime, start_session
from twinlog.machine.java import spark_java_home

RECORDS: Final[dict[str, str]] = {
    # Expressions over records are what this JVM does all day: C2 makes them 2 to 3 times cheaper than C1 alone.
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC -Xss1m",
    "spark.driver.memory": "1g",
    "spark.python.daemon.module": "twinlog.pipelines.worker_daemon",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    # As Java does it: numbers wrap, texts that are no number become null. Our expressions tell errors themselves.
    "spark.sql.ansi.enabled": "false",
    # TimestampConverter takes the letters of SimpleDateFormat.
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.scheduler.mode": "FAIR",
    "spark.sql.caseSensitive": "true",
}


def start_pipeline_spark(scratch: Path, slots: int, **options: str) -> SparkSession:
    """The Spark of a process that runs pipelines. Raises what Spark raises."""
    scratch.mkdir(parents=True, exist_ok=True)
    java = f"{RECORDS['spark.driver.extraJavaOptions']} -Djava.io.tmpdir={scratch}"
    settings = FLOWING | RECORDS | {"spark.driver.extraJavaOptions": java} | options
    return start_session(SparkRuntime(None, slots, str(spark_java_home()), settings, scratch / "spark.log"))


def own_session(spark: SparkSession, **options: str) -> SparkSession:
    """A session of one pipeline: its settings are nobody else's."""
    session: Any = spark.newSession()
    for name, value in options.items():
        session.conf.set(name.replace("__", "."), value)
    return session  # type: ignore[no-any-return]
