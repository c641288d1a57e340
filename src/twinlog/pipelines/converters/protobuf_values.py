"""Protobuf messages to the values that Arrow takes, and back. Runs in Python workers; Google's library parses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

from twinlog.pipelines.converters.avro_values import unscaled
from twinlog.pipelines.converters.protobuf_files import class_of, file_of, message_at
from twinlog.pipelines.converters.protobuf_schemas import UNION
from twinlog.pipelines.converters.wire_format import indexes_at
from twinlog.pipelines.records import ConversionFailed
from twinlog.pipelines.schemas import Schema

Convert = Callable[[Any], Any]
References = tuple[tuple[str, str], ...]
_EPOCH: Final = date(1970, 1, 1)
_MS: Final = 1000


def reader(text: str, references: References, indexes: Sequence[int], schema: Schema) -> Convert:
    """A function from the bytes behind the schema's id to a value."""
    message = message_at(file_of(text, references), indexes)
    parse, shape = class_of(message).FromString, _struct_out(message, schema)

    def read(data: bytes) -> Any:
        try:
            _, at = indexes_at(data)
        except ConversionFailed as error:
            raise ValueError(str(error)) from error
        try:
            return shape(parse(data[at:]))
        except Exception as error:
            if type(error).__name__ == "DecodeError":
                raise ValueError(f"no message {message.full_name}: {error}") from error
            raise

    return read


def writer(text: str, schema: Schema, head: bytes) -> Convert:
    """A function from a value of `schema` to bytes behind `head`."""
    message = message_at(file_of(text, ()), (0,))
    make, fill = class_of(message), _struct_in(message, schema)

    def write(value: Any) -> bytes:
        made = make()
        fill(made, value)
        return head + bytes(made.SerializeToString(deterministic=True))

    return write


def _struct_out(message: Any, schema: Schema) -> Convert:
    parts: list[tuple[str, Convert]] = []
    for field in schema.fields:
        if (field.schema.name or "").startswith(UNION):
            members = [
                (member.name, _out(message.fields_by_name[member.name], member.schema))
                for member in field.schema.fields
            ]
            parts.append((field.name, _union_out(members)))
            continue
        parts.append((field.name, _out(message.fields_by_name[field.name], field.schema)))
    return lambda decoded: {name: get(decoded) for name, get in parts}


def _union_out(members: list[tuple[str, Convert]]) -> Convert:
    def union(decoded: Any) -> Any:
        chosen = {name: get(decoded) for name, get in members if decoded.HasField(name)}
        return chosen or None

    return union


def _out(field: Any, schema: Schema) -> Convert:
    """From a message to the value of one of its fields."""
    name = field.name
    if schema.type == "map" and schema.values is not None:
        value = _item_out(field.message_type.fields_by_name["value"], schema.values)
        return lambda decoded: [(key, value(entry)) for key, entry in getattr(decoded, name).items()]
    if field.is_repeated and schema.values is not None:
        item = _item_out(field, schema.values)
        return lambda decoded: [item(entry) for entry in getattr(decoded, name)]
    inner = _item_out(field, schema)
    if field.has_presence:
        return lambda decoded: inner(getattr(decoded, name)) if decoded.HasField(name) else None
    return lambda decoded: inner(getattr(decoded, name))


def _item_out(field: Any, schema: Schema) -> Convert:
    if field.enum_type is not None:
        names = {symbol.number: symbol.name for symbol in field.enum_type.values}
        return lambda value: names.get(value, str(value))
    kind = "" if field.message_type is None else field.message_type.full_name
    if kind == "google.protobuf.Timestamp":
        return lambda decoded: decoded.seconds * _MS + decoded.nanos // 1_000_000
    if kind == "google.type.Date":
        return lambda decoded: (date(decoded.year, decoded.month, decoded.day) - _EPOCH).days
    if kind == "google.type.TimeOfDay":
        return lambda f: ((f.hours * 60 + f.minutes) * 60 + f.seconds) * _MS + f.nanos // 1_000_000
    if kind == "confluent.type.Decimal":
        return lambda decoded: Decimal(int.from_bytes(decoded.value, "big", signed=True)).scaleb(-decoded.scale)
    if kind.startswith("google.protobuf.") and kind.endswith("Value") and schema.type != "struct":
        return lambda decoded: decoded.value
    if kind:
        return _struct_out(field.message_type, schema)
    return _signed if field.cpp_type == field.CPPTYPE_UINT64 else _same


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _same(value: Any) -> Any:
    return value


def _struct_in(message: Any, schema: Schema) -> Callable[[Any, Any], None]:
    parts = [(field.name, _in(message.fields_by_name[field.name], field.schema)) for field in schema.fields]

    def fill(made: Any, value: Any) -> None:
        for name, put in parts:
            given = value.get(name)
            if given is not None:
                put(made, given)

    return fill


def _in(field: Any, schema: Schema) -> Callable[[Any, Any], None]:
    """Puts a value into one field of a message."""
    name = field.name
    if schema.type == "map" and schema.values is not None:
        inside = field.message_type.fields_by_name["value"]
        if inside.message_type is not None:
            fill = _message_in(inside, schema.values)

            def each(made: Any, value: Any) -> None:
                for key, item in value:
                    fill(getattr(made, name)[key], item)

            return each
        return lambda made, value: getattr(made, name).update(dict(value))
    if schema.type == "array" and schema.values is not None:
        if field.message_type is not None:
            fill_item = _message_in(field, schema.values)

            def add(made: Any, value: Any) -> None:
                for item in value:
                    fill_item(getattr(made, name).add(), item)

            return add
        return lambda made, value: getattr(made, name).extend(value)
    if field.message_type is not None:
        fill_one = _message_in(field, schema)

        def put(made: Any, value: Any) -> None:
            getattr(made, name).SetInParent()
            fill_one(getattr(made, name), value)

        return put
    return lambda made, value: setattr(made, name, value)


def _message_in(field: Any, schema: Schema) -> Callable[[Any, Any], None]:
    kind = field.message_type.full_name
    if kind == "google.protobuf.Timestamp":
        return lambda made, value: made.FromMilliseconds(value)
    if kind == "google.type.Date":
        return _date_in
    if kind == "google.type.TimeOfDay":
        return _time_in
    if kind == "confluent.type.Decimal":
        scale = schema.scale

        def decimal(made: Any, value: Any) -> None:
            made.value, made.scale = unscaled(value, scale), scale

        return decimal
    return _struct_in(field.message_type, schema)


def _date_in(made: Any, value: int) -> None:
    day = _EPOCH + timedelta(days=value)
    made.year, made.month, made.day = day.year, day.month, day.day


def _time_in(made: Any, value: int) -> None:
    seconds, ms = divmod(value, _MS)
    made.hours, made.minutes, made.seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
    made.nanos = ms * 1_000_000
