"""Backfill: a part of a table is read again, beside the stream that runs. Blocking; runs in a process of its own.

It is a pipeline of another name (`orders-backfill`) with mode=bulk and a condition. It has transactional ids and
positions of its own, so it neither stops nor moves the stream. Its positions are removed in the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from twinlog.errors import ConnectorRefused
from twinlog.pipelines.connector import Connector, read_connector
from twinlog.pipelines.plugins import connector as make_connector
from twinlog.pipelines.sources.jdbc.source import JdbcSource
from twinlog.pipelines.stored_offsets import StoredOffsets
from twinlog.pipelines.worker import Pipelines

_MOVES: Final = ("incrementing.column.name", "timestamp.column.name", "timestamp.initial", "table.blacklist",
                 "table.exclude.list", "table.include.list", "table.whitelist")  # fmt: skip


@dataclass(frozen=True)
class Backfilled:
    """What was done."""

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
        "query.suffix": f"WHERE {where}", "tasks.max": "1",
    }  # fmt: skip


def run_backfill(pipelines: Pipelines, connector: Connector, table: str, where: str, within_s: float) -> Backfilled:
    """Read the rows and write them to the table's topic. Raises ConnectorRefused, ClusterError."""
    config = backfill_config(connector, table, where)
    own = read_connector(config["name"], config, pipelines.worker.config)
    engine = pipelines.start(own.name, config)
    try:
        done = engine.wait(within_s)
        progress = engine.progress
        reason = progress.trace or progress.waiting or f"not done within {within_s:.0f} s"
        problem = "" if done and progress.caught_up else reason
        counts: Mapping[str, int] = progress.totals()
    finally:
        pipelines.stop(own.name)
    StoredOffsets(own, pipelines.worker).clear(0)
    return Backfilled(counts.get("written", 0), counts.get("failed", 0), problem)
