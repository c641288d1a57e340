"""JsonConverter, with and without schemas, as expressions. `tell` runs in readers, the rest on the driver.

A record with a schema is `{"schema":S,"payload":P}`. Nearly all records of a topic begin with the same bytes, so the
reader compares the beginning and leaves `{"payload":P}`; S is parsed once.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Final

import pyarrow as pa
import pyarrow.compute
from pyspark.sql import Column
from pyspark.sql import functions as F

from twinlog.pipelines.arrow.json_text import is_printable, json_texts
from twinlog.pipelines.expressions import bytes_of_decimal, decimal_of_bytes, literal, with_defaults
from twinlog.pipelines.records import DATA_EXCEPTION, ConversionFailed, Decoded, Encoded, PlanRefused, Problem, Shape
from twinlog.pipelines.schemas import Schema, quoted
from twinlog.pipelines.settings import Setting, read_settings, setting

pc: Any = pyarrow.compute
_CORRUPT: Final = "_corrupt"
_PAYLOAD: Final = b'{"payload":'
_NO_ENVELOPE: Final = (
    'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain additional fields. '
    "If you are trying to deserialize plain JSON data, set schemas.enable=false in your converter configuration."
)
_BROKEN: Final = "Converting byte[] to Kafka Connect data failed due to serialization error: "
_JSON_OPTIONS: Final = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
_WRITE_OPTIONS: Final = {"ignoreNullFields": "false"}


@setting
class JsonSettings:
    """Keys of JsonConverter."""

    schemas: bool = Setting("schemas.enable", "each record carries its schema", default=True)
    decimals: str = Setting("decimal.format", "how decimals are written", "BASE64", choices=("BASE64", "NUMERIC"))
    defaults: bool = Setting("replace.null.with.default", "null becomes the default of its field", default=True)
    cache: int = Setting("schemas.cache.size", "of no meaning here: all schemas of a topic are kept", 1000)


class JsonConverter:
    """JSON documents."""

    also: ClassVar = ("org.apache.kafka.connect.json.JsonConverter", "JsonConverter")
    settings: ClassVar = JsonSettings

    def __init__(self, config: Mapping[str, str]) -> None:
        self.s = read_settings(JsonSettings, config)
        self.carries_schemas = self.s.schemas
        self.plain = None if self.s.schemas else "document"
        self.opens_columns = self.s.schemas  # Arrow can read the rest of a record whose schema was taken off
        self._beginnings: dict[bytes, str] = {}

    def tell(self, data: bytes) -> tuple[Hashable, bytes]:
        for beginning, schema in self._beginnings.items():
            if data.startswith(beginning):
                return schema, _PAYLOAD + data[len(beginning) :]
        return self._parsed(data)

    def tell_all(self, column: Any) -> tuple[Hashable, Any] | None:
        """The same for a column of records that all begin alike; None: they do not, or nobody has seen such a one."""
        for beginning, schema in self._beginnings.items():
            if pc.all(pc.starts_with(column, beginning)).as_py():
                return schema, pc.binary_replace_slice(column, 0, len(beginning), _PAYLOAD)
        return None

    def _parsed(self, data: bytes) -> tuple[Hashable, bytes]:
        try:
            text = data.decode()
            document = json.loads(text)
        except ValueError as error:
            raise ConversionFailed(_BROKEN) from error
        if document is None:
            return None, _PAYLOAD + b"null}"
        if not isinstance(document, dict) or document.keys() != {"schema", "payload"}:
            raise ConversionFailed(_NO_ENVELOPE)
        payload, start = _raw_payload(text)
        schema = None if document["schema"] is None else json.dumps(document["schema"], sort_keys=True)
        # The payload comes last, so all that is in front of it is the schema, with or without blanks.
        comes_last = text[-1] == "}" and text[start:-1].rstrip() == payload
        if schema is not None and comes_last and len(self._beginnings) < self.s.cache:
            self._beginnings[text[:start].encode()] = schema
        return schema, _PAYLOAD + payload.encode() + b"}"

    def shape(self, schema: Hashable) -> Shape:
        if schema is None:
            return Shape(None, unread=not self.s.schemas)
        return Shape(Schema.from_json(json.loads(str(schema))))

    def decode(self, column: Column, shape: Shape) -> Decoded:
        if not self.s.schemas:
            return Decoded(column)  # opened when a step looks into it
        text = column.cast("string")
        if shape.schema is None:
            parsed = F.try_parse_json(text)
            value = F.variant_get(parsed, "$.payload", "variant")
            broken = F.isnotnull(column) & F.isnull(parsed)
            return Decoded(F.when(~F.is_variant_null(value), value), (Problem(broken, F.lit(_BROKEN)),))
        ddl = f"payload {_physical(shape.schema, self.s.decimals)}, {_CORRUPT} string"
        read = F.from_json(text, ddl, _JSON_OPTIONS)
        value = _logical(read.getField("payload"), shape.schema, self.s)
        problems = [Problem(F.isnotnull(column) & F.isnotnull(read.getField(_CORRUPT)), F.lit(_BROKEN))]
        problems += _missing(value, shape.schema, F.isnotnull(column))
        return Decoded(value, tuple(problems))

    def encode(self, column: Column, shape: Shape) -> Encoded:
        if shape.unread:
            text: Column = column.cast("string")
        elif shape.schema is None:
            text = F.to_json(column)
        else:
            value = with_defaults(column, shape.schema) if self.s.defaults else column
            text = json_text(value, shape.schema, self.s.decimals)
        there = F.isnotnull(column)
        if shape.schema is not None and shape.schema.optional and not shape.absent:
            # A value that may be null by its schema is written as null; a record without a value has no schema.
            text, there = F.coalesce(text, F.lit("null")), F.lit(True)
        if self.s.schemas:
            text = F.concat(F.lit(_head(shape.schema)), text, F.lit("}"))
        if shape.null_schema is not None:
            nothing = _head(shape.null_schema) + "null}" if self.s.schemas else "null"
            text, there = F.coalesce(text, F.lit(nothing)), F.lit(True)
        return Encoded(F.when(there, text.cast("binary")))

    def prints(self, schema: Schema) -> bool:
        """Whether `printed` writes what `encode` writes."""
        return is_printable(schema)

    def printed(self, column: Any, schema: Schema) -> Any:
        """The same as `encode`, for an Arrow column in a Python worker."""
        texts = json_texts(column, schema)
        if schema.optional:
            texts = pc.fill_null(texts, "null")
        if self.s.schemas:
            texts = pc.binary_join_element_wise(_head(schema), texts, "}", "")
        return texts.cast(pa.binary())


def _head(schema: Schema | None) -> str:
    """What stands before the payload of a record with its schema."""
    told = None if schema is None else schema.to_json()
    return '{"schema":' + json.dumps(told, separators=(",", ":"), ensure_ascii=False) + ',"payload":'


def json_text(column: Column, schema: Schema, decimals: str = "BASE64") -> Column:
    """The JSON text of a value; null for null."""
    ready = _writable(column, schema, decimals)
    if schema.type in {"struct", "array", "map"}:
        return F.to_json(ready, _WRITE_OPTIONS)
    wrapped = F.to_json(F.struct(ready.alias("v")), _WRITE_OPTIONS)
    return F.when(F.isnotnull(column), F.substr(wrapped, F.lit(6), F.length(wrapped) - 6))


def _raw_payload(text: str) -> tuple[str, int]:
    """The text of the member `payload` of an object, and where it begins."""
    decoder, at = json.JSONDecoder(), text.index("{") + 1
    while True:
        at = _behind_blanks(text, at)
        name, at = decoder.raw_decode(text, at)
        at = _behind_blanks(text, _behind_blanks(text, at) + 1)
        _, end = decoder.raw_decode(text, at)
        if name == "payload":
            return text[at:end], at
        at = _behind_blanks(text, end) + 1


def _behind_blanks(text: str, at: int) -> int:
    while text[at] in " \t\r\n":
        at += 1
    return at


def _physical(schema: Schema, decimals: str) -> str:
    """The Spark type in which from_json reads a schema."""
    if schema.is_decimal:
        return "binary" if decimals == "BASE64" else schema.spark()
    if schema.type == "struct":
        inner = ", ".join(f"{quoted(field.name)}: {_physical(field.schema, decimals)}" for field in schema.fields)
        return f"struct<{inner}>"
    if schema.type == "array" and schema.values is not None:
        return f"array<{_physical(schema.values, decimals)}>"
    if schema.type == "map" and schema.keys is not None and schema.values is not None:
        if schema.keys.type != "string":
            raise PlanRefused(f"maps with keys of type {schema.keys.type} are not supported; use string keys")
        return f"map<string, {_physical(schema.values, decimals)}>"
    return schema.spark()


def _is_plain(schema: Schema, s: JsonSettings) -> bool:
    """Whether what from_json reads is the value already."""
    if (schema.is_decimal and s.decimals == "BASE64") or (schema.default is not None and s.defaults):
        return False
    inner = [field.schema for field in schema.fields] + [
        part for part in (schema.keys, schema.values) if part is not None
    ]
    return all(_is_plain(part, s) for part in inner)


def _logical(column: Column, schema: Schema, s: JsonSettings) -> Column:
    if _is_plain(schema, s):
        return column
    value = column
    if schema.is_decimal and s.decimals == "BASE64":
        value = decimal_of_bytes(column, schema.scale)
    elif schema.type == "struct":
        fields = [_logical(column.getField(field.name), field.schema, s).alias(field.name) for field in schema.fields]
        value = F.when(F.isnotnull(column), F.struct(*fields))
    elif schema.type == "array" and schema.values is not None:
        items = schema.values
        value = F.transform(column, lambda item: _logical(item, items, s))
    elif schema.type == "map" and schema.values is not None:
        values = schema.values
        value = F.transform_values(column, lambda _, item: _logical(item, values, s))
    if schema.default is not None and s.defaults:
        value = F.coalesce(value, literal(schema.default, schema))
    return value


def _missing(column: Column, schema: Schema, there: Column) -> list[Problem]:
    """Required fields that are null."""
    problems = []
    if not schema.optional and schema.default is None:
        message = f"Invalid null value for required {schema.type.upper()} field"
        problems.append(Problem(there & F.isnull(column), F.lit(message), DATA_EXCEPTION))
    if schema.type == "struct":
        for field in schema.fields:
            problems += _missing(column.getField(field.name), field.schema, there & F.isnotnull(column))
    return problems


def _writable(column: Column, schema: Schema, decimals: str) -> Column:
    if not _has_decimals(schema) or decimals != "BASE64":
        return column
    if schema.is_decimal:
        return bytes_of_decimal(column, schema.scale)
    if schema.type == "struct":
        fields = [
            _writable(column.getField(field.name), field.schema, decimals).alias(field.name) for field in schema.fields
        ]
        return F.when(F.isnotnull(column), F.struct(*fields))
    if schema.type == "array" and schema.values is not None:
        items = schema.values
        return F.transform(column, lambda item: _writable(item, items, decimals))
    values = schema.values
    if values is None:
        return column
    return F.transform_values(column, lambda _, item: _writable(item, values, decimals))


def _has_decimals(schema: Schema) -> bool:
    inner: list[Any] = [field.schema for field in schema.fields] + [schema.keys, schema.values]
    return schema.is_decimal or any(_has_decimals(part) for part in inner if part is not None)
