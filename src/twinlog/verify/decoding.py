"""Whether the bytes of a record are what its schema says: Avro, JSON, Protobuf. Pure.

The value itself is thrown away. A text that the library cannot read says nothing about the record: `NotChecked`.
"""

from __future__ import annotations

import io
import json
from functools import lru_cache
from typing import Any, Final

import fastavro

from twinlog.registry.parsing import Parser, resolve
from twinlog.registry.protobuf_messages import class_of, file_of, message_at
from twinlog.registry.refusals import Refusal
from twinlog.registry.schemas.schema import InvalidSchema
from twinlog.registry.state import Entry, State

_MOST_INDEXES: Final = 100


class Undecodable(Exception):
    """The bytes are not what the schema says."""


class NotChecked(Exception):
    """The decoder does not support the schema."""


def check_decodes(parser: Parser, state: State, entry: Entry, body: bytes) -> None:
    """Decode a record's bytes behind the schema id. Raises Undecodable and NotChecked."""
    match entry.content.kind:
        case "AVRO":
            _avro(parser, state, entry, body)
        case "JSON":
            _json(body)
        case _:
            _protobuf(state, entry, body)


def _avro(parser: Parser, state: State, entry: Entry, body: bytes) -> None:
    try:
        schema = _avro_schema(parser.of_entry(state, entry).formatted("resolved"))
    except (Refusal, fastavro.schema.SchemaParseException, ValueError, RecursionError) as odd:
        raise NotChecked(str(odd)) from None
    stream = io.BytesIO(body)
    try:
        fastavro.schemaless_reader(stream, schema, None)
    except Exception as wrong:  # noqa: BLE001  the library raises whatever its reading runs into
        raise Undecodable(f"{type(wrong).__name__}: {wrong}") from None
    if left := len(body) - stream.tell():
        raise Undecodable(f"{left} bytes are left over")


@lru_cache(maxsize=1000)
def _avro_schema(text: str) -> Any:
    return fastavro.parse_schema(json.loads(text), _force=True)


def _json(body: bytes) -> None:
    try:
        json.loads(body)
    except (ValueError, RecursionError) as wrong:
        raise Undecodable(str(wrong)) from None


def _protobuf(state: State, entry: Entry, body: bytes) -> None:
    try:
        _, texts = resolve(state, entry.subject, entry.content.references, live=False)
        file = file_of(entry.content.text, tuple(texts.items()))
    except (Refusal, InvalidSchema, TypeError) as odd:
        raise NotChecked(str(odd)) from None
    try:
        indexes, at = _indexes(body)
        message = class_of(message_at(file, indexes)).FromString(body[at:])
    except Exception as wrong:  # noqa: BLE001  the library's own errors are of no public class
        raise Undecodable(f"{type(wrong).__name__}: {wrong}") from None
    if not message.IsInitialized():
        raise Undecodable("a required field is missing")


def _indexes(data: bytes) -> tuple[tuple[int, ...], int]:
    """Which message of the file it is, from the outermost in; one zero byte stands for the first."""
    count, at = _zigzag(data, 0)
    if not 0 <= count <= _MOST_INDEXES:
        raise ValueError(f"{count} message indexes")
    indexes: list[int] = []
    for _ in range(count):
        index, at = _zigzag(data, at)
        indexes.append(index)
    return tuple(indexes) or (0,), at


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 64:
        byte, at = data[at], at + 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
    raise ValueError("the message indexes end too early")
