"""Spark for an action: started with the first query that is needed, ended with the block."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twinlog.spark.place import SPARE_SLOTS, SparkPlace, spark_session

if TYPE_CHECKING:
    from twinlog.recovery.own_engines import StartQuery


@contextlib.contextmanager
def spark_when_needed(spark: SparkPlace, state: Path) -> Iterator[Callable[[], StartQuery]]:
    """What starts queries while the block lasts; the session itself starts with the first of them."""
    sessions: list[Any] = []

    def starter() -> StartQuery:
        from twinlog.service.link_transforms import start_link_query

        if not sessions:
            sessions.append(spark_session(spark, SPARE_SLOTS, state))
        return lambda run, checkpoint: start_link_query(sessions[0], sessions[0], run, checkpoint)

    try:
        yield starter
    finally:
        for session in sessions:
            from twinlog.spark.session import stop_session

            stop_session(session)
