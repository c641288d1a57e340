"""The streaming query of one link. Runs in the service's process (the Spark driver)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from twinlog.errors import EngineDied, told
from twinlog.flow.row import SQL_SCHEMA
from twinlog.flow.source import EpochReader, LinkRun, ParcelWriter
from twinlog.spark.formats import register_format
from twinlog.spark.session import Session, is_gone


def start_query(session: Session, run: LinkRun, checkpoint: Path) -> Any:
    """Start the stream of one link. The checkpoint folder is disposable. Raises EngineDied when Spark is gone."""
    try:
        return _started(session, run, checkpoint)
    except Exception as error:
        if is_gone(session):
            raise EngineDied(told(error)) from error
        raise


def _started(session: Session, run: LinkRun, checkpoint: Path) -> Any:
    name = f"twinlog_{run.link.source}_{run.link.target}_{run.generation}"
    name = "".join(c if c.isalnum() else "_" for c in name)
    register_format(
        session,
        name,
        SQL_SCHEMA,
        stream_reader=partial(EpochReader, run),
        stream_writer=partial(ParcelWriter, run),
    )
    rows = session.readStream.format(name).load()
    return (
        rows.writeStream.format(name)
        # Not the link's name alone: a query that is still ending holds its name, and must not keep the next one away.
        .queryName(f"{run.link.name} {run.generation}")
        .option("checkpointLocation", str(checkpoint))
        .option("asyncProgressTrackingEnabled", "false")
        .start()
    )
