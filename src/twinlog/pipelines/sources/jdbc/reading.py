"""Rows of a database as Arrow: PostgreSQL by COPY, MySQL and MariaDB by cursor. Runs in Python workers."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, Protocol

import psycopg
import pyarrow as pa
import pymysql
from pyarrow import csv

from twinlog.pipelines.api import Retriable
from twinlog.pipelines.databases.addresses import Address, search_path
from twinlog.pipelines.schemas import DATE, TIME, TIMESTAMP, Field, Schema
from twinlog.pipelines.sinks.jdbc.tables import Words
from twinlog.pipelines.sources.jdbc.columns import schema_of
from twinlog.pipelines.sources.jdbc.queries import Query

_NO_RIGHT = frozenset({1227, 1044, 1142})


class Reading(Protocol):
    """One connection that reads."""

    words: Words

    def tables(self, schema: str) -> list[str]:
        """Names of tables, as positions are kept under: catalog.schema.table."""
        ...

    def schema(self, query: Query, table: str | None, numeric: str) -> Schema:
        """The schema of the rows of a query."""
        ...

    def rows(self, query: Query, schema: Schema) -> pa.RecordBatch:
        """All rows of a query."""
        ...

    def now_us(self) -> int:
        """The database's clock."""
        ...

    def oldest_transaction_ms(self) -> int | None:
        """When the oldest transaction that is still open began."""
        ...

    def close(self) -> None: ...


def connected(address: Address, *, quote: bool) -> Reading:
    """A connection. Raises Retriable."""
    return PostgreSqlReading(address, quote) if address.product == "postgresql" else MariaDbReading(address, quote)


class PostgreSqlReading:
    """Reads PostgreSQL."""

    def __init__(self, address: Address, quote: bool) -> None:
        self.words = Words("postgresql", quote)
        self._address = address
        try:
            self._db = psycopg.connect(
                host=address.host, port=address.port, dbname=address.database or address.user,
                user=address.user or None, password=address.password.reveal() or None, autocommit=True,
                sslmode=address.option("sslmode", "prefer"), connect_timeout=10, application_name="twinlog",
                options=f"-c TimeZone=UTC -c DateStyle=ISO{search_path(address)}",
            )  # fmt: skip
        except psycopg.Error as error:
            raise Retriable(f"{address}: {' '.join(str(error).split())}") from None

    def _asked(self, text: str, values: Sequence[Any] = ()) -> list[Any]:
        try:
            return self._db.execute(text, values).fetchall()
        except psycopg.Error as error:
            raise Retriable(f"{self._address}: {' '.join(str(error).split())}") from error

    def tables(self, schema: str) -> list[str]:
        rows = self._asked(
            "SELECT current_database(), table_schema, table_name FROM information_schema.tables WHERE table_type = "
            "'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema') AND (%s = '' OR table_schema "
            "= %s) ORDER BY 2, 3",
            [schema, schema],
        )
        return [".".join(row) for row in rows]

    def schema(self, query: Query, table: str | None, numeric: str) -> Schema:
        nulls: dict[str, bool] = {}
        if table is not None:
            rows = self._asked(
                "SELECT attname, NOT attnotnull FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0",
                [self.words.name(table)],
            )
            nulls = dict(rows)
        try:
            columns: Any = self._db.execute(f"SELECT * FROM ({query.text}) d LIMIT 0").description or ()
        except psycopg.Error as error:
            raise Retriable(f"{self._address}: {' '.join(str(error).split())}") from error
        fields = []
        for column in columns:
            kind = self._asked("SELECT format_type(%s::oid, NULL)", [column.type_code])[0][0]
            if column.precision:
                kind += f"({column.precision},{column.scale or 0})"
            null = nulls.get(column.name, True)
            fields.append(Field(column.name, schema_of("postgresql", kind, nullable=null, numeric=numeric)))
        return Schema("struct", fields=tuple(fields))

    def rows(self, query: Query, schema: Schema) -> pa.RecordBatch:
        names = [field.name for field in schema.fields]
        buffer = io.BytesIO()
        shown = ", ".join(_readable(self.words.identifier(field.name), field.schema) for field in schema.fields)
        statement = f"COPY (SELECT {shown} FROM ({query.text}) r) TO STDOUT (FORMAT csv, FORCE_QUOTE *)"
        try:
            with self._db.cursor() as cursor, cursor.copy(statement) as copy:
                for block in copy:
                    buffer.write(block)
        except psycopg.Error as error:
            raise Retriable(f"{self._address}: {' '.join(str(error).split())}") from error
        if not buffer.tell():
            return pa.RecordBatch.from_pylist(
                [], pa.schema([(field.name, _csv_type(field.schema)) for field in schema.fields])
            )
        buffer.seek(0)
        table = csv.read_csv(
            buffer,
            csv.ReadOptions(column_names=names, use_threads=False),
            csv.ParseOptions(newlines_in_values=True),
            csv.ConvertOptions(
                column_types={field.name: _csv_type(field.schema) for field in schema.fields},
                null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False,
                true_values=["t"], false_values=["f"],
            ),
        )  # fmt: skip
        columns = [_of_csv(table.column(field.name).combine_chunks(), field.schema) for field in schema.fields]
        return pa.RecordBatch.from_arrays(columns, names=names)

    def now_us(self) -> int:
        return int(self._asked("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")[0][0])

    def oldest_transaction_ms(self) -> int | None:
        oldest = self._asked(
            "SELECT (extract(epoch FROM min(xact_start)) * 1000)::bigint FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND state <> 'idle' AND backend_type = 'client backend'"
        )[0][0]
        return None if oldest is None else int(oldest)

    def close(self) -> None:
        self._db.close()


