"""The rows that are there before changes are read, table by table, in the order of their keys. Runs in a Python worker.

Each chunk's position names the table and the last key, so a snapshot that was interrupted continues behind it:

    {"snapshot": true, "lsn": 4711, "table": "public.orders", "key": "id int4", "after": "1007", "whole": false}

Changes from `lsn` on are kept by the slot meanwhile. A view shows all rows as they were at `lsn`. After an interruption
there is another view at a later place. First the changes between both places follow, of rows that were handed on
(`boundary.py`); so no record of a row is older than the one before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
from psycopg import sql

from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.pipelines.api import Chunk, Offset, SourcePartition
from twinlog.pipelines.sources.debezium.envelope import Change, chunk_of, position_only
from twinlog.pipelines.sources.postgres.boundary import keys
from twinlog.pipelines.sources.postgres.catalogue import Catalogue, ColumnFacts, Stream
from twinlog.pipelines.sources.postgres.settings import PostgresSettings


class Snapshot:
    """One pass over the tables."""

    def __init__(self, s: PostgresSettings, db: psycopg.Connection[Any], catalogue: Catalogue, lsn: int) -> None:
        self._s, self._db, self._catalogue, self._lsn = s, db, catalogue, lsn

    def chunks(
        self, at: SourcePartition, start: Offset | None, done: Offset, stop: Callable[[], bool]
    ) -> Iterator[Chunk]:
        """Rows behind `start`; the last chunk's position is `done`."""
        tables = self._catalogue.load(self._db)
        reached = None if start is None else start.get("table")
        last = f"{self._s.prefix}.snapshot"
        for (schema, name), facts in sorted(tables.items(), key=lambda entry: ".".join(entry[0])):
            full = f"{schema}.{name}"
            if reached is not None and full < str(reached):
                continue
            if full == reached and start is not None and start.get("whole"):
                continue
            stream = self._catalogue.stream(schema, name)
            # A table whose key was altered is read again from its beginning.
            continues = start is not None and full == reached and start.get("key") == stream.described
            after = keys(start) if continues and start is not None else []
            last = stream.table.topic
            yield from self._table(stream, facts, after, at, stop)
            if stop():
                return
        yield position_only(last, at, done)

    def _table(
        self, stream: Stream, facts: list[ColumnFacts], after: list[str], at: SourcePartition, stop: Callable[[], bool]
    ) -> Iterator[Chunk]:
        full, in_key = stream.full, [fact for fact in facts if fact.in_key]
        while not stop():
            rows = self._rows(stream, facts, in_key, after)
            full_read = len(rows) < self._s.snapshot_rows or not in_key
            if rows:
                after = [rows[-1][n] for n, fact in enumerate(facts) if fact.in_key]
            then: dict[str, Any] = {
                "snapshot": True,
                "lsn": self._lsn,
                "table": full,
                "key": stream.described,
                "after": _joined(after),
                "whole": full_read,
            }
            if rows:
                yield self._chunk(stream, rows, at, then)
            if full_read:
                return

    def _rows(self, stream: Stream, facts: list[ColumnFacts], keys: list[ColumnFacts], after: list[str]) -> list[Any]:
        table = sql.Identifier(stream.schema, stream.name)
        columns = sql.SQL(", ").join(sql.SQL("{}::text").format(sql.Identifier(fact.name)) for fact in facts)
        if not keys:
            # Without a key there is no place to continue from: the table is read in one piece.
            return self._db.execute(sql.SQL("SELECT {} FROM {}").format(columns, table)).fetchall()
        # With the table's name: alone, ORDER BY would take the text of the same name that is selected.
        names = sql.SQL(", ").join(sql.Identifier(stream.schema, stream.name, key.name) for key in keys)
        where: sql.Composable = sql.SQL("")
        if after:
            kinds = sql.SQL(", ").join(
                sql.SQL("{}::{}").format(sql.Literal(value), sql.Identifier(key.kind))
                for value, key in zip(after, keys, strict=True)
            )
            where = sql.SQL("WHERE ({}) > ({})").format(names, kinds)
        query = sql.SQL("SELECT {} FROM {} {} ORDER BY {} LIMIT {}").format(
            columns, table, where, names, sql.Literal(self._s.snapshot_rows)
        )
        return self._db.execute(query).fetchall()

    def _chunk(self, stream: Stream, rows: list[Any], at: SourcePartition, then: Offset) -> Chunk:
        now = int(SYSTEM_CLOCK.now_s() * 1_000_000)
        source = {
            "connector": "postgresql", "name": self._s.prefix, "snapshot": "true", "db": self._s.database,
            "schema": stream.schema, "table": stream.name, "lsn": self._lsn,
            "sequence": f'[null,"{self._lsn}"]',
        }  # fmt: skip
        changes = [Change("r", None, stream.picked(list(row)), source, now) for row in rows]
        return chunk_of(stream.table, stream.makers, changes, at, then, now_us=now, tombstones=False)


def _joined(after: list[str]) -> str:
    """Keys as one text: positions hold plain values only."""
    return "\x1f".join(after)
