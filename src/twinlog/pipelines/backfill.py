"""Backfill: a part of a table is read again, beside the stream that runs. Blocking; runs in a process of its own.

It is a pipeline of another name (`orders-backfill`) with mode=bulk and a condition. It has transactional ids and
positions of its own, so it neither stops nor moves the stream. Its positions are removed in the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from twinlog.errors import ConnectorRefused
from twinlog.pipelines.api import Retriable
from twinlog.pipelines.connector import Connector, read_connector
from twinlog.pipelines.plugins import connector as make_connector
from twinlog.pipelines.sources.jdbc.queries import Query
from twinlog.pipelines.sources.jdbc.source import JdbcSource
from twinlog.pipelines.stored_offsets import StoredOffsets
from twinlog.pipelines.worker import Pipelines

_A_DAY_MS: Final = 86_400_000
"""A table that is read in bulk begins anew with each epoch, so there is one."""
_MOVES: Final = (
    "incrementing.column.name", "timestamp.column.name", "timestamp.initial", "schedule", "table.blacklist",
    "table.exclude.list", "table.include.list", "table.whitelist",
)  # fmt: skip


@dataclass(frozen=True)
class Backfilled:
    """The result of a backfill."""

    written: int
    parked: int
    problem: str  # empty: everything was written


def backfill_config(connector: Connector, table: str, where: str) -> dict[str, str]:
    """The configuration of the backfill. Raises ConnectorRefused where there is nothing to read again."""
    made = make_connector(connector.common.plugin, connector.config)
    if not isinstance(made, JdbcSource):
        raise ConnectorRefused(connector.name, "backfill reads tables again; this is no JDBC source")
    if made.s.query:
        raise ConnectorRefused(connector.name, "backfill reads tables again; this source has a query")
    config = {key: value for key, value in connector.config.items() if key not in _MOVES}
    return config | {
        "name": f"{connector.name}-backfill", "mode": "bulk", "table.whitelist": table, "run": "available",
        "query.suffix": f"WHERE {where}", "tasks.max": "1", "epoch.ms": str(_A_DAY_MS),
    }  # fmt: skip


def check_selection(connector: Connector, table: str, where: str) -> None:
    """Ask the database for one row of the part. Raises ConnectorRefused: the condition is wrong, or no row fits."""
    made = cast("JdbcSource", make_connector(connector.common.plugin, connector.config))
    try:
        # Whoever runs the command wrote the condition; it runs with the rights of the connector.
        query = Query(f"SELECT 1 AS found FROM {made.db.words.name(table)} WHERE {where} LIMIT 1")  # noqa: S608
        count = made.db.rows(query, made.db.schema(query, None, "none")).num_rows
    except Retriable as error:
        raise ConnectorRefused(connector.name, str(error)) from error
    finally:
        made.close()
    if not count:
        raise ConnectorRefused(connector.name, f"{table}: no row fits WHERE {where}")


def run_backfill(pipelines: Pipelines, connector: Connector, table: str, where: str, within_s: float) -> Backfilled:
    """Read the rows and write them to the table's topic. Raises ConnectorRefused, ClusterError."""
    config = backfill_config(connector, table, where)
    own = read_connector(config["name"], config, pipelines.worker.config, connector.provided)
    engine = pipelines.start(own.name, config, own.provided)
    try:
        done = engine.wait(within_s)
        progress = engine.progress
        reason = progress.trace or progress.hindrance or f"not done within {within_s:.0f} s"
        problem = "" if done and progress.caught_up else reason
        counts: Mapping[str, int] = progress.totals()
    finally:
        pipelines.stop(own.name)
    StoredOffsets(own, pipelines.worker).clear(0)
    return Backfilled(counts.get("written", 0), counts.get("failed", 0), problem)
