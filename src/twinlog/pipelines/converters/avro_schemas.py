"""Avro schemas and Connect's schemas, both ways, as Confluent's AvroData maps them. Pure.

Connect                     Avro
int8, int16                 int with connect.type
Decimal, Date, Timestamp    decimal, date, time-millis, timestamp-millis
optional                    union of null and the type
map with other keys         array of records with key and value
struct named …avro.Union    union of several types
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, Final

from twinlog.pipelines.records import PlanRefused
from twinlog.pipelines.schemas import DATE, DECIMAL, PRECISION, SCALE, TIME, TIMESTAMP, Field, Schema

NAMESPACE: Final = "io.confluent.connect.avro"
DEFAULT_NAME: Final = "ConnectDefault"
UNION: Final = f"{NAMESPACE}.Union"
ENUM: Final = f"{NAMESPACE}.Enum"
ENTRY: Final = "MapEntry"
_PRECISION: Final = 64
_TO_CONNECT: Final = {
    "boolean": "boolean", "int": "int32", "long": "int64", "float": "float", "double": "double", "string": "string",
    "bytes": "bytes", "fixed": "bytes", "enum": "string",
}  # fmt: skip
_TO_AVRO: Final = {
    "boolean": "boolean", "int8": "int", "int16": "int", "int32": "int", "int64": "long", "float": "float",
    "double": "double", "string": "string", "bytes": "bytes",
}  # fmt: skip
_LOGICAL: Final = {
    ("int", "date"): DATE, ("int", "time-millis"): TIME, ("long", "timestamp-millis"): TIMESTAMP,
    ("bytes", "decimal"): DECIMAL, ("fixed", "decimal"): DECIMAL,
}  # fmt: skip
_LOGICAL_BACK: Final = {DATE: "date", TIME: "time-millis", TIMESTAMP: "timestamp-millis"}


def connect_schema(avro: Any) -> Schema:
    """The Connect schema of a parsed Avro schema. Raises PlanRefused for what Connect cannot hold."""
    return _Reader().schema(avro, "")


def avro_schema(schema: Schema) -> Any:
    """The Avro schema of a Connect schema, ready for JSON."""
    return _Writer().schema(schema)


def avro_text(schema: Schema) -> str:
    return json.dumps(avro_schema(schema), separators=(",", ":"), ensure_ascii=False)


class _Reader:
    def __init__(self) -> None:
        self._named: dict[str, Any] = {}
        self._open: list[str] = []

    def schema(self, avro: Any, space: str, **more: Any) -> Schema:
        if isinstance(avro, list):
            return self._union(avro, space, **more)
        definition: Mapping[str, Any] = avro if isinstance(avro, dict) else {"type": avro}
        kind = definition["type"]
        if isinstance(kind, dict | list):
            return self.schema(kind, space, **more)
        if kind in {"record", "error"}:
            return self._record(definition, space, **more)
        if kind in {"enum", "fixed"}:
            self._named[_full(definition, space)] = (definition, space)
        elif kind == "array":
            return _made("array", definition, values=self.schema(definition["items"], space), **more)
        elif kind == "map":
            values = self.schema(definition["values"], space)
            return _made("map", definition, keys=Schema("string"), values=values, **more)
        elif kind not in _TO_CONNECT:
            return self._known(kind, space, **more)
        return _plain(kind, definition, space, **more)

    def _known(self, name: str, space: str, **more: Any) -> Schema:
        full = name if "." in name or not space else f"{space}.{name}"
        full = full if full in self._named else name
        if full in self._open:
            raise PlanRefused(f"the Avro record {full} holds itself; columns cannot hold that")
        if full not in self._named:
            raise PlanRefused(f"the Avro schema names {name!r}, which is defined nowhere")
        definition, its_space = self._named[full]
        return self.schema(definition, its_space, **more)

    def _record(self, definition: Mapping[str, Any], space: str, **more: Any) -> Schema:
        full = _full(definition, space)
        if full in self._open:
            raise PlanRefused(f"the Avro record {full} holds itself; columns cannot hold that")
        self._named[full] = (definition, space)
        self._open.append(full)
        inner = full.rpartition(".")[0]
        fields = tuple(Field(field["name"], self._field(field, inner)) for field in definition["fields"])
        self._open.pop()
        made = _made("struct", definition, fields=fields, **more)
        own = None if full == f"{NAMESPACE}.{DEFAULT_NAME}" else full
        return _with(made, name=definition.get("connect.name", own))

    def _field(self, field: Mapping[str, Any], space: str) -> Schema:
        has, default = "default" in field, field.get("default")
        made = self.schema(field["type"], space)
        if has and default is not None:
            made = _with(made, default=_default(default, made))
        return _with(made, doc=made.doc or field.get("doc"))

    def _union(self, members: list[Any], space: str, **more: Any) -> Schema:
        rest = [member for member in members if member != "null"]
        if len(rest) == 1:
            return _with(self.schema(rest[0], space, **more), optional=len(rest) < len(members))
        fields = []
        for member in rest:
            name = member if isinstance(member, str) else member.get("name", member["type"])
            fields.append(Field(name.rpartition(".")[2], _with(self.schema(member, space), optional=True)))
        return Schema("struct", optional=len(rest) < len(members), name=UNION, fields=tuple(fields))


def _full(definition: Mapping[str, Any], space: str) -> str:
    name, own = definition["name"], definition.get("namespace", space)
    return name if "." in name or not own else f"{own}.{name}"


def _plain(kind: str, definition: Mapping[str, Any], space: str, **more: Any) -> Schema:
    logical = _LOGICAL.get((kind, definition.get("logicalType", "")))
    if logical == DECIMAL:
        scale = str(definition.get("scale", 0))
        parameters: tuple[tuple[str, str], ...] = ((SCALE, scale),)
        precision = definition.get("precision", _PRECISION)
        if precision != _PRECISION:
            parameters = ((SCALE, scale), (PRECISION, str(precision)))
        return Schema("bytes", name=DECIMAL, version=1, parameters=parameters, **more)
    if logical is not None:
        return Schema("int32" if kind == "int" else "int64", name=logical, version=1, **more)
    if kind == "enum":
        symbols = (
            (ENUM, _full(definition, space)),
            *((f"{ENUM}.{symbol}", symbol) for symbol in definition["symbols"]),
        )
        return _with(_made("string", definition, **more), parameters=symbols)
    return _made(definition.get("connect.type", _TO_CONNECT[kind]), definition, **more)


def _made(kind: Any, definition: Mapping[str, Any], **more: Any) -> Schema:
    return Schema(
        kind,
        name=definition.get("connect.name"),
        version=definition.get("connect.version"),
        doc=definition.get("connect.doc", definition.get("doc") if kind == "struct" else None),
        parameters=tuple((str(k), str(v)) for k, v in (definition.get("connect.parameters") or {}).items()),
        default=definition.get("connect.default"),
        **more,
    )


def _with(schema: Schema, **more: Any) -> Schema:
    return Schema(**{name: getattr(schema, name) for name in Schema.__dataclass_fields__} | more)


def _default(value: Any, schema: Schema) -> Any:
    """Avro writes bytes as text of one character per byte."""
    if schema.type == "bytes" and isinstance(value, str):
        return base64.b64encode(value.encode("latin-1")).decode()
    return value


class _Writer:
    def __init__(self) -> None:
        self._records = 0
        self._seen: dict[str, Schema] = {}

    def schema(self, schema: Schema, *, plain: bool = False) -> Any:
        """`plain`: without the union that makes it optional."""
        made = self._written(schema)
        if not schema.optional or plain:
            return made
        members = made if isinstance(made, list) else [made]
        return [*members, "null"] if schema.default is not None else ["null", *members]

    def _written(self, schema: Schema) -> Any:
        avro = self._base(schema)
        if schema.name == UNION:
            return avro["members"]
        for key, value in (
            ("connect.doc", schema.doc if schema.type != "struct" else None),
            ("connect.version", schema.version),
            ("connect.parameters", None if schema.parameters in ((), None) else dict(schema.parameters)),
            ("connect.default", schema.default),
            ("connect.name", schema.name),
        ):
            if value is not None:
                avro[key] = value
        return avro["type"] if list(avro) == ["type"] and isinstance(avro["type"], str) else avro

    def _base(self, schema: Schema) -> dict[str, Any]:
        if schema.name == UNION:
            return {"members": [self.schema(field.schema, plain=True) for field in schema.fields]}
        if schema.type == "struct":
            return self._struct(schema)
        if schema.type == "array" and schema.values is not None:
            return {"type": "array", "items": self.schema(schema.values)}
        if schema.type == "map" and schema.keys is not None and schema.values is not None:
            if schema.keys.type == "string" and not schema.keys.optional:
                return {"type": "map", "values": self.schema(schema.values)}
            pair = Schema("struct", fields=(Field("key", schema.keys), Field("value", schema.values)))
            return {"type": "array", "items": self._struct(pair, ENTRY)}
        avro: dict[str, Any] = {"type": _TO_AVRO[schema.type]}
        if schema.is_decimal:
            precision = int(dict(schema.parameters).get(PRECISION, _PRECISION))
            return avro | {"scale": schema.scale, "precision": precision, "logicalType": "decimal"}
        if schema.name in _LOGICAL_BACK:
            return avro | {"logicalType": _LOGICAL_BACK[schema.name]}
        if schema.type in {"int8", "int16"}:
            return avro | {"connect.type": schema.type}
        return avro

    def _struct(self, schema: Schema, fallback: str = DEFAULT_NAME) -> dict[str, Any]:
        if schema.name is not None:
            space, _, name = schema.name.rpartition(".")
        else:
            self._records += 1
            name = fallback if self._records == 1 else f"{fallback}{self._records}"
            space = NAMESPACE
        full = f"{space}.{name}" if space else name
        known = self._seen.get(full)
        if known is not None:
            if known.fields != schema.fields:
                raise PlanRefused(f"two different structs are named {full}; Avro has one record of a name")
            return {"type": full}
        self._seen[full] = schema
        record: dict[str, Any] = {"type": "record", "name": name}
        if space:
            record["namespace"] = space
        if schema.doc is not None:
            record["doc"] = schema.doc
        record["fields"] = [self._member(field) for field in schema.fields]
        return record

    def _member(self, field: Field) -> dict[str, Any]:
        member: dict[str, Any] = {"name": field.name, "type": self.schema(field.schema)}
        if field.schema.doc is not None:
            member["doc"] = field.schema.doc
        if field.schema.default is not None:
            member["default"] = _avro_default(field.schema)
        elif field.schema.optional:
            member["default"] = None
        return member


def _avro_default(schema: Schema) -> Any:
    if schema.type == "bytes" and isinstance(schema.default, str):
        return base64.b64decode(schema.default).decode("latin-1")
    return schema.default
