"""The query: Spark's session and one streaming query per link. Runs in the service's process (the Spark driver).

The settings below were measured one by one; each has its reason. Rows must flow the moment they exist, and a row is a
whole parcel, so Spark's batching and buffering are switched off.
"""

from __future__ import annotations

import logging
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.accumulators import AccumulatorTCPServer, AccumulatorUnixServer
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from twinlog.errors import EngineDied, told
from twinlog.flow.source import LinkRun, link_format

log = logging.getLogger("twinlog.query")

FLOWING: Final[dict[str, str]] = {
    # One row per Arrow batch: a parcel goes on when it is there, not when a batch is full.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
    # Buffers smaller than any row: nothing waits for a buffer to fill. Costs no throughput, because rows are large.
    "spark.sql.execution.pandas.udf.buffer.size": "128",
    "spark.sql.execution.python.udf.buffer.size": "128",
    "spark.buffer.size": "128",
    # Workers are forks of a daemon that has the data path loaded: quicker to start, and most memory is shared.
    "spark.python.daemon.module": "twinlog.flow.worker_daemon",
    # Writer worker and JVM work at the same time.
    "spark.python.udf.pipelined.enabled": "true",
    # The offset log holds an epoch number: checksum files and fsync tricks around it only lengthen the gap.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    # A task lasts as long as its epoch: a second copy of a "slow" one would only fence the first.
    "spark.speculation": "false",
    "spark.sql.streaming.minBatchesToRetain": "5",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.streaming.stopTimeout": "15s",
    # Not a notebook: no UI unless asked for, no history of thousands of epochs in memory.
    "spark.ui.enabled": "false",
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.sql.streaming.numRecentProgressUpdates": "5",
}
GUARDED: Final[dict[str, str]] = {
    # Spark's ports (driver, block manager) read Java objects from whoever connects, also from other users of this
    # machine. With these two they talk only to who knows the secret; on this machine Spark makes one by itself.
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
}
SOCKET_FOLDER_BYTES: Final = 60
"""The path of a socket may have 103 bytes (macOS), of which Spark's file name takes 43; beyond that we use TCP."""
JVM: Final = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss512k -XX:MaxMetaspaceSize=256m"


@dataclass(frozen=True)
class SparkRuntime:
    """How Spark is run: where, with how many slots, and what the user adds."""

    master: str | None
    slots: int
    java_home: str | None
    options: dict[str, str]
    log: Path


def _lean_home(scratch: Path) -> Path:
    """Spark's home without its zipped copy of pyspark.

    Spark puts that zip before everything else on the path of each Python process it starts, where it is compiled anew
    every time: half a second of CPU for each of about ten. Without it they load the installed package.
    """
    home = scratch / "spark-home"
    home.mkdir()
    installed = Path(pyspark.__file__).parent
    for name in ("bin", "sbin", "jars", "licenses"):
        if (installed / name).exists():
            (home / name).symlink_to(installed / name)
    return home


def _hush_counters() -> None:
    """Spark's channel for accumulators breaks when a query is stopped hard, with a stack trace on the terminal.

    We use none of them, and the JVM opens the channel again by itself.
    """

    def note(self: object, request: object, client_address: object) -> None:
        log.debug("Spark closed its channel for accumulators: %r, %r, %r", self, request, client_address)

    for server in (AccumulatorTCPServer, AccumulatorUnixServer):
        server.handle_error = note  # type: ignore[method-assign]


TIMELESS: Final = {"spark.storage.blockManagerHeartbeatTimeoutMs": str(24 * 3_600_000)}
"""Driver and executor are one JVM: a clock that is set an hour ahead must not part them (default: 120 s)."""


def start_session(engine: SparkRuntime) -> SparkSession:
    """The one Spark session of this process."""
    if engine.master is None:
        os.environ["SPARK_HOME"] = str(_lean_home(engine.log.parent))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1" if engine.master is None else "")
    if not os.environ["SPARK_LOCAL_IP"]:
        del os.environ["SPARK_LOCAL_IP"]
    os.environ.setdefault("MALLOC_ARENA_MAX", "2")
    if engine.java_home:
        os.environ["JAVA_HOME"] = engine.java_home
    _hush_counters()
    master = engine.master or f"local[{engine.slots},1000000]"  # a task may fail as often as brokers make it
    scratch = engine.log.parent
    own = {
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": f"{JVM} -Djava.io.tmpdir={scratch}",
        "spark.local.dir": str(scratch),
        # No delayed acknowledgements of TCP between JVM and workers.
        "spark.python.unix.domain.socket.enabled": str(len(os.fsencode(scratch)) <= SOCKET_FOLDER_BYTES).lower(),
    }
    here = GUARDED | TIMELESS if master.startswith("local") else {}
    settings = FLOWING | own | here | engine.options
    conf = SparkConf().setAppName("twinlog").setMaster(master).setAll(list(settings.items()))
    # What the JVM and the workers print is for the log: it would drown what we say ourselves.
    with engine.log.open("ab") as log:
        gateway = launch_gateway(conf, {"stdout": log, "stderr": log})  # type: ignore[no-untyped-call]
    context = SparkContext(conf=conf, gateway=gateway)
    _warn_unless_guarded(context, master)
    context.setLogLevel(os.environ.get("TWINLOG_SPARK_LOG", "ERROR"))
    return SparkSession(context)


def _warn_unless_guarded(context: SparkContext, master: str) -> None:
    """Say what a cluster without its secret means: passwords of links travel to executors in Spark's messages."""
    missing = [name for name in GUARDED if context.getConf().get(name, "false") != "true"]
    if missing:
        log.warning(
            "Spark at %s: %s not true. Passwords of links travel to its executors in clear text, and whoever reaches "
            "its ports can run code. Set them, and spark.authenticate.secret, on the cluster and with --spark-conf",
            master, " and ".join(f"{name} is" for name in missing),
        )  # fmt: skip


def start_query(session: SparkSession, run: LinkRun, checkpoint: Path) -> Any:
    """Start the stream of one link. The checkpoint folder is disposable. Raises EngineDied when Spark is gone."""
    try:
        return _started(session, run, checkpoint)
    except Exception as error:
        if _is_gone(session):
            raise EngineDied(told(error)) from error
        raise


def _is_gone(session: SparkSession) -> bool:
    try:
        return bool(session.sparkContext._jsc.sc().isStopped())  # noqa: SLF001
    except Exception:  # noqa: BLE001  whatever keeps it from answering: nothing can be started on it
        return True


def _started(session: SparkSession, run: LinkRun, checkpoint: Path) -> Any:
    name = f"twinlog_{run.link.source}_{run.link.target}_{run.generation}"
    name = "".join(c if c.isalnum() else "_" for c in name)
    # Spark looks Python data sources up in the active session of the calling thread, and ours changes.
    jvm: Any = session._jvm  # noqa: SLF001
    jvm.SparkSession.setActiveSession(session._jsparkSession)  # noqa: SLF001
    session.dataSource.register(link_format(run, name))
    rows = session.readStream.format(name).load()
    return (
        rows.writeStream.format(name)
        # Not the link's name alone: a query that is still ending holds its name, and must not keep the next one away.
        .queryName(f"{run.link.name} {run.generation}")
        .option("checkpointLocation", str(checkpoint))
        .option("asyncProgressTrackingEnabled", "false")
        .start()
    )