def _readable(name: str, schema: Schema) -> str:
    """A column in a form that Arrow's CSV reader takes: bytes as hexadecimal digits, times as numbers."""
    if schema.name == TIMESTAMP:
        return f"(extract(epoch FROM {name}) * 1000000)::bigint AS {name}"
    if schema.name == TIME:
        return f"(extract(epoch FROM {name}) * 1000)::bigint AS {name}"
    if schema.name == DATE:
        return f"({name} - DATE '1970-01-01') AS {name}"
    if schema.type == "bytes" and not schema.is_decimal:
        return f"encode({name}, 'hex') AS {name}"
    return name


def _csv_type(schema: Schema) -> Any:
    if schema.is_decimal:
        return pa.decimal128(38, schema.scale)
    if schema.name in {TIME, TIMESTAMP}:
        return pa.int64()
    kinds: dict[str, Any] = {
        "int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64(), "float": pa.float32(),
        "double": pa.float64(), "boolean": pa.bool_(),
    }  # fmt: skip
    return kinds.get(schema.type, pa.string())


def _of_csv(column: Any, schema: Schema) -> Any:
    if schema.name == TIMESTAMP:
        return column.cast(pa.timestamp("us"))
    if schema.type == "bytes" and not schema.is_decimal:
        return pa.array([None if value is None else bytes.fromhex(value) for value in column.to_pylist()], pa.binary())
    return column.cast(pa.int32()) if schema.name == TIME else column


