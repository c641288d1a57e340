"""Tables for records: columns of a schema, CREATE, ALTER, INSERT, as text. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from twinlog.pipelines.databases.addresses import Product
from twinlog.pipelines.schemas import DATE, DECIMAL, TIME, TIMESTAMP, Schema, logical_name
from twinlog.pipelines.sinks.jdbc.settings import JdbcSinkSettings

COORDINATES: Final = ("__connect_topic", "__connect_partition", "__connect_offset")
_COORDINATE_SCHEMAS: Final = (Schema("string"), Schema("int32"), Schema("int64"))
_TYPES: Final[dict[Product, dict[str, str]]] = {
    "postgresql": {
        "int8": "SMALLINT", "int16": "SMALLINT", "int32": "INT", "int64": "BIGINT", "float": "REAL",
        "double": "DOUBLE PRECISION", "boolean": "BOOLEAN", "string": "TEXT", "bytes": "BYTEA",
        DATE: "DATE", TIME: "TIME", TIMESTAMP: "TIMESTAMP", DECIMAL: "DECIMAL",
    },
    "mysql": {
        "int8": "TINYINT", "int16": "SMALLINT", "int32": "INT", "int64": "BIGINT", "float": "FLOAT",
        "double": "DOUBLE", "boolean": "TINYINT", "string": "TEXT", "bytes": "LONGBLOB",
        DATE: "DATE", TIME: "TIME(3)", TIMESTAMP: "DATETIME(3)", DECIMAL: "DECIMAL(65,{scale})",
    },
}  # fmt: skip
_KEY_TEXT: Final = "VARCHAR(256)"


class TableRefused(Exception):
    """Records of this schema cannot be written to their table."""


class RecordsUnwanted(Exception):
    """The configuration leaves records of this schema out."""


@dataclass(frozen=True)
class ColumnPlan:
    """One column: its name, what the record holds, and where it is."""

    name: str
    schema: Schema
    place: str  # key, value, kafka, whole key
    is_key: bool = False


def columns_of(s: JdbcSinkSettings, key: Schema | None, value: Schema | None) -> list[ColumnPlan]:
    """The columns of a record. Raises TableRefused, in the connector's words."""
    keys: list[ColumnPlan] = []
    match s.pk_mode:
        case "kafka":
            names = s.pk_fields or COORDINATES
            if len(names) != len(COORDINATES):
                raise TableRefused("pk.fields must have the names of three columns for pk.mode=kafka")
            keys = [
                ColumnPlan(name, schema, f"kafka{n}", is_key=True)
                for n, (name, schema) in enumerate(zip(names, _COORDINATE_SCHEMAS, strict=True))
            ]
        case "record_key":
            keys = _of_key(s, key)
        case "record_value":
            if value is None or value.type != "struct":
                raise TableRefused("pk.mode=record_value needs values with a schema that is a struct")
            wanted = s.pk_fields or tuple(field.name for field in value.fields)
            for name in wanted:
                its = value.field(name)
                if its is None:
                    raise TableRefused(f"PK mode is record_value with field {name}, but the value has no such field")
                keys.append(ColumnPlan(name, its, "value", is_key=True))
        case "record_header":
            raise TableRefused("pk.mode=record_header is not supported; use record_key or record_value")
        case _:
            pass
    taken = {column.name for column in keys}
    rest: list[ColumnPlan] = []
    if value is not None:
        if value.type != "struct":
            raise TableRefused(f"values must be structs with a schema, not {value.type}")
        rest = [
            ColumnPlan(field.name, field.schema, "value")
            for field in value.fields
            if field.name not in taken and (not s.fields or field.name in s.fields)
        ]
    for column in rest:
        if column.schema.type in {"struct", "array", "map"}:
            raise TableRefused(
                f"{column.name}: a column cannot hold a {column.schema.type}; flatten or leave out the field"
            )
    if not keys and not rest:
        raise TableRefused("no fields found to write")
    return [*keys, *rest]


