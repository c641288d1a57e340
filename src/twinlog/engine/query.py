"""The streaming query of one link. Runs in the service's process (the Spark driver)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from twinlog.errors import EngineDied, told
from twinlog.flow.record_rows import RECORDS_SQL
from twinlog.flow.row import SQL_SCHEMA
from twinlog.flow.source import EpochReader, LinkRun, ParcelWriter, RecordsReader, RecordsWriter
from twinlog.spark.formats import register_format
from twinlog.spark.session import Session, how_jvm_ended, is_gone

Steps: TypeAlias = Callable[[Any], Any]
"""From the rows of records to those behind the transforms, as DataFrames (`flow/record_rows.py`)."""


def start_query(session: Session, run: LinkRun, checkpoint: Path, steps: Steps | None = None) -> Any:
    """Start the stream of one link, with `steps` between reader and writer. Raises EngineDied when Spark is gone.

    The checkpoint folder is disposable.
    """
    try:
        return _started(session, run, checkpoint, steps)
    except Exception as error:
        if is_gone(session):
            raise EngineDied(how_jvm_ended() or told(error)) from error
        raise


def _started(session: Session, run: LinkRun, checkpoint: Path, steps: Steps | None) -> Any:
    name = f"twinlog_{run.link.source}_{run.link.target}_{run.generation}"
    name = "".join(c if c.isalnum() else "_" for c in name)
    register_format(
        session,
        name,
        SQL_SCHEMA if steps is None else RECORDS_SQL,
        stream_reader=partial(EpochReader if steps is None else RecordsReader, run),
        stream_writer=partial(ParcelWriter if steps is None else RecordsWriter, run),
    )
    rows: Any = session.readStream.format(name).load()
    if steps is not None:
        rows = steps(rows)
    return (
        rows.writeStream.format(name)
        # Not the link's name alone: a query that is still ending holds its name, and must not keep the next one away.
        .queryName(f"{run.link.name} {run.generation}")
        .option("checkpointLocation", str(checkpoint))
        .option("asyncProgressTrackingEnabled", "false")
        .start()
    )
