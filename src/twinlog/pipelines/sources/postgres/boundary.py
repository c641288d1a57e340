"""How far a snapshot came: which changes are of rows that it has handed on. Runs in a Python worker.

A snapshot hands on table after table in the order of their names, and rows in the order of their keys. Changes of rows
behind its place are left out: these rows are read later than the changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import psycopg
from psycopg import sql

from twinlog.pipelines.api import Offset
from twinlog.pipelines.sources.debezium.envelope import Change
from twinlog.pipelines.sources.postgres.catalogue import Stream

_COLLATIONS: Final = """
    SELECT a.attname, n.nspname, c.collname FROM pg_attribute a
    JOIN pg_collation c ON c.oid = a.attcollation AND c.collname <> 'default'
    JOIN pg_namespace n ON n.oid = c.collnamespace
    WHERE a.attrelid = to_regclass(%s)
"""


class Boundary:
    """The place of an interrupted snapshot."""

    def __init__(self, start: Offset, statements: Callable[[], psycopg.Connection[Any]]) -> None:
        self._table = str(start["table"])
        self._key = start.get("key")
        self._after = keys(start)
        self._whole = bool(start.get("whole"))
        self._statements = statements
        self._collations: dict[str, sql.Composable] | None = None

    def is_before(self, stream: Stream) -> bool:
        """No row of the table was handed on."""
        return stream.full > self._table or (stream.full == self._table and not self._whole and not self._after)

    def kept(self, stream: Stream, changes: list[Change]) -> list[Change]:
        """The changes of rows that were handed on. All of them where the key was altered meanwhile."""
        if stream.full != self._table or self._whole or self._key != stream.described or not changes:
            return changes
        places = [stream.table.place(name) for name in stream.table.key]
        rows = [change.before if change.op == "d" else change.after for change in changes]
        behind = self._are_behind(stream, [[row[place] for place in places] for row in rows if row is not None])
        return [change for change, is_behind in zip(changes, behind, strict=True) if not is_behind]

    def _are_behind(self, stream: Stream, rows: list[Sequence[str]]) -> list[bool]:
        """The server compares: it knows the order of each type and collation."""
        db = self._statements()
        if self._collations is None:
            table = sql.Identifier(stream.schema, stream.name).as_string(db)
            self._collations = {
                name: sql.SQL(" COLLATE {}").format(sql.Identifier(schema, collation))
                for name, schema, collation in db.execute(_COLLATIONS, (table,)).fetchall()
            }

        collated = self._collations

        def key(values: Sequence[str]) -> sql.Composable:
            columns = zip(values, stream.table.key, stream.kinds, strict=True)
            made = (
                sql.SQL("{}::{}{}").format(sql.Literal(value), sql.Identifier(kind), collated.get(name, sql.SQL("")))
                for value, name, kind in columns
            )
            return sql.SQL(", ").join(made)

        limit = key(self._after)
        compared = [sql.SQL("({}) > ({})").format(key(values), limit) for values in rows]
        (row,) = db.execute(sql.SQL("SELECT ARRAY[{}]").format(sql.SQL(", ").join(compared))).fetchall()
        return list(row[0])


def keys(start: Offset) -> list[str]:
    """The last key that was handed on."""
    text = str(start.get("after") or "")
    return text.split("\x1f") if text else []
