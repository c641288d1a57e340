"""Tables and columns of a PostgreSQL database, as streams of records. Runs on the driver and in Python workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import psycopg

from twinlog.pipelines.schemas import Field, Schema
from twinlog.pipelines.sources.debezium.envelope import Table, source_schema
from twinlog.pipelines.sources.debezium.selection import Lists, read_lists
from twinlog.pipelines.sources.postgres.pgoutput import Relation
from twinlog.pipelines.sources.postgres.settings import PostgresSettings
from twinlog.pipelines.sources.postgres.types import Make, column_maker, column_schema

_MAYBE_LONG: Final = Schema("int64", optional=True)
SOURCE: Final = source_schema(
    "io.debezium.connector.postgresql.Source", ("schema", Schema("string")), ("table", Schema("string")),
    ("txId", _MAYBE_LONG), ("lsn", _MAYBE_LONG), ("xmin", _MAYBE_LONG),
)  # fmt: skip
_OWN: Final = frozenset({"pg_catalog", "information_schema"})
_COLUMNS: Final = """
    SELECT n.nspname, c.relname, a.attname, t.typname, a.atttypmod, a.attnotnull,
           coalesce(a.attnum = ANY (i.indkey), false) AS in_key, a.atttypid
    FROM pg_attribute a
    JOIN pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p')
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
    WHERE a.attnum > 0 AND NOT a.attisdropped AND n.nspname !~ '^pg_' AND NOT c.relispartition
    ORDER BY n.nspname, c.relname, a.attnum
"""


@dataclass(frozen=True)
class ColumnFacts:
    """A column in the catalogue."""

    name: str
    kind: str
    modifier: int
    not_null: bool
    in_key: bool
    oid: int


@dataclass(frozen=True)
class Stream:
    """A table, how its columns are made of texts, and which places of a raw row they have."""

    schema: str
    name: str
    table: Table
    makers: tuple[Make, ...]
    places: tuple[int, ...]
    kinds: tuple[str, ...]  # types of the key's columns

    @property
    def full(self) -> str:
        return f"{self.schema}.{self.name}"

    @property
    def described(self) -> str:
        """Names and types of the key: a key that was altered has another order."""
        return "\x1f".join(f"{name} {kind}" for name, kind in zip(self.table.key, self.kinds, strict=True))

    def picked(self, row: list[Any]) -> list[Any]:
        return row if len(self.places) == len(row) else [row[place] for place in self.places]


class Catalogue:
    """What the database has, as far as the connector wants it."""

    def __init__(self, s: PostgresSettings) -> None:
        self._s = s
        self._schemas = read_lists("schema", s.schema_include, s.schema_exclude)
        self._tables = read_lists("table", s.table_include, s.table_exclude)
        self._columns: Lists = read_lists("column", s.column_include, s.column_exclude)
        self._kinds: dict[int, str] = {}
        self._facts: dict[tuple[str, str], list[ColumnFacts]] = {}

    def wanted(self, schema: str, table: str) -> bool:
        return schema not in _OWN and self._schemas.take(schema) and self._tables.take(f"{schema}.{table}")

    def load(self, db: psycopg.Connection[Any]) -> dict[tuple[str, str], list[ColumnFacts]]:
        """All wanted tables, in the order of their names."""
        self._facts = {}
        for schema, table, *rest in db.execute(_COLUMNS).fetchall():
            if self.wanted(schema, table):
                column = ColumnFacts(*rest)
                self._kinds[column.oid] = column.kind
                self._facts.setdefault((schema, table), []).append(column)
        return self._facts

    def stream(self, schema: str, table: str) -> Stream:
        return self._stream(schema, table, self._facts[schema, table])

    def stream_of(self, relation: Relation, db: psycopg.Connection[Any]) -> Stream:
        """The stream of a table as its changes have it. Names and types are the stream's, the rest is looked up."""
        self.load(db)
        known = {column.name: column for column in self._facts.get((relation.schema, relation.table), [])}
        facts = []
        for column in relation.columns:
            there = known.get(column.name)
            kind = self._kind(column.oid, db)
            same = there is not None and there.oid == column.oid
            facts.append(ColumnFacts(column.name, kind, column.modifier, same and there is not None and there.not_null,
                                     there.in_key if there is not None else column.in_key, column.oid))  # fmt: skip
        return self._stream(relation.schema, relation.table, facts)

    def _kind(self, oid: int, db: psycopg.Connection[Any]) -> str:
        if oid not in self._kinds:
            row = db.execute("SELECT typname FROM pg_type WHERE oid = %s", (oid,)).fetchone()
            self._kinds[oid] = row[0] if row else "text"
        return self._kinds[oid]

    def _stream(self, schema: str, table: str, facts: list[ColumnFacts]) -> Stream:
        places = tuple(n for n, fact in enumerate(facts)
                       if fact.in_key or self._columns.take(f"{schema}.{table}.{fact.name}"))  # fmt: skip
        fields, makers = [], []
        for place in places:
            fact = facts[place]
            its = column_schema(fact.kind, fact.modifier, self._s, optional=not fact.not_null)
            fields.append(Field(fact.name, its))
            makers.append(column_maker(fact.kind, its, self._s))
        key = tuple(facts[place].name for place in places if facts[place].in_key)
        made = Table(f"{self._s.prefix}.{schema}.{table}", tuple(fields), key, SOURCE)
        kinds = tuple(facts[place].kind for place in places if facts[place].in_key)
        return Stream(schema, table, made, tuple(makers), places, kinds)
