"""Kinds of work on Spark and the settings of each. Pure.

    MIRROR    a row is a whole batch of Kafka and must be passed on the moment it exists: no batching, no buffering
    TABLES    many small rows (verification, pipelines): normal Arrow batches, code generation, adaptive execution

Settings of a session can differ between sessions of one JVM. Settings of the process cannot: the buffer size, the
module of the worker daemon, the options of the JVM. A process takes those of the kind that it was started for; a
session of the other kind may run in it (`session.session_for`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_EVERY_SESSION: Final = {
    "spark.sql.streaming.minBatchesToRetain": "5",
    "spark.sql.streaming.stopTimeout": "15s",
    "spark.sql.streaming.numRecentProgressUpdates": "5",
    # The offset log holds an epoch number: checksum files and fsync tricks around it only lengthen the gap.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}
_EVERY_PROCESS: Final = {
    # Writer worker and JVM work at the same time.
    "spark.python.udf.pipelined.enabled": "true",
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    # A task lasts as long as its epoch: a second copy of a "slow" one would only fence the first.
    "spark.speculation": "false",
    # Not a notebook: no UI unless asked for (`--spark-conf spark.ui.enabled=true`), no history of thousands of epochs.
    "spark.ui.enabled": "false",
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.sql.ui.retainedExecutions": "10",
}


@dataclass(frozen=True)
class Work:
    """One kind of work: what its sessions need, what its process needs, and the options of its JVM."""

    session: Mapping[str, str]
    process: Mapping[str, str]
    jvm: str
    # Workers are forks of a daemon that has the data path loaded: quicker to start, and most memory is shared.
    daemon: str = "twinlog.flow.worker_daemon"


MIRROR: Final = Work(
    session={
        **_EVERY_SESSION,
        # One row per Arrow batch: a batch is passed on when it is there, not when an Arrow batch is full.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
        # Buffers smaller than any row: nothing waits for a buffer to fill. Costs no throughput, because rows are large.
        "spark.sql.execution.pandas.udf.buffer.size": "128",
        "spark.sql.execution.python.udf.buffer.size": "128",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
    },
    process={
        **_EVERY_PROCESS,
        "spark.buffer.size": "128",
        "spark.driver.memory": "512m",
    },
    # Nothing is computed in this JVM: a small one starts sooner and leaves the memory to the workers.
    jvm="-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss512k -XX:MaxMetaspaceSize=256m",
)
TABLES: Final = Work(
    session={
        **_EVERY_SESSION,
        "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
        "spark.sql.execution.pandas.udf.buffer.size": "65536",
        "spark.sql.execution.python.udf.buffer.size": "65536",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.codegen.wholeStage": "true",
        "spark.sql.session.timeZone": "UTC",
    },
    process={**_EVERY_PROCESS, "spark.driver.memory": "1g"},
    # Expressions over records run here: with the first compiler alone they cost 2.1 to 2.7 times as much.
    jvm="-XX:+UseParallelGC -Xss1m",
)
