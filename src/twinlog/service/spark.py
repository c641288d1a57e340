"""Spark for this process: one session, started when it is needed, ended with whoever needed it."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from twinlog.errors import EngineNotStarted
from twinlog.machine.java import spark_java_home

if TYPE_CHECKING:
    from twinlog.recovery.own_engines import StartQuery


@dataclass(frozen=True)
class SparkPlace:
    """Where the data path runs: this machine, or the user's cluster."""

    master: str | None = None
    options: tuple[tuple[str, str], ...] = ()


SPARE_SLOTS: Final = 256
"""Slots of local Spark for links that a changed file adds: an idle slot costs nothing, a missing one stalls a link."""


def spark_session(place: SparkPlace, slots: int, state: Path) -> Any:
    """Start a session. Blocking, seconds long; raises EngineNotStarted with the end of Spark's log."""
    from twinlog.engine.query import SparkRuntime, start_session

    java_home = os.environ.get("JAVA_HOME") if place.master else str(spark_java_home())
    runtime = SparkRuntime(place.master, slots, java_home, dict(place.options), state / "spark.log")
    try:
        return start_session(runtime)
    except Exception as error:
        raise EngineNotStarted(str(error).strip().split("\n", 1)[0], _tail(runtime.log)) from error


def stop_session(session: Any) -> None:
    """End a session, whether it still lives or not."""
    with contextlib.suppress(Exception):  # its JVM may be gone already, which is what we want
        session.stop()


@contextlib.contextmanager
def spark_when_needed(spark: SparkPlace, state: Path) -> Iterator[Callable[[], StartQuery]]:
    """What starts queries while the block lasts; the session itself starts with the first of them."""
    sessions: list[Any] = []

    def starter() -> StartQuery:
        from twinlog.engine.query import start_query

        if not sessions:
            sessions.append(spark_session(spark, SPARE_SLOTS, state))
        return lambda run, checkpoint: start_query(sessions[0], run, checkpoint)

    try:
        yield starter
    finally:
        for session in sessions:
            stop_session(session)


def scratch_folder() -> Path:
    """Where Spark keeps what may be lost."""
    return Path(tempfile.mkdtemp(prefix="twinlog-"))


def _tail(log: Path, lines: int = 15) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:]) if log.exists() else ""
