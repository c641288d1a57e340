"""Avro bytes of one record to the values that Arrow takes, and back. Runs in Python workers; fastavro does the work.

Avro's logical types are taken off the schema: columns hold physical values. A union of several types becomes a union of
records with one field each, which is the same on the wire, so that the value tells which member it is:

    ["null", "int", "string"]     ->     ["null", {record u1: int}, {record u2: string}]
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

import fastavro

from twinlog.pipelines.converters.avro_schemas import UNION, connect_schema
from twinlog.pipelines.schemas import Schema

Convert = Callable[[Any], Any]
_RANGES: Final = {"int8": 1 << 7, "int16": 1 << 15}


def reader(text: str) -> Convert:
    """A function from the bytes of one record to its value."""
    wire, schema = _prepared(text)
    shape, read = to_arrow(schema), fastavro.schemaless_reader
    if shape is None:
        return lambda data: read(io.BytesIO(data), wire, None)
    return lambda data: shape(read(io.BytesIO(data), wire, None))


def writer(text: str, schema: Schema, head: bytes) -> Convert:
    """A function from a value of `schema` to bytes behind `head`, written with the Avro schema of `text`."""
    wire, _ = _prepared(text)
    shape, write = from_arrow(schema), fastavro.schemaless_writer

    def written(value: Any) -> bytes:
        out = io.BytesIO()
        out.write(head)
        write(out, wire, value if shape is None else shape(value))
        return out.getvalue()

    return written


@lru_cache(maxsize=1000)
def _prepared(text: str) -> tuple[Any, Schema]:
    avro = json.loads(text)
    return fastavro.parse_schema(wire_schema(avro), _force=True), connect_schema(avro)


def wire_schema(avro: Any) -> Any:
    """The schema without logical types, with unions whose members can be told apart."""
    counter = iter(range(1_000_000))

    def walk(node: Any) -> Any:
        if isinstance(node, list):
            rest = [member for member in node if member != "null"]
            return [member if member == "null" or (len(rest) == 1 and not isinstance(member, dict | list))
                    else walk(member) if len(rest) == 1 else wrapped(member) for member in node]  # fmt: skip
        if not isinstance(node, dict):
            return node
        kept = {k: v for k, v in node.items() if k in {"type", "name", "namespace", "symbols", "size", "aliases"}}
        for key in ("type", "items", "values"):
            if key in node:
                kept[key] = walk(node[key])
        if "fields" in node:
            kept["fields"] = [
                {k: v for k, v in field.items() if k in {"name", "default"}} | {"type": walk(field["type"])}
                for field in node["fields"]
            ]
        return kept

    def wrapped(member: Any) -> Any:
        name = member if isinstance(member, str) else member.get("name", member["type"])
        field = {"name": name.rpartition(".")[2], "type": walk(member)}
        return {"type": "record", "name": f"twinlog_union_{next(counter)}", "fields": [field]}

    return walk(avro)


def to_arrow(schema: Schema) -> Convert | None:
    """What to do to a decoded value so that Arrow takes it; None: nothing."""
    if schema.is_decimal:
        scale = schema.scale
        return lambda data: None if data is None else Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-scale)
    if schema.type in _RANGES:
        limit = _RANGES[schema.type]
        return lambda value: value if value is None else _within(value, limit)
    if schema.type == "array" and schema.values is not None:
        inner = to_arrow(schema.values)
        return None if inner is None else lambda items: None if items is None else [inner(item) for item in items]
    if schema.type == "map" and schema.values is not None:
        value = to_arrow(schema.values) or _same
        return lambda entries: None if entries is None else [(k, value(v)) for k, v in entries.items()]
    if schema.type == "struct":
        inside = [(field.name, to_arrow(field.schema)) for field in schema.fields]
        changed = [(name, shape) for name, shape in inside if shape is not None]
        return _in_fields(changed) if changed else None
    return None


def from_arrow(schema: Schema) -> Convert | None:
    """What to do to Arrow's value so that fastavro writes it; None: nothing."""
    if schema.is_decimal:
        scale = schema.scale
        return lambda value: None if value is None else unscaled(value, scale)
    if schema.type == "array" and schema.values is not None:
        inner = from_arrow(schema.values)
        return None if inner is None else lambda items: None if items is None else [inner(item) for item in items]
    if schema.type == "map" and schema.keys is not None and schema.values is not None:
        value = from_arrow(schema.values) or _same
        if schema.keys.type == "string" and not schema.keys.optional:
            return lambda entries: None if entries is None else {k: value(v) for k, v in entries}
        key = from_arrow(schema.keys) or _same
        return lambda entries: None if entries is None else [{"key": key(k), "value": value(v)} for k, v in entries]
    if schema.type == "struct":
        inside = [(field.name, from_arrow(field.schema)) for field in schema.fields]
        changed = [(name, shape) for name, shape in inside if shape is not None]
        fields = _in_fields(changed) if changed else None
        if schema.name == UNION:
            return lambda struct: _chosen(struct if fields is None else fields(struct))
        return fields
    return None


def unscaled(value: Decimal, scale: int) -> bytes:
    """The shortest big-endian two's complement, as Java's BigInteger writes it."""
    number = int(value.scaleb(scale))
    return number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)


def _in_fields(changed: list[tuple[str, Convert]]) -> Convert:
    def shape(struct: Any) -> Any:
        if struct is not None:
            for name, inner in changed:
                if name in struct:
                    struct[name] = inner(struct[name])
        return struct

    return shape


def _chosen(struct: Any) -> Any:
    return None if struct is None else {name: value for name, value in struct.items() if value is not None}


def _within(value: int, limit: int) -> int:
    if not -limit <= value < limit:
        raise ValueError(f"{value} does not fit into its type")
    return value


def _same(value: Any) -> Any:
    return value
