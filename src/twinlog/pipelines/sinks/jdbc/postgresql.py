"""PostgreSQL for the JDBC sink: rows by COPY, one transaction for rows and positions. Runs in Python workers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import psycopg
import pyarrow as pa

from twinlog.model.names import TopicPartition
from twinlog.pipelines.api import Owner, Retriable
from twinlog.pipelines.databases.addresses import Address, search_path
from twinlog.pipelines.sinks.jdbc.arrays import csv_bytes
from twinlog.pipelines.sinks.jdbc.dialect import RowsRefused, lost_position, younger_owner
from twinlog.pipelines.sinks.jdbc.tables import ColumnPlan, Words

T = TypeVar("T")
_OF_CONTENT: Final = frozenset({"22", "23"})  # data exceptions and violated constraints
_CHECKS: Final = frozenset({"44000", "P0001"})  # a view's check, a trigger that raises
_LOCK_WAIT_MS: Final = 10_000


class PostgreSql:
    """One connection to PostgreSQL."""

    def __init__(self, address: Address, positions_table: str, *, quote: bool = True) -> None:
        self.words = Words("postgresql", quote)
        self._address = address
        self._positions = positions_table
        self._session = 0
        try:
            self._db = psycopg.connect(
                host=address.host,
                port=address.port,
                dbname=address.database or address.user,
                user=address.user or None,
                password=address.password.reveal() or None,
                sslmode=address.option("sslmode", "prefer"),
                application_name=address.option("ApplicationName", "twinlog"),
                options=f"-c TimeZone=UTC -c lock_timeout={_LOCK_WAIT_MS}{search_path(address)}",
                connect_timeout=10,
            )
        except psycopg.Error as error:
            raise Retriable(f"{address}: {_said(error)}") from None

    def columns(self, table: str) -> dict[str, str] | None:
        def ask(cursor: Any) -> dict[str, str] | None:
            rows = cursor.execute(
                "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
                "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped",
                [self.words.name(table)],
            ).fetchall()
            return dict(rows) or None

        return self._trying(ask)

    def missing_right(self, table: str) -> str:
        """Why a table that is not there cannot be created; empty: it is there, or can be."""

        def ask(cursor: Any) -> tuple[str | None, str, bool | None]:
            cursor.execute("SELECT current_schema(), current_user, has_schema_privilege(current_schema(), 'CREATE')")
            schema, user, may = cursor.fetchone()
            return schema, user, may

        if self.columns(table) is not None:
            return ""
        schema, user, may = self._trying(ask)
        if schema is None:
            return f"no schema of the search path exists; name one with currentSchema in the URL to create {table} in"
        return "" if may else f"{user} may not create the table {table} in schema {schema}; grant CREATE on it"

    def run(self, statement: str) -> None:
        def ask(cursor: Any) -> None:
            cursor.execute(statement)
            self._db.commit()

        self._trying(ask)

    def claim(self, owner: Owner, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        table = self.words.name(self._positions)

        def ask(cursor: Any) -> dict[TopicPartition, int]:
            cursor.execute(
                f"CREATE TABLE IF NOT EXISTS {table} (connector VARCHAR(255), topic VARCHAR(249), part INT, "
                "next_offset BIGINT, generation BIGINT NOT NULL, session BIGINT NOT NULL, "
                "PRIMARY KEY (connector, topic, part))"
            )
            self._db.commit()
            self._session = cursor.execute(
                "SELECT extract(epoch FROM backend_start)::bigint * 10000000 + pid FROM pg_stat_activity "
                "WHERE pid = pg_backend_pid()"
            ).fetchone()[0]
            # A frozen owner would hold its locks for as long as it is frozen.
            cursor.execute(
                f"SELECT pg_terminate_backend(a.pid) FROM (SELECT DISTINCT session FROM {table} "
                "WHERE connector = %s AND generation <= %s AND (topic, part) IN (SELECT * FROM unnest(%s::text[], "
                "%s::int[]))) p JOIN pg_stat_activity a ON p.session = extract(epoch FROM a.backend_start)::bigint "
                "* 10000000 + a.pid WHERE a.pid <> pg_backend_pid()",
                [owner.connector, owner.generation, [p.topic for p in partitions], [p.partition for p in partitions]],
            )
            offsets: dict[TopicPartition, int] = {}
            for partition in sorted(partitions):
                row = cursor.execute(
                    f"INSERT INTO {table} AS p VALUES (%s, %s, %s, NULL, %s, %s) ON CONFLICT (connector, topic, part) "
                    "DO UPDATE SET generation = EXCLUDED.generation, session = EXCLUDED.session "
                    "WHERE p.generation <= EXCLUDED.generation RETURNING next_offset",
                    [owner.connector, partition.topic, partition.partition, owner.generation, self._session],
                ).fetchone()
                if row is None:
                    raise younger_owner(self._address, owner, partition)
                if row[0] is not None:
                    offsets[partition] = row[0]
            self._db.commit()
            return offsets

        return self._trying(ask)

    def stored(self, connector: str) -> dict[TopicPartition, int]:
        if self.columns(self._positions) is None:
            return {}

        def ask(cursor: Any) -> dict[TopicPartition, int]:
            rows = cursor.execute(
                f"SELECT topic, part, next_offset FROM {self.words.name(self._positions)} "
                "WHERE connector = %s AND next_offset IS NOT NULL",
                [connector],
            ).fetchall()
            return {TopicPartition(topic, part): offset for topic, part, offset in rows}

        return self._trying(ask)

    def insert(self, table: str, columns: Sequence[ColumnPlan], rows: pa.Table) -> None:
        self._safely(lambda cursor: self._copy(cursor, self.words.name(table), columns, rows))

    def upsert(self, table: str, columns: Sequence[ColumnPlan], rows: pa.Table) -> None:
        names = ", ".join(self.words.identifier(column.name) for column in columns)

        def work(cursor: Any) -> None:
            staging = self._stage(cursor, table, columns, rows)
            cursor.execute(self.words.upsert(table, columns, f"SELECT {names} FROM {staging}"))

        self._safely(work)

    def update(self, table: str, columns: Sequence[ColumnPlan], rows: pa.Table) -> None:
        quoted = self.words.identifier
        changes = ", ".join(f"{quoted(c.name)} = s.{quoted(c.name)}" for c in columns if not c.is_key)

        def work(cursor: Any) -> None:
            staging = self._stage(cursor, table, columns, rows)
            cursor.execute(
                f"UPDATE {self.words.name(table)} t SET {changes} FROM {staging} s WHERE {self._same(columns)}"
            )

        self._safely(work)

    def delete(self, table: str, keys: Sequence[ColumnPlan], rows: pa.Table) -> None:
        def work(cursor: Any) -> None:
            staging = self._stage(cursor, table, keys, rows)
            cursor.execute(f"DELETE FROM {self.words.name(table)} t USING {staging} s WHERE {self._same(keys)}")

        self._safely(work)

    def _same(self, columns: Sequence[ColumnPlan]) -> str:
        names = [self.words.identifier(column.name) for column in columns if column.is_key]
        return " AND ".join(f"t.{name} = s.{name}" for name in names)

    def _stage(self, cursor: Any, table: str, columns: Sequence[ColumnPlan], rows: pa.Table) -> str:
        """The rows in a temporary table of the same columns."""
        staging = self.words.identifier("twinlog_" + re.sub(r"\W", "_", table)[:40] + f"_{len(columns)}")
        names = ", ".join(self.words.identifier(column.name) for column in columns)
        cursor.execute(f"DROP TABLE IF EXISTS {staging}")
        cursor.execute(f"CREATE TEMP TABLE {staging} AS SELECT {names} FROM {self.words.name(table)} WHERE false")
        self._copy(cursor, staging, columns, rows)
        return staging

    def _copy(self, cursor: Any, table: str, columns: Sequence[ColumnPlan], rows: pa.Table) -> None:
        names = ", ".join(self.words.identifier(column.name) for column in columns)
        with cursor.copy(f"COPY {table} ({names}) FROM STDIN (FORMAT csv)") as copy:
            copy.write(csv_bytes(rows))

    def _safely(self, work: Callable[[Any], None]) -> None:
        """In a savepoint: refused rows cost only themselves."""

        def ask(cursor: Any) -> None:
            cursor.execute("SAVEPOINT twinlog")
            try:
                work(cursor)
            except psycopg.Error as error:
                if not of_content(error.sqlstate):
                    raise
                cursor.execute("ROLLBACK TO SAVEPOINT twinlog")
                raise RowsRefused(_said(error)) from error
            cursor.execute("RELEASE SAVEPOINT twinlog")

        self._trying(ask)

    def commit(self, owner: Owner, positions: Mapping[TopicPartition, int]) -> None:
        table = self.words.name(self._positions)

        def ask(cursor: Any) -> None:
            for partition, offset in sorted(positions.items()):
                cursor.execute(
                    f"UPDATE {table} SET next_offset = %s WHERE connector = %s AND topic = %s AND part = %s "
                    "AND generation = %s AND session = %s",
                    [offset, owner.connector, partition.topic, partition.partition, owner.generation, self._session],
                )
                if cursor.rowcount != 1:
                    self._db.rollback()
                    raise lost_position(cursor, table, self._address, owner, partition)
            self._db.commit()

        self._trying(ask)

    def close(self) -> None:
        self._db.close()

    def _trying(self, ask: Callable[[Any], T]) -> T:
        try:
            with self._db.cursor() as cursor:
                return ask(cursor)
        except psycopg.Error as error:
            raise Retriable(f"{self._address}: {_said(error)}") from error


def of_content(sqlstate: str | None) -> bool:
    """Whether rows are refused for what they hold. A missing table or right, or a full disk, is no fault of a row."""
    return sqlstate is not None and (sqlstate[:2] in _OF_CONTENT or sqlstate in _CHECKS)


def _said(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
