"""Starting Spark: one JVM per process, and sessions inside it. Runs in the service's process (the Spark driver)."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import py4j.java_gateway  # type: ignore[import-untyped]
import py4j.protocol  # type: ignore[import-untyped]
import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.accumulators import AccumulatorTCPServer, AccumulatorUnixServer
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from twinlog.spark.jvm_end import error_file_option, how_it_ended
from twinlog.spark.work import Work

log = logging.getLogger("twinlog.spark")

Session: TypeAlias = SparkSession
"""A session, for whoever is given one."""

GUARDED: Final[dict[str, str]] = {
    # Spark's ports (driver, block manager) read Java objects from whoever connects, also from other users of this
    # machine. With these two they talk only to who knows the secret; on this machine Spark makes one by itself.
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
}
TIMELESS: Final = {"spark.storage.blockManagerHeartbeatTimeoutMs": str(24 * 3_600_000)}
"""Driver and executor are one JVM: a clock that is set an hour ahead must not part them (default: 120 s)."""
SOCKET_FOLDER_BYTES: Final = 60
"""The path of a socket may have 103 bytes (macOS), of which Spark's file name takes 43; beyond that we use TCP."""

JVM_END_S: Final = 10.0
"""How long a JVM may take to end before it is killed."""


@dataclass(frozen=True)
class SparkRuntime:
    """How Spark is run: for which work, where, with how many slots, and what the user adds."""

    work: Work
    master: str | None
    slots: int
    java_home: str | None
    options: Mapping[str, str]
    log: Path


def start_session(runtime: SparkRuntime) -> Session:
    """Start the JVM of this process, and a session for its kind of work. Blocking, seconds long."""
    _set_environment(runtime)
    _hush_counters()
    master = runtime.master or f"local[{runtime.slots},1000000]"  # a task may fail as often as brokers make it
    settings = {**_settings(runtime), **(GUARDED | TIMELESS if master.startswith("local") else {}), **runtime.options}
    conf = SparkConf().setAppName("twinlog").setMaster(master).setAll(list(settings.items()))
    # What the JVM and the workers print is for the log: it would drown what we say ourselves.
    with runtime.log.open("ab") as file:
        gateway = launch_gateway(conf, {"stdout": file, "stderr": file})  # type: ignore[no-untyped-call]
    context = SparkContext(conf=conf, gateway=gateway)
    _warn_unless_guarded(context, master)
    context.setLogLevel(os.environ.get("TWINLOG_SPARK_LOG", "ERROR"))
    return SparkSession(context)


def session_for(session: Session, work: Work, **options: str) -> Session:
    """Another session in the same JVM, for another kind of work. Its settings and data sources are its own.

    `options` are settings by name, with two underscores for a dot.
    """
    other = session.newSession()
    for name, value in {**work.session, **{k.replace("__", "."): v for k, v in options.items()}}.items():
        if other.conf.get(name, None) != value:
            other.conf.set(name, value)
    return other


def make_active(session: Session) -> None:
    """Make it the active session of the calling thread: Spark looks up Python data sources there."""
    jvm: Any = session._jvm  # noqa: SLF001  pyspark offers no other way
    jvm.SparkSession.setActiveSession(session._jsparkSession)  # noqa: SLF001


def active_session() -> Session:
    """The active session of the calling thread. Raises RuntimeError where there is none."""
    session = SparkSession.getActiveSession()
    if session is None:
        raise RuntimeError("no Spark session is active in this thread")
    return session


def driver_address(session: Session) -> tuple[str, str]:
    """The host by which executors find this process, and the address it must listen at for them."""
    if str(session.sparkContext.master or "local").startswith("local"):
        return "127.0.0.1", ""
    conf = session.sparkContext.getConf()
    host = conf.get("spark.driver.host") or socket.getfqdn()
    return host, conf.get("spark.driver.bindAddress") or host


def is_gone(session: Session) -> bool:
    """Whether nothing can be started on it any more."""
    try:
        return bool(session.sparkContext._jsc.sc().isStopped())  # noqa: SLF001
    except Exception:  # noqa: BLE001  whatever keeps it from answering
        return True


def how_jvm_ended() -> str | None:
    """What is known of the end of this process's JVM; None while it runs. Waits for a second at most."""
    gateway: Any = SparkContext._gateway  # noqa: SLF001  pyspark offers no other way
    return None if gateway is None else how_it_ended(gateway.proc)


def stop_session(session: Session) -> None:
    """End a session and its JVM, whether it still lives or not. Sessions that share the JVM end with it.

    pyspark keeps the JVM for the next session of the process, which would then run with the options of the first.
    """
    with contextlib.suppress(Exception):  # its JVM may be gone already, which is what we want
        session.stop()
    gateway: Any = SparkContext._gateway  # noqa: SLF001  pyspark offers no other way
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
    # pyspark put its own reader of Java's exceptions into py4j, which asks this JVM about them.
    py4j.java_gateway.get_return_value = py4j.protocol.get_return_value
    if gateway is None:
        return
    with contextlib.suppress(Exception):
        gateway.shutdown()
    gateway.proc.stdin.close()  # the JVM ends with this pipe
    try:
        gateway.proc.wait(JVM_END_S)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()
        gateway.proc.wait()


def _settings(runtime: SparkRuntime) -> dict[str, str]:
    scratch = runtime.log.parent
    return {
        **runtime.work.session,
        **runtime.work.process,
        "spark.python.daemon.module": runtime.work.daemon,
        "spark.driver.extraJavaOptions": f"{runtime.work.jvm} -Djava.io.tmpdir={scratch} {error_file_option()}",
        "spark.local.dir": str(scratch),
        # No delayed acknowledgements of TCP between JVM and workers.
        "spark.python.unix.domain.socket.enabled": str(len(os.fsencode(scratch)) <= SOCKET_FOLDER_BYTES).lower(),
    }


def _set_environment(runtime: SparkRuntime) -> None:
    if runtime.master is None:
        os.environ["SPARK_HOME"] = str(_lean_home(runtime.log.parent))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1" if runtime.master is None else "")
    if not os.environ["SPARK_LOCAL_IP"]:
        del os.environ["SPARK_LOCAL_IP"]
    os.environ.setdefault("MALLOC_ARENA_MAX", "2")
    if runtime.java_home:
        os.environ["JAVA_HOME"] = runtime.java_home


def _lean_home(scratch: Path) -> Path:
    """Spark's home without its zipped copy of pyspark.

    Spark puts that zip before everything else on the path of each Python process it starts, where it is compiled anew
    every time: half a second of CPU for each of about ten. Without it they load the installed package.
    """
    home = scratch / "spark-home"
    home.mkdir(exist_ok=True)
    installed = Path(pyspark.__file__).parent
    for name in ("bin", "sbin", "jars", "licenses"):
        if (installed / name).exists() and not (home / name).exists():
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


def _warn_unless_guarded(context: SparkContext, master: str) -> None:
    """Say what a cluster without its secret means: passwords of links travel to executors in Spark's messages."""
    missing = [name for name in GUARDED if context.getConf().get(name, "false") != "true"]
    if missing:
        log.warning(
            "Spark at %s: %s not true. Passwords of links travel to its executors in clear text, and whoever reaches "
            "its ports can run code. Set them, and spark.authenticate.secret, on the cluster and with --spark-conf",
            master, " and ".join(f"{name} is" for name in missing),
        )  # fmt: skip