def _of_key(s: JdbcSinkSettings, key: Schema | None) -> list[ColumnPlan]:
    if key is None:
        raise TableRefused("pk.mode=record_key needs keys with a schema; their converter gives none")
    if key.type == "struct":
        names = s.pk_fields or tuple(field.name for field in key.fields)
        columns = []
        for name in names:
            its = key.field(name)
            if its is None:
                raise TableRefused(f"PK mode is record_key with field {name}, but the key has no such field")
            columns.append(ColumnPlan(name, its, "key", is_key=True))
        return columns
    if len(s.pk_fields) != 1:
        raise TableRefused("a key that is no struct needs exactly one name in pk.fields")
    return [ColumnPlan(s.pk_fields[0], key, "whole key", is_key=True)]


@dataclass(frozen=True)
class Words:
    """The SQL of one product."""

    product: Product
    quote: bool = True

    def name(self, name: str) -> str:
        """A name, maybe with its schema in front of it."""
        mark = '"' if self.product == "postgresql" else "`"
        parts = name.split(".")
        return ".".join(mark + part.replace(mark, mark * 2) + mark for part in parts) if self.quote else name

    def identifier(self, name: str) -> str:
        mark = '"' if self.product == "postgresql" else "`"
        return mark + name.replace(mark, mark * 2) + mark if self.quote else name

    def type(self, column: ColumnPlan) -> str:
        types = _TYPES[self.product]
        logical = logical_name(column.schema)
        if logical is not None:
            return types[logical].format(scale=column.schema.scale)
        if self.product == "mysql" and column.is_key and column.schema.type in {"string", "bytes"}:
            return _KEY_TEXT if column.schema.type == "string" else "VARBINARY(256)"
        return types[column.schema.type]

    def definition(self, column: ColumnPlan) -> str:
        null = "NOT NULL" if column.is_key or not column.schema.optional else "NULL"
        return f"{self.identifier(column.name)} {self.type(column)} {null}"

    def create(self, table: str, columns: Sequence[ColumnPlan]) -> str:
        lines = [self.definition(column) for column in columns]
        keys = [self.identifier(column.name) for column in columns if column.is_key]
        if keys:
            lines.append(f"PRIMARY KEY({', '.join(keys)})")
        return f"CREATE TABLE {self.name(table)} ({', '.join(lines)})"

    def add(self, table: str, columns: Sequence[ColumnPlan]) -> list[str]:
        """ALTER statements for new columns. Raises TableRefused for one that old rows cannot have."""
        for column in columns:
            if not column.schema.optional and column.schema.default is None:
                raise TableRefused(
                    f"{table} lacks the column {column.name}; it cannot be added, because the field is not optional "
                    "and has no default value"
                )
        return [
            f"ALTER TABLE {self.name(table)} ADD COLUMN {self.identifier(column.name)} {self.type(column)} NULL"
            for column in columns
        ]

    def upsert(self, table: str, columns: Sequence[ColumnPlan], source: str) -> str:
        """INSERT … SELECT that replaces rows of the same key (PostgreSQL), or INSERT … VALUES (MySQL)."""
        names = ", ".join(self.identifier(column.name) for column in columns)
        rest = [self.identifier(column.name) for column in columns if not column.is_key]
        head = f"INSERT INTO {self.name(table)} ({names}) {source}"
        if self.product == "postgresql":
            keys = ", ".join(self.identifier(column.name) for column in columns if column.is_key)
            action = "UPDATE SET " + ", ".join(f"{name} = EXCLUDED.{name}" for name in rest) if rest else "NOTHING"
            return f"{head} ON CONFLICT ({keys}) DO {action}"
        changes = [f"{name} = VALUES({name})" for name in rest]
        if not changes:
            first = self.identifier(columns[0].name)
            changes = [f"{first} = {first}"]
        return f"{head} ON DUPLICATE KEY UPDATE {', '.join(changes)}"
