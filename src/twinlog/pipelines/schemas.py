"""Schemas of Connect: types, names and defaults of keys and values, and their JSON form. Pure.

The columns of a plan hold physical types (a Timestamp is a long); the logical name stays here, in the schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

TypeName: TypeAlias = Literal[
    "boolean", "int8", "int16", "int32", "int64", "float", "double", "string", "bytes", "array", "map", "struct"
]

DATE: Final = "org.apache.kafka.connect.data.Date"
TIME: Final = "org.apache.kafka.connect.data.Time"
TIMESTAMP: Final = "org.apache.kafka.connect.data.Timestamp"
DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
SCALE: Final = "scale"
PRECISION: Final = "connect.decimal.precision"
_LONGEST_DECIMAL: Final = 38

_DEBEZIUM: Final = {
    "io.debezium.time.Date": DATE,
    "io.debezium.time.Timestamp": TIMESTAMP,
    "io.debezium.time.MicroTimestamp": TIMESTAMP,
    "io.debezium.time.NanoTimestamp": TIMESTAMP,
    "io.debezium.time.Time": TIME,
    "io.debezium.time.MicroTime": TIME,
}
_UNITS: Final = {
    "io.debezium.time.MicroTimestamp": "us", "io.debezium.time.NanoTimestamp": "ns", "io.debezium.time.MicroTime": "us",
}  # fmt: skip

_SPARK: Final[dict[str, str]] = {
    "boolean": "boolean",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "float": "float",
    "double": "double",
    "string": "string",
    "bytes": "binary",
}
INTEGERS: Final = frozenset({"int8", "int16", "int32", "int64"})
NUMBERS: Final = INTEGERS | {"float", "double"}


@dataclass(frozen=True)
class Schema:
    """What a key, a value or a field of one is."""

    type: TypeName
    optional: bool = False
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    default: Any = field(default=None, hash=False)
    fields: tuple[Field, ...] = ()
    keys: Schema | None = None
    values: Schema | None = None  # of a map; of an array: its items

    @property
    def scale(self) -> int:
        """Digits behind the point of a Decimal."""
        return int(dict(self.parameters).get(SCALE, 0))

    @property
    def is_decimal(self) -> bool:
        return self.name == DECIMAL and self.type == "bytes"

    def field(self, name: str) -> Schema | None:
        """The schema of one field, if there is such a field."""
        return next((member.schema for member in self.fields if member.name == name), None)

    def with_fields(self, fields: Iterable[Field]) -> Schema:
        return replace(self, fields=tuple(fields), default=None)

    def spark(self) -> str:
        """The Spark type that holds it."""
        if self.is_decimal:
            return f"decimal({_LONGEST_DECIMAL},{self.scale})"
        if self.type == "struct":
            return f"struct<{', '.join(f'{quoted(member.name)}: {member.schema.spark()}' for member in self.fields)}>"
        if self.type == "array":
            return f"array<{_there(self.values).spark()}>"
        if self.type == "map":
            return f"map<{_there(self.keys).spark()}, {_there(self.values).spark()}>"
        return _SPARK[self.type]

    def to_json(self) -> dict[str, Any]:
        """As JsonConverter writes it, with its order of the entries."""
        document: dict[str, Any] = {"type": self.type}
        if self.type == "array":
            document["items"] = _there(self.values).to_json()
        elif self.type == "map":
            document |= {"keys": _there(self.keys).to_json(), "values": _there(self.values).to_json()}
        elif self.type == "struct":
            document["fields"] = [member.schema.to_json() | {"field": member.name} for member in self.fields]
        document["optional"] = self.optional
        for key in ("name", "version", "doc"):
            if getattr(self, key) is not None:
                document[key] = getattr(self, key)
        if self.parameters:
            document["parameters"] = dict(self.parameters)
        if self.default is not None:
            document["default"] = self.default
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Schema:
        """Read what JsonConverter wrote. Raises ValueError."""
        if not isinstance(document, Mapping):
            raise ValueError(f"a schema is an object, not {document!r}")  # noqa: TRY004  as all that is wrong with one
        kind = document.get("type")
        if kind not in (*_SPARK, "array", "map", "struct"):
            raise ValueError(f"unknown type {kind!r} in a schema")
        nested: dict[str, Any] = {}
        try:
            if kind == "array":
                nested["values"] = cls.from_json(document["items"])
            elif kind == "map":
                nested |= {"keys": cls.from_json(document["keys"]), "values": cls.from_json(document["values"])}
            elif kind == "struct":
                nested["fields"] = tuple(
                    Field(str(member["field"]), cls.from_json(member)) for member in document["fields"]
                )
            parameters = dict(document.get("parameters") or {})
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"the schema of a {kind} makes no sense: {error!r}") from error
        return cls(
            kind,
            optional=bool(document.get("optional", False)),
            name=document.get("name"),
            version=document.get("version"),
            doc=document.get("doc"),
            parameters=tuple((str(key), str(value)) for key, value in parameters.items()),
            default=document.get("default"),
            **nested,
        )


@dataclass(frozen=True)
class Field:
    """One field of a struct."""

    name: str
    schema: Schema


def logical_name(schema: Schema) -> str | None:
    """Connect's logical type, also for Debezium's own."""
    return _DEBEZIUM.get(schema.name or "", schema.name if schema.name in {DATE, TIME, TIMESTAMP, DECIMAL} else None)


def unit_of(schema: Schema) -> str:
    """What a time counts: ms, us or ns."""
    return _UNITS.get(schema.name or "", "ms")


def struct(*fields: tuple[str, Schema], name: str | None = None, optional: bool = False) -> Schema:
    return Schema("struct", optional=optional, name=name, fields=tuple(Field(*member) for member in fields))


def quoted(name: str) -> str:
    """A name as Spark's SQL takes it whatever is in it."""
    return f"`{name.replace('`', '``')}`"


def _there(schema: Schema | None) -> Schema:
    if schema is None:
        raise ValueError("a map or an array without the type of its items")
    return schema


OPTIONAL_STRING: Final = Schema("string", optional=True)
OPTIONAL_BYTES: Final = Schema("bytes", optional=True)
STRING: Final = Schema("string")
