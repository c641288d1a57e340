"""Tables of a MySQL or MariaDB server as streams of records. Runs on the driver and in Python workers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from twinlog.errors import ChangesUnreadable
from twinlog.pipelines.schemas import Field, Schema
from twinlog.pipelines.sources.binlog.columns import KNOWN, Column, column_of, column_schema, logged_column, same_layout
from twinlog.pipelines.sources.binlog.connection import asked
from twinlog.pipelines.sources.binlog.defaults import default_of
from twinlog.pipelines.sources.binlog.rows import UnknownKind, Walk, walk_of
from twinlog.pipelines.sources.binlog.settings import BinlogSettings
from twinlog.pipelines.sources.binlog.table_map import TableMap
from twinlog.pipelines.sources.binlog.values import Make, log_maker, selected, text_maker
from twinlog.pipelines.sources.debezium.envelope import Table, source_schema
from twinlog.pipelines.sources.debezium.selection import read_lists

_SYSTEM: Final = frozenset({"mysql", "sys", "performance_schema", "information_schema"})
_COLUMNS: Final = """
    SELECT c.TABLE_SCHEMA, c.TABLE_NAME, c.COLUMN_NAME, c.COLUMN_TYPE, c.IS_NULLABLE = 'YES', c.CHARACTER_OCTET_LENGTH,
           c.CHARACTER_SET_NAME, c.COLUMN_DEFAULT
    FROM information_schema.COLUMNS c
    JOIN information_schema.TABLES t USING (TABLE_SCHEMA, TABLE_NAME)
    WHERE t.TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') AND c.TABLE_SCHEMA NOT IN
          ('mysql', 'sys', 'performance_schema', 'information_schema')
    ORDER BY 1, 2, c.ORDINAL_POSITION
"""
_KEYS: Final = """
    SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, COLUMN_NAME, NULLABLE = 'YES'
    FROM information_schema.STATISTICS WHERE NON_UNIQUE = 0 AND COLUMN_NAME IS NOT NULL
    ORDER BY 1, 2, INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX
