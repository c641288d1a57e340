"""Where Spark runs, and a session there: started when it is needed, ended with its user."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from twinlog.errors import EngineNotStarted
from twinlog.machine.java import spark_java_home
from twinlog.spark.work import MIRROR, Work

if TYPE_CHECKING:
    from twinlog.spark.session import Session


@dataclass(frozen=True)
class SparkPlace:
    """This machine, or the user's cluster; and what the user sets for Spark."""

    master: str | None = None
    options: tuple[tuple[str, str], ...] = ()


SPARE_SLOTS: Final = 256
"""Slots of local Spark for links that a changed file adds: an idle slot costs nothing, a missing one stalls a link."""


def spark_session(place: SparkPlace, slots: int, state: Path, work: Work = MIRROR) -> Session:
    """Start Spark for one kind of work. Blocking; raises EngineNotStarted with the end of Spark's log."""
    from twinlog.spark.session import SparkRuntime, start_session  # noqa: PLC0415  loads pyspark: a second

    java_home = os.environ.get("JAVA_HOME") if place.master else str(spark_java_home())
    runtime = SparkRuntime(work, place.master, slots, java_home, dict(place.options), state / "spark.log")
    try:
        return start_session(runtime)
    except Exception as error:
        raise EngineNotStarted(str(error).strip().split("\n", 1)[0], _tail(runtime.log)) from error


def scratch_folder() -> Path:
    """Where Spark keeps what may be lost."""
    return Path(tempfile.mkdtemp(prefix="twinlog-"))


def _tail(log: Path, lines: int = 15) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:]) if log.exists() else ""
