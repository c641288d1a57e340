"""The JDBC sink: tables made and changed as records need it; bad rows found by halving. Runs in Python workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute

from twinlog.model.names import TopicPartition
from twinlog.pipelines.api import Finding, Owner, Rejected, Retriable, Schema, SettingsRefused, SinkBatch
from twinlog.pipelines.databases.addresses import read_address
from twinlog.pipelines.sinks.jdbc.arrays import last_per_key, table_of
from twinlog.pipelines.sinks.jdbc.dialect import Database, RowsRefused
from twinlog.pipelines.sinks.jdbc.settings import JdbcSinkSettings
from twinlog.pipelines.sinks.jdbc.tables import ColumnPlan, RecordsUnwanted, TableRefused, columns_of

pc: Any = pyarrow.compute
_SQL: str = "java.sql.SQLException"


class JdbcSink:
    """Rows into tables; rows and positions in one transaction."""

    also: ClassVar = (
        "io.confluent.connect.jdbc.JdbcSinkConnector",
        "io.aiven.connect.jdbc.JdbcSinkConnector",
        "io.debezium.connector.jdbc.JdbcSinkConnector",
    )
    settings: ClassVar = JdbcSinkSettings
    takes: ClassVar = "columns"
    delivery: ClassVar = "exactly-once"

    def __init__(self, s: JdbcSinkSettings) -> None:
        self.s = s
        try:
            self.address = read_address(s.url, s.user, s.password)
        except ValueError as error:
            raise SettingsRefused([Finding("connection.url", str(error))]) from None
        if s.mode in {"upsert", "update"} and s.pk_mode == "none":
            raise SettingsRefused([Finding("pk.mode", f"insert.mode={s.mode} needs a primary key")])
        if s.deletes and s.pk_mode != "record_key":
            raise SettingsRefused([Finding("delete.enabled", "deletes need pk.mode=record_key")])
        basic = s.evolution == "basic"
        self.creates, self.evolves = s.create or basic, s.evolve or basic
        if s.contract != "auto":
            self.evolves = s.contract == "evolve"
        self._db: Database | None = None
        self._owner: Owner | None = None
        self._ready: dict[tuple[str, Schema | None, Schema | None], list[ColumnPlan]] = {}
        self._rows_are_open = False  # the transaction holds rows that are not committed

    def _connected(self) -> Database:
        if self.address.product == "postgresql":
            from twinlog.pipelines.sinks.jdbc.postgresql import PostgreSql  # noqa: PLC0415  loads its driver

            return PostgreSql(self.address, self.s.positions, quote=self.s.quote == "always")
        from twinlog.pipelines.sinks.jdbc.mariadb import MariaDb  # noqa: PLC0415

        return MariaDb(self.address, self.s.positions, quote=self.s.quote == "always")

    @property
    def db(self) -> Database:
        if self._db is None:
            self._db = self._connected()
        return self._db

    def check(self) -> Iterable[Finding]:
        try:
            missing = self.db.missing_right(self.s.positions)
            if missing:
                yield Finding("connection.url", f"{self.address}: {missing}")
        except Retriable as error:
            yield Finding("connection.url", f"no connection: {error}")
        finally:
            self.close()

    def positions(self, connector: str) -> Mapping[TopicPartition, int] | None:
        try:
            return self.db.stored(connector)
        finally:
            self.close()

    def open(self, owner: Owner, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        self._owner = owner
        return self.db.claim(owner, partitions)

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
        self._db = None
        self._ready.clear()
        self._rows_are_open = False

    def flush(self, positions: Mapping[TopicPartition, int]) -> None:
        if self._owner is None:
            raise RuntimeError("flush before open")
        self.db.commit(self._owner, positions)
        self._rows_are_open = False

    def table(self, topic: str) -> str:
        return self.s.table.replace("${topic}", topic)

    def put(self, batch: SinkBatch) -> Sequence[Rejected]:
        gone = pc.is_null(batch.values)
        absent = pc.sum(gone).as_py() or 0
        if absent and not self.s.deletes:
            numbers = pc.indices_nonzero(gone).to_pylist()
            refused = [
                Rejected(number, f"{batch.topic}: a record without a value; set delete.enabled") for number in numbers
            ]
            return [*refused, *self._some(batch, pc.invert(gone))]
        return self._rows(batch, pa.array(range(len(batch)), pa.int64()))

    def _some(self, batch: SinkBatch, mask: Any) -> Sequence[Rejected]:
        rows = batch.rows.filter(mask)
        some = SinkBatch(batch.topic, rows, batch.key_schema, batch.schema)
        return self._rows(some, pc.indices_nonzero(mask)) if rows.num_rows else ()

    def _rows(self, batch: SinkBatch, numbers: Any) -> Sequence[Rejected]:
        """Write rows; when they are refused, halve them until the bad ones are alone."""
        try:
            columns = self._columns(batch)
            self._write(batch, columns)
        except RecordsUnwanted as error:
            return [Rejected(int(number.as_py()), str(error), left_out=True) for number in numbers]
        except TableRefused as error:
            return [Rejected(int(number.as_py()), str(error)) for number in numbers]
        except RowsRefused as error:
            if len(batch) == 1:
                return [Rejected(int(numbers[0].as_py()), str(error), _SQL)]
            half = len(batch) // 2
            rejected: list[Rejected] = []
            for start, count in ((0, half), (half, len(batch) - half)):
                rows = batch.rows.slice(start, count)
                some = SinkBatch(batch.topic, rows, batch.key_schema, batch.schema)
                rejected += self._rows(some, numbers.slice(start, count))
            return rejected
        return ()

    def _columns(self, batch: SinkBatch) -> list[ColumnPlan]:
        """The columns of these records; the table has them when this returns."""
        kind = (batch.topic, batch.key_schema, batch.schema)
        if kind in self._ready:
            return self._ready[kind]
        if batch.schema is None and not self.s.deletes:
            raise TableRefused(
                f"{batch.topic}: values need a schema that is a struct; JsonConverter has them with schemas.enable=true"
            )
        columns = self._wanted(batch.topic, columns_of(self.s, batch.key_schema, batch.schema))
        self._change(self.changes(batch.topic, columns))
        self._ready[kind] = columns
        return columns

    def _wanted(self, topic: str, columns: list[ColumnPlan]) -> list[ColumnPlan]:
        """Without the fields that `schema.contract` leaves out. Raises RecordsUnwanted, TableRefused."""
        if self.s.contract not in {"freeze", "discard"}:
            return columns
        there = self.db.columns(self.table(topic))
        if there is None:
            return columns
        known = {name.lower() for name in there}
        missing = [column for column in columns if column.name.lower() not in known]
        names = ", ".join(column.name for column in missing)
        if missing and self.s.contract == "discard":
            raise RecordsUnwanted(f"table {self.table(topic)} lacks the columns {names}, and schema.contract=discard")
        if any(column.is_key for column in missing):
            raise TableRefused(f"table {self.table(topic)} lacks the columns {names} of the key")
        return [column for column in columns if column not in missing]

    def _change(self, statements: list[str]) -> None:
        """On a connection of its own: DDL of MySQL would commit the open transaction.

        Rows of the open transaction hold a lock on the table, for which DDL would wait for ever. They are given up,
        and the framework puts them again.
        """
        if not statements:
            return
        given_up = self._rows_are_open
        if given_up:
            self.close()
        other = self._connected()
        try:
            for statement in statements:
                other.run(statement)
        except Retriable:
            raise
        except Exception as error:  # another task may have done the same a moment ago
            raise Retriable(f"{'; '.join(statements)}: {error}", 500) from error
        finally:
            other.close()
        if given_up:
            raise Retriable("the table has new columns; rows that were not committed are written again", 0)

    def changes(self, topic: str, columns: list[ColumnPlan]) -> list[str]:
        """The statements that give the table its columns. Raises TableRefused where none are allowed."""
        table = self.table(topic)
        there = self.db.columns(table)
        if there is None:
            if not self.creates:
                raise TableRefused(f"table {table} is missing, and auto.create is off")
            return [self.db.words.create(table, columns)]
        known = {name.lower() for name in there}
        missing = [column for column in columns if column.name.lower() not in known]
        if missing and not self.evolves:
            names = ", ".join(column.name for column in missing)
            why = "auto.evolve is off" if self.s.contract == "auto" else f"schema.contract={self.s.contract}"
            raise TableRefused(f"table {table} lacks the columns {names}, and {why}")
        return self.db.words.add(table, missing) if missing else []

    def _write(self, batch: SinkBatch, columns: list[ColumnPlan]) -> None:
        table, keys = self.table(batch.topic), [column for column in columns if column.is_key]
        rows = table_of(batch, columns).append_column("__gone", pc.is_null(batch.values))
        if self.s.mode != "insert" or self.s.deletes:
            rows = last_per_key(rows, [key.name for key in keys])
        gone = rows.filter(rows.column("__gone")).select([key.name for key in keys])
        there = rows.filter(pc.invert(rows.column("__gone"))).drop_columns(["__gone"])
        work: dict[str, Callable[..., None]] = {
            "insert": self.db.insert, "upsert": self.db.upsert, "update": self.db.update,
        }  # fmt: skip
        self._rows_are_open = True
        if gone.num_rows:
            self.db.delete(table, keys, gone)
        if there.num_rows:
            work[self.s.mode](table, columns, there)

    def preview(self, batch: SinkBatch) -> Sequence[str]:
        """The statements for these records, and some of the rows. Nothing is changed."""
        try:
            columns = self._wanted(batch.topic, columns_of(self.s, batch.key_schema, batch.schema))
            ddl = self.changes(batch.topic, columns)
        except RecordsUnwanted as error:
            return [f"left out: {error}"]
        except TableRefused as error:
            return [f"refused: {error}"]
        finally:
            self.close()
        words, table = self._words(), self.table(batch.topic)
        marks = f"VALUES ({', '.join('?' for _ in columns)})"
        names = ", ".join(words.identifier(column.name) for column in columns)
        statement = (
            words.upsert(table, columns, marks)
            if self.s.mode == "upsert"
            else f"{self.s.mode.upper()} {words.name(table)} ({names}) {marks}"
        )
        return [*ddl, statement, *[str(row) for row in table_of(batch, columns).to_pylist()]]

    def _words(self) -> Any:
        from twinlog.pipelines.sinks.jdbc.tables import Words  # noqa: PLC0415

        return Words(self.address.product, self.s.quote == "always")