"""
_MAYBE: Final = Schema("int64", optional=True)
_TEXT: Final = Schema("string", optional=True)
TableName = tuple[str, str]


def source_of(connector: str) -> Schema:
    """The member `source` of records of `mysql` or `mariadb`."""
    return source_schema(
        f"io.debezium.connector.{connector}.Source", ("table", _TEXT), ("server_id", Schema("int64")),
        ("gtid", _TEXT), ("file", Schema("string")), ("pos", Schema("int64")), ("row", Schema("int32")),
        ("thread", _MAYBE), ("query", _TEXT),
    )  # fmt: skip


@dataclass(frozen=True)
class Stream:
    """A table, its columns, and how they are made of raw values."""

    database: str
    name: str
    table: Table
    columns: tuple[Column, ...]  # the wanted ones
    places: tuple[int, ...]  # where they stand in a row of the log
    makers: tuple[Make, ...]
    width: int  # columns of a row of the log
    walk: Walk | None = None

    @property
    def full(self) -> str:
        return f"{self.database}.{self.name}"


class Catalogue:
    """What the server has, as far as the connector wants it."""

    def __init__(self, s: BinlogSettings, connector: str) -> None:
        self._s = s
        self._source = source_of(connector)
        self._databases = read_lists("database", s.database_include, s.database_exclude)
        self._tables = read_lists("table", s.table_include, s.table_exclude)
        self._columns = read_lists("column", s.column_include, s.column_exclude)
        self._facts: dict[TableName, list[Column]] = {}
        self._charsets: dict[int, str] = {}

    def wanted(self, database: str, table: str) -> bool:
        return self.wanted_database(database) and self._tables.take(f"{database}.{table}")

    def wanted_database(self, database: str) -> bool:
        return database.lower() not in _SYSTEM and self._databases.take(database)

    def forget(self) -> None:
        """A table may have changed: it is looked up again."""
        self._facts = {}

    def load(self, db: Any) -> dict[TableName, list[Column]]:
        """All wanted tables, in the order of their names."""
        keys: dict[TableName, dict[str, list[tuple[str, bool]]]] = {}
        for database, table, index, column, nullable in asked(db, _KEYS):
            keys.setdefault((database, table), {}).setdefault(index, []).append((column, bool(nullable)))
        self._facts = {}
        for database, table, name, kind, nullable, octets, charset, default in asked(db, _COLUMNS):
            if self.wanted(database, table):
                key = _key(keys.get((database, table), {}))
                column = column_of(
                    name, kind, nullable=bool(nullable), octets=octets, charset=charset, in_key=name in key,
                    default=default,
                )  # fmt: skip
                self._facts.setdefault((database, table), []).append(column)
        if not self._charsets:
            rows = asked(db, "SELECT ID, CHARACTER_SET_NAME FROM information_schema.COLLATIONS WHERE ID IS NOT NULL")
            self._charsets = {int(number): str(name) for number, name in rows}
        return self._facts

    def stream(self, database: str, table: str) -> Stream:
        """A table for a SELECT."""
        facts = self._facts[database, table]
        return self._stream(database, table, facts, [column.name for column in facts if column.in_key], text_maker)

    def stream_of(self, logged: TableMap, db: Any) -> Stream:
        """A table as the log has it at this place. Raises ChangesUnreadable.

        A column that is the same in the table today is taken from there, because the log does not tell defaults.
        """
        if not self._facts:
            self.load(db)
        full = f"{logged.database}.{logged.table}"
        known = self._facts.get((logged.database, logged.table), [])
        if logged.full:
            by_name = {column.name: column for column in known}
            columns = [self._column(n, logged, by_name.get(column.name)) for n, column in enumerate(logged.columns)]
            key = [logged.columns[n].name for n in logged.key] or [column.name for column in columns if column.in_key]
        elif len(known) == len(logged.columns) and all(map(same_layout, known, logged.columns)):
            columns, key = known, [column.name for column in known if column.in_key]
        else:
            raise ChangesUnreadable(self._s.where, _changed_meanwhile(full, len(known), len(logged.columns)))
        try:
            stream = self._stream(logged.database, logged.table, columns, key, log_maker)
            signed = [replace(in_log, unsigned=column.unsigned)
                      for in_log, column in zip(logged.columns, columns, strict=True)]  # fmt: skip
            return replace(stream, walk=walk_of(signed))
        except (UnknownKind, ValueError) as error:
            raise ChangesUnreadable(self._s.where, f"{full}: {error}; leave the table out") from error

    def _column(self, n: int, logged: TableMap, known: Column | None) -> Column:
        in_log = logged.columns[n]
        in_key = n in logged.key
        if known is not None and same_layout(known, in_log):
            return replace(known, in_key=in_key or (known.in_key and not logged.key))
        return logged_column(in_log, self._charsets.get(in_log.collation or 0, ""), in_key=in_key)

    def _stream(self, database: str, table: str, facts: list[Column], key: list[str], maker: Any) -> Stream:
        places = tuple(
            n
            for n, fact in enumerate(facts)
            if fact.name in key or self._columns.take(f"{database}.{table}.{fact.name}")
        )
        columns = tuple(facts[place] for place in places)
        unknown = next((column for column in columns if column.kind not in KNOWN), None)
        if unknown is not None:
            raise ValueError(f"the type {unknown.kind} of column {unknown.name} is not known (column.exclude.list)")
        schemas = [column_schema(column, self._s) for column in columns]
        fields = tuple(
            Field(column.name, replace(schema, default=default_of(column, schema)))
            for column, schema in zip(columns, schemas, strict=True)
        )
        made = Table(f"{self._s.prefix}.{database}.{table}", fields, tuple(key), self._source)
        makers = tuple(maker(column, schema, self._s) for column, schema in zip(columns, schemas, strict=True))
        return Stream(database, table, made, columns, places, makers, len(facts))

    def selected(self, stream: Stream) -> str:
        """The columns of a stream in a SELECT."""
        return ", ".join(
            selected(column, field.schema) for column, field in zip(stream.columns, stream.table.columns, strict=True)
        )


def _key(indexes: dict[str, list[tuple[str, bool]]]) -> list[str]:
    """The primary key, or the first unique index whose columns are never null."""
    for columns in indexes.values():
        if not any(nullable for _, nullable in columns):
            return [name for name, _ in columns]
    return []


def _changed_meanwhile(full: str, now: int, then: int) -> str:
    if not now:
        return f"{full} is in the log and no longer on the server, and the log does not name its columns"
    columns = f"it has {now} columns now, {then} then" if now != then else "its columns have other types now"
    return (
        f"{full} was altered since the change was logged ({columns}), and the log does not name columns. "
        "SET GLOBAL binlog_row_metadata=FULL makes later changes readable; to continue behind the lost ones, "
        "reset the connector's offsets"
    )
