"""Protobuf messages and Connect's schemas, both ways, after Confluent's ProtobufData.

Protobuf                                Connect
int32 / int64 / uint32 / uint64         int32 / int64 / int64 / int64
enum                                    string
message                                 struct
oneof x                                 struct x_0 with optional fields
google.protobuf.Timestamp               Timestamp
google.type.Date, google.type.TimeOfDay Date, Time
confluent.type.Decimal                  Decimal
google.protobuf.StringValue and others  the type, optional
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor

from twinlog.pipelines.records import PlanRefused
from twinlog.pipelines.schemas import DATE, DECIMAL, SCALE, TIME, TIMESTAMP, Field, Schema

PREFIX: Final = "io.confluent.connect.protobuf"
TAG: Final = f"{PREFIX}.Tag"
UNION: Final = f"{PREFIX}.Union."
DEFAULT_NAME: Final = "ConnectDefault1"
_SCALARS: Final[dict[int, str]] = {
    FieldDescriptor.CPPTYPE_INT32: "int32", FieldDescriptor.CPPTYPE_INT64: "int64",
    FieldDescriptor.CPPTYPE_UINT32: "int64", FieldDescriptor.CPPTYPE_UINT64: "int64",
    FieldDescriptor.CPPTYPE_DOUBLE: "double", FieldDescriptor.CPPTYPE_FLOAT: "float",
    FieldDescriptor.CPPTYPE_BOOL: "boolean", FieldDescriptor.CPPTYPE_ENUM: "string",
}  # fmt: skip
_WRITTEN: Final = {
    "boolean": "bool", "int8": "int32", "int16": "int32", "int32": "int32", "int64": "int64", "float": "float",
    "double": "double", "string": "string", "bytes": "bytes",
}  # fmt: skip
_LOGICAL: Final = {
    "google.protobuf.Timestamp": Schema("int64", name=TIMESTAMP, version=1),
    "google.type.Date": Schema("int32", name=DATE, version=1),
    "google.type.TimeOfDay": Schema("int32", name=TIME, version=1),
}
_IMPORTS: Final = {
    DATE: ("google/type/date.proto", "google.type.Date"),
    TIME: ("google/type/timeofday.proto", "google.type.TimeOfDay"),
    TIMESTAMP: ("google/protobuf/timestamp.proto", "google.protobuf.Timestamp"),
    DECIMAL: ("confluent/type/decimal.proto", "confluent.type.Decimal"),
}
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def connect_schema(message: Any, scale: int = 0) -> Schema:
    """The struct of a message. `scale` is of decimals: Protobuf writes it in each value, Connect in the schema."""
    return _Reader(scale).message(message)


class _Reader:
    def __init__(self, scale: int) -> None:
        self._scale = scale
        self._open: list[str] = []

    def message(self, message: Any) -> Schema:
        if message.full_name in self._open:
            raise PlanRefused(f"the Protobuf message {message.full_name} holds itself; columns cannot hold that")
        self._open.append(message.full_name)
        fields = [
            Field(f"{oneof.name}_{n}", self._union(oneof))
            for n, oneof in enumerate(message.oneofs)
            if not _synthetic(oneof)
        ]
        fields += [Field(field.name, self._field(field)) for field in message.fields
                   if field.containing_oneof is None or _synthetic(field.containing_oneof)]  # fmt: skip
        self._open.pop()
        return Schema("struct", name=message.full_name, fields=tuple(fields))

    def _union(self, oneof: Any) -> Schema:
        fields = tuple(Field(field.name, replace(self._field(field), optional=True)) for field in oneof.fields)
        return Schema("struct", optional=True, name=UNION + oneof.name, fields=fields)

    def _field(self, field: Any) -> Schema:
        made = self._repeated(field) if field.is_repeated else self._single(field)
        return replace(made, parameters=(*made.parameters, (TAG, str(field.number))))

    def _repeated(self, field: Any) -> Schema:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            key, value = field.message_type.fields_by_name["key"], field.message_type.fields_by_name["value"]
            return Schema("map", keys=self._single(key), values=replace(self._single(value), optional=False))
        return Schema("array", values=replace(self._single(field), optional=False))

    def _single(self, field: Any) -> Schema:
        if field.message_type is not None:
            return replace(self._of_message(field.message_type), optional=True)
        kind = _SCALARS.get(field.cpp_type)
        if kind is None:
            kind = "bytes" if field.type == FieldDescriptor.TYPE_BYTES else "string"
        return Schema(kind, optional=field.has_presence)  # type: ignore[arg-type]

    def _of_message(self, message: Any) -> Schema:
        if message.full_name in _LOGICAL:
            return _LOGICAL[message.full_name]
        if message.full_name == "confluent.type.Decimal":
            return Schema("bytes", name=DECIMAL, version=1, parameters=((SCALE, str(self._scale)),))
        if message.file.name == "google/protobuf/wrappers.proto":
            return self._single(message.fields_by_name["value"])
        return self.message(message)


def _synthetic(oneof: Any) -> bool:
    """The oneof that the compiler makes for `optional` in proto3."""
    return len(oneof.fields) == 1 and oneof.name == f"_{oneof.fields[0].name}"


def proto_text(schema: Schema) -> str:
    """The .proto file of a struct. A field that may be null is `optional`. Raises PlanRefused."""
    if schema.type != "struct":
        raise PlanRefused(f"ProtobufConverter writes structs, not {schema.type}")
    writer = _Writer()
    space, _, name = (schema.name or DEFAULT_NAME).rpartition(".")
    body = writer.message(schema, name, "")
    lines = ['syntax = "proto3";']
    lines += [f"package {space};"] if space else []
    lines += [f'import "{imported}";' for imported in sorted(writer.imports)]
    return "\n".join([*lines, "", *body]) + "\n"


class _Writer:
    def __init__(self) -> None:
        self.imports: set[str] = set()

    def message(self, schema: Schema, name: str, indent: str) -> list[str]:
        lines, inner, taken = [f"{indent}message {_checked(name)} {{"], f"{indent}  ", set()
        nested: list[str] = []
        numbers = _numbers(schema)
        for field, number in zip(schema.fields, numbers, strict=True):
            kind, inside = self._type(field.schema, field.name, inner)
            own = inside[0].split()[1] if inside else ""
            if own and own in taken:
                raise PlanRefused(f"two fields of {name} need a message named {own}")
            taken.add(own)
            nested += inside
            is_plain = field.schema.optional and field.schema.type not in {"array", "map", "struct"}
            label = "optional " if is_plain and field.schema.name not in _IMPORTS else ""
            lines.append(f"{inner}{label}{kind} {_checked(field.name)} = {number};")
        return [*lines, *nested, f"{indent}}}"]

    def _type(self, schema: Schema, name: str, indent: str) -> tuple[str, list[str]]:
        if schema.name in _IMPORTS and (schema.name != DECIMAL or schema.is_decimal):
            path, kind = _IMPORTS[schema.name]
            self.imports.add(path)
            return kind, []
        if schema.type == "struct":
            own = _message_name(schema, name)
            return own, self.message(schema, own, indent)
        if schema.type == "array" and schema.values is not None:
            if schema.values.type in {"array", "map"}:
                raise PlanRefused(f"{name}: Protobuf has no list of lists or maps")
            kind, nested = self._type(schema.values, name, indent)
            return f"repeated {kind}", nested
        if schema.type == "map" and schema.keys is not None and schema.values is not None:
            if schema.keys.type in {"float", "double", "bytes", "struct", "array", "map"}:
                raise PlanRefused(f"{name}: Protobuf has no map with keys of type {schema.keys.type}")
            if schema.values.type in {"array", "map"}:
                raise PlanRefused(f"{name}: Protobuf has no map of lists or maps")
            key, _ = self._type(schema.keys, name, indent)
            value, nested = self._type(schema.values, name, indent)
            return f"map<{key}, {value}>", nested
        return _WRITTEN[schema.type], []


def _numbers(schema: Schema) -> list[int]:
    """The tags that the schema carries, or numbers from 1."""
    tags = [dict(field.schema.parameters).get(TAG) for field in schema.fields]
    if all(tags) and len(set(tags)) == len(tags):
        return [int(str(tag)) for tag in tags]
    return list(range(1, len(tags) + 1))


def _message_name(schema: Schema, field: str) -> str:
    name = (schema.name or "").rpartition(".")[2]
    return name if _NAME.fullmatch(name) else f"{field[:1].upper()}{field[1:]}Message"


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise PlanRefused(f"{name!r} is no name in Protobuf; rename the field with ReplaceField")
    return name