class MariaDbReading:
    """Reads MySQL and MariaDB."""

    def __init__(self, address: Address, quote: bool) -> None:
        self.words = Words("mysql", quote)
        self._address = address
        try:
            self._db: Any = pymysql.connect(
                host=address.host, port=address.port, user=address.user or None, password=address.password.reveal(),
                database=address.database or None, charset="utf8mb4", connect_timeout=10, autocommit=True,
                init_command="SET time_zone='+00:00'",
            )  # fmt: skip
        except (pymysql.Error, OSError) as error:
            raise Retriable(f"{address}: {error.args[-1] if error.args else error}") from None

    def _asked(self, text: str, values: Sequence[Any] = ()) -> tuple[list[Any], list[str]]:
        try:
            with self._db.cursor() as cursor:
                cursor.execute(text, list(values) or None)
                return list(cursor.fetchall()), [column[0] for column in cursor.description or ()]
        except (pymysql.Error, OSError) as error:
            raise Retriable(f"{self._address}: {error.args[-1] if error.args else error}") from error

    def tables(self, schema: str) -> list[str]:
        rows, _ = self._asked(
            "SELECT table_schema, table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE' AND "
            "table_schema = COALESCE(NULLIF(%s, ''), DATABASE()) ORDER BY 2",
            [schema],
        )
        return [".".join(row) for row in rows]

    def schema(self, query: Query, table: str | None, numeric: str) -> Schema:
        if table is not None:
            place, _, name = table.rpartition(".")
            rows, _ = self._asked(
                "SELECT column_name, column_type, is_nullable FROM information_schema.columns WHERE table_schema = "
                "COALESCE(NULLIF(%s, ''), DATABASE()) AND table_name = %s ORDER BY ordinal_position",
                [place, name],
            )
            kinds = [(column, kind, null == "YES") for column, kind, null in rows]
        else:
            kinds = self._of_query(query)
        fields = [Field(name, schema_of("mysql", kind, nullable=null, numeric=numeric)) for name, kind, null in kinds]
        return Schema("struct", fields=tuple(fields))

    def _of_query(self, query: Query) -> list[tuple[str, str, bool]]:
        """The columns of a query, by a temporary table that is made like it."""
        self._asked("DROP TEMPORARY TABLE IF EXISTS twinlog_shape")
        self._asked(f"CREATE TEMPORARY TABLE twinlog_shape AS SELECT * FROM ({query.text}) d LIMIT 0")
        rows, _ = self._asked("SHOW COLUMNS FROM twinlog_shape")
        return [(row[0], row[1], row[2] == "YES") for row in rows]

    def rows(self, query: Query, schema: Schema) -> pa.RecordBatch:
        rows, names = self._asked(query.text)
        columns = list(zip(*rows, strict=True)) if rows else [() for _ in names]
        by_name = dict(zip(names, columns, strict=True))
        arrays = [_of_values(by_name[field.name], field.schema) for field in schema.fields]
        return pa.RecordBatch.from_arrays(arrays, names=[field.name for field in schema.fields])

    def now_us(self) -> int:
        rows, _ = self._asked("SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))")
        return int(rows[0][0])

    def oldest_transaction_ms(self) -> int | None:
        # The table speaks in the time zone of the server, and needs the right PROCESS.
        try:
            rows, _ = self._asked(
                "SELECT TIMESTAMPDIFF(SECOND, MIN(trx_started), CONVERT_TZ(NOW(), '+00:00', 'SYSTEM')) "
                "FROM information_schema.innodb_trx WHERE trx_mysql_thread_id <> CONNECTION_ID()"
            )
        except Retriable as error:
            if isinstance(error.__cause__, pymysql.err.OperationalError) and error.__cause__.args[0] in _NO_RIGHT:
                return None
            raise
        # Whole seconds: the transaction may have begun up to a second earlier than they say.
        return None if rows[0][0] is None else self.now_us() // 1000 - (int(rows[0][0]) + 1) * 1000

    def close(self) -> None:
        self._db.close()


def _of_values(values: Sequence[Any], schema: Schema) -> Any:
    if schema.name == TIMESTAMP:
        return pa.array(values, pa.timestamp("us"))
    if schema.name == DATE:
        return pa.array(values, pa.date32())
    if schema.name == TIME:
        return pa.array([None if value is None else int(value.total_seconds() * 1000) for value in values], pa.int32())
    if schema.is_decimal:
        return pa.array(values, pa.decimal128(38, schema.scale))
    if schema.type == "int8" and values and isinstance(next((v for v in values if v is not None), 0), bytes):
        return pa.array([None if value is None else int.from_bytes(value, "big") for value in values], pa.int8())
    if schema.type == "string":
        return pa.array([None if value is None else str(value) for value in values], pa.string())
    return pa.array(values, _csv_type(schema) if schema.type != "bytes" else pa.binary())
