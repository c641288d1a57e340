"""A key or value as people read it: text, JSON, Avro by its schema, or bytes. Pure.

Five bytes before the data name a schema where a registry is used: 0, then the id.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import fastavro

SHOWN_BYTES: Final = 8192
_FRAME: Final = struct.Struct(">bI")


class Schema(NamedTuple):
    """What a registry holds under an id."""

    kind: str  # AVRO, JSON, PROTOBUF
    text: str


class Readable(NamedTuple):
    """One payload. `form` says how `text` was made; `hex` is what lies in the log, cut at some kilobytes."""

    size: int | None  # None: null
    form: str
    text: str
    hex: str
    whole: bool


def framed_id(data: bytes | None) -> int | None:
    """Return the id of the schema that bytes before the data name; None where there is no such frame."""
    if data is None or len(data) < _FRAME.size or data[0] != 0:
        return None
    return int(_FRAME.unpack_from(data)[1])


def readable(data: bytes | None, schema_of: Callable[[int], Schema | None]) -> Readable:
    """Read it as well as it can be read; never raises for what a producer wrote."""
    if data is None:
        return Readable(None, "null", "null", "", True)
    form, text = _decoded(data, schema_of)
    cut = len(data) > SHOWN_BYTES
    return Readable(len(data), form, text[:SHOWN_BYTES], data[:SHOWN_BYTES].hex(" "), not cut)


def _decoded(data: bytes, schema_of: Callable[[int], Schema | None]) -> tuple[str, str]:
    number = framed_id(data)
    schema = None if number is None else schema_of(number)
    if number is not None and schema is not None:
        return _by_schema(data[_FRAME.size :], number, schema)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return "bytes", ""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return (
            ("text", text)
            if all(character.isprintable() or character in "\r\n\t" for character in text)
            else ("bytes", "")
        )
    return ("JSON", _pretty(document)) if isinstance(document, dict | list) else ("text", text)


def _by_schema(body: bytes, number: int, schema: Schema) -> tuple[str, str]:
    try:
        if schema.kind == "AVRO":
            parsed = fastavro.parse_schema(json.loads(schema.text))
            return f"Avro, schema {number}", _pretty(fastavro.schemaless_reader(io.BytesIO(body), parsed, None))
        if schema.kind == "JSON":
            return f"JSON, schema {number}", _pretty(json.loads(body))
    except Exception as error:  # noqa: BLE001  a producer may have written anything, and readers raise anything
        return f"bytes; schema {number} ({schema.kind}) does not fit: {type(error).__name__}", ""
    return f"bytes; schema {number} ({schema.kind}) is not decoded here", ""


def _pretty(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, default=_plain)


def _plain(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
