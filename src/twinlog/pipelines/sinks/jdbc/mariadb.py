"""MySQL and MariaDB for the JDBC sink: rows by multi-row statements. Runs in Python workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import pyarrow as pa
import pymysql
from pymysql.constants import ER

from twinlog.model.names import TopicPartition
from twinlog.pipelines.api import Owner, Retriable
from twinlog.pipelines.databases.addresses import Address
from twinlog.pipelines.sinks.jdbc.dialect import RowsRefused, lost_position, younger_owner
from twinlog.pipelines.sinks.jdbc.tables import ColumnPlan, Words

T = TypeVar("T")
_CONTENT: Final = (pymysql.err.DataError, pymysql.err.IntegrityError)
# A value that is null, missing, wrong, too long or out of range; a violated check; a trigger that signals.
_OF_CONTENT: Final = frozenset({ER.BAD_NULL_ERROR, 1364, 1366, 1292, 1406, 1264, 1265, 4025, 3819, 1644})
_LOCK_WAIT_S: Final = 10


class MariaDb:
    """One connection to MySQL or MariaDB."""

    def __init__(self, address: Address, positions_table: str, *, quote: bool = True) -> None:
        self.words = Words("mysql", quote)
        self._address = address
        self._positions = positions_table
        self._session = 0
        wish = address.option("sslMode", address.option("useSSL", "false")).lower()
        tls = wish not in {"false", "disable", "disabled"}
        try:
            self._db: Any = pymysql.connect(
                host=address.host,
                port=address.port,
                user=address.user or None,
                password=address.password.reveal(),
                database=address.database or None,
                charset="utf8mb4",
                connect_timeout=10,
                autocommit=False,
                ssl={} if tls else None,
                init_command=f"SET time_zone='+00:00', innodb_lock_wait_timeout={_LOCK_WAIT_S}, "
                f"lock_wait_timeout={_LOCK_WAIT_S}, "
                "sql_mode=CONCAT(@@sql_mode, ',STRICT_TRANS_TABLES')",
            )
        except (pymysql.Error, OSError) as error:
            raise Retriable(f"{address}: {_said(error)}") from None

    def columns(self, table: str) -> dict[str, str] | None:
        schema, _, name = table.rpartition(".")

        def ask(cursor: Any) -> dict[str, str] | None:
            cursor.execute(
                "SELECT column_name, column_type FROM information_schema.columns "
                "WHERE table_schema = COALESCE(%s, DATABASE()) AND table_name = %s",
                [schema or None, name],
            )
            return dict(cursor.fetchall()) or None

        return self._trying(ask)

    def missing_right(self, table: str) -> str:
        """MariaDB tells rights only to those who may read its system tables, so only the connection is tried."""
        self.columns(table)
        return ""

    def run(self, statement: str) -> None:
        def ask(cursor: Any) -> None:
            cursor.execute(statement)

        self._trying(ask)

    def claim(self, owner: Owner, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        table = self.words.name(self._positions)

        def ask(cursor: Any) -> dict[TopicPartition, int]:
            cursor.execute(
                f"CREATE TABLE IF NOT EXISTS {table} (connector VARCHAR(255), topic VARCHAR(249), part INT, "
                "next_offset BIGINT, generation BIGINT NOT NULL, session BIGINT NOT NULL, "
                "PRIMARY KEY (connector, topic, part)) ENGINE=InnoDB CHARACTER SET latin1"
            )
            self._session = self._db.thread_id()
            self._end_older(cursor, table, owner, partitions)
            offsets: dict[TopicPartition, int] = {}
            for partition in sorted(partitions):
                place = [owner.connector, partition.topic, partition.partition]
                cursor.execute(f"INSERT IGNORE INTO {table} VALUES (%s, %s, %s, NULL, -1, 0)", place)
                cursor.execute(
                    f"SELECT next_offset, generation FROM {table} WHERE connector = %s AND topic = %s AND part = %s "
                    "FOR UPDATE",
                    place,
                )
                offset, generation = cursor.fetchone()
                if generation > owner.generation:
                    self._db.rollback()
                    raise younger_owner(self._address, owner, partition)
                cursor.execute(
                    f"UPDATE {table} SET generation = %s, session = %s "
                    "WHERE connector = %s AND topic = %s AND part = %s",
                    [owner.generation, self._session, *place],
                )
                if offset is not None:
                    offsets[partition] = offset
            self._db.commit()
            return offsets

        return self._trying(ask)

    def _end_older(self, cursor: Any, table: str, owner: Owner, partitions: Sequence[TopicPartition]) -> None:
        """End connections of older owners: a frozen one would hold its locks for as long as it is frozen."""
        cursor.execute(
            f"SELECT DISTINCT p.session, p.topic, p.part FROM {table} p JOIN information_schema.processlist l "
            "ON l.id = p.session WHERE p.connector = %s AND p.generation <= %s AND p.session <> %s",
            [owner.connector, owner.generation, self._session],
        )
        mine = set(partitions)
        for session, topic, part in cursor.fetchall():
            if TopicPartition(topic, part) in mine:
                try:
                    cursor.execute(f"KILL {int(session)}")
                except pymysql.Error as error:
                    if error.args[0] != ER.NO_SUCH_THREAD:
                        raise

    def stored(self, connector: str) -> dict[TopicPartition, int]:
        if self.columns(self._positions) is None:
            return {}

        def ask(cursor: Any) -> dict[TopicPartition, int]:
            cursor.execute(
                f"SELECT topic, part, next_offset FROM {self.words.name(self._positions)} "
                "WHERE connector = %s AND next_offset IS NOT NULL",
                [connector],
            )
            return {TopicPartition(topic, part): offset for topic, part, offset in cursor.fetchall()}

        return self._trying(ask)

    def insert(self, table: str, columns: Sequence[ColumnPlan], rows: pa.Table) -> None:
        names = ", ".join(self.words.identifier(column.name) for column in columns)
        marks = ", ".join("%s" for _ in columns)
        self._many(f"INSERT INTO {self.words.name(table)} ({names}) VALUES ({marks})", rows)

    def upsert(self, table: str, columns: Sequence[ColumnPlan], rows: pa.Table) -> None:
        marks = ", ".join("%s" for _ in columns)
        self._many(self.words.upsert(table, columns, f"VALUES ({marks})"), rows)

    def update(self, table: str, columns: Sequence[ColumnPlan], rows: pa.Table) -> None:
        quoted = self.words.identifier
        changes = ", ".join(f"{quoted(c.name)} = %s" for c in columns if not c.is_key)
        same = " AND ".join(f"{quoted(c.name)} = %s" for c in columns if c.is_key)
        order = [c.name for c in columns if not c.is_key] + [c.name for c in columns if c.is_key]
        self._many(f"UPDATE {self.words.name(table)} SET {changes} WHERE {same}", rows.select(order))

    def delete(self, table: str, keys: Sequence[ColumnPlan], rows: pa.Table) -> None:
        same = " AND ".join(f"{self.words.identifier(key.name)} = %s" for key in keys)
        self._many(f"DELETE FROM {self.words.name(table)} WHERE {same}", rows)

    def _many(self, statement: str, rows: pa.Table) -> None:
        """In a savepoint: refused rows cost only themselves."""
        values = list(zip(*[rows.column(name).to_pylist() for name in rows.column_names], strict=True))

        def ask(cursor: Any) -> None:
            cursor.execute("SAVEPOINT twinlog")
            try:
                cursor.executemany(statement, values)
            except pymysql.Error as error:
                if isinstance(error, _CONTENT) or error.args[0] in _OF_CONTENT:
                    cursor.execute("ROLLBACK TO SAVEPOINT twinlog")
                    raise RowsRefused(_said(error)) from error
                raise
            cursor.execute("RELEASE SAVEPOINT twinlog")

        self._trying(ask)

    def commit(self, owner: Owner, positions: Mapping[TopicPartition, int]) -> None:
        table = self.words.name(self._positions)

        def ask(cursor: Any) -> None:
            for partition, offset in sorted(positions.items()):
                cursor.execute(
                    f"SELECT 1 FROM {table} WHERE connector = %s AND topic = %s AND part = %s "
                    "AND generation = %s AND session = %s FOR UPDATE",
                    [owner.connector, partition.topic, partition.partition, owner.generation, self._session],
                )
                if cursor.fetchone() is None:
                    self._db.rollback()
                    raise lost_position(cursor, table, self._address, owner, partition)
                cursor.execute(
                    f"UPDATE {table} SET next_offset = %s WHERE connector = %s AND topic = %s AND part = %s",
                    [offset, owner.connector, partition.topic, partition.partition],
                )
            self._db.commit()

        self._trying(ask)

    def close(self) -> None:
        try:
            self._db.close()
        except pymysql.Error:
            return

    def _trying(self, ask: Callable[[Any], T]) -> T:
        try:
            with self._db.cursor() as cursor:
                return ask(cursor)
        except (pymysql.Error, OSError) as error:
            raise Retriable(f"{self._address}: {_said(error)}") from error


def _said(error: BaseException) -> str:
    if len(error.args) > 1:
        return str(error.args[1])
    return str(error) or type(error).__name__
