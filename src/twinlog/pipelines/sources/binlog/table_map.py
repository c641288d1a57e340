"""Table map events: which table the rows that follow belong to, and what its columns are. Pure.

With `binlog_row_metadata=FULL` the event tells names, signs, character sets, keys and the values of ENUM and SET.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from twinlog.pipelines.sources.binlog.events import Event, length_coded

TINY, SHORT, LONG, FLOAT, DOUBLE, LONGLONG, INT24 = 1, 2, 3, 4, 5, 8, 9
DATE, YEAR, VARCHAR, BIT, TIMESTAMP2, DATETIME2, TIME2 = 10, 13, 15, 16, 17, 18, 19
BLOB_COMPRESSED, VARCHAR_COMPRESSED = 140, 141
JSON, NEWDECIMAL, ENUM, SET, BLOB, VAR_STRING, STRING, GEOMETRY = 245, 246, 247, 248, 252, 253, 254, 255
BINARY: Final = 63
"""The collation of columns that hold bytes."""
NUMBERS: Final = frozenset({TINY, SHORT, LONG, FLOAT, DOUBLE, LONGLONG, INT24, NEWDECIMAL})
_TEXTS: Final = frozenset({VARCHAR, BLOB, VAR_STRING, STRING, BLOB_COMPRESSED, VARCHAR_COMPRESSED})
_LISTS: Final = frozenset({ENUM, SET})
_TWO_BYTES: Final = frozenset({VARCHAR, BIT, NEWDECIMAL, STRING, VAR_STRING, ENUM, SET, VARCHAR_COMPRESSED})
_ONE_BYTE: Final = frozenset({FLOAT, DOUBLE, BLOB, GEOMETRY, JSON, TIMESTAMP2, DATETIME2, TIME2, BLOB_COMPRESSED})


@dataclass(frozen=True)
class LogColumn:
    """A column as the log has it."""

    kind: int
    meta: int  # length, digits or precision; what it means depends on the kind
    nullable: bool
    name: str = ""
    unsigned: bool = False
    collation: int | None = None
    values: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class TableMap:
    """A table as the log has it."""

    database: str
    table: str
    columns: tuple[LogColumn, ...]
    key: tuple[int, ...] = ()
    full: bool = False  # the event names its columns


@dataclass
class _More:
    unsigned: set[int] = field(default_factory=set)
    collations: dict[int, int] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    values: dict[int, tuple[bytes, ...]] = field(default_factory=dict)
    key: tuple[int, ...] = ()


def table_id(event: Event) -> int:
    return int.from_bytes(event.body[:6], "little")


def read_table_map(event: Event) -> TableMap:
    body = bytes(event.body)
    at = 8
    size = body[at]
    database = body[at + 1 : at + 1 + size].decode()
    at += size + 2
    size = body[at]
    table = body[at + 1 : at + 1 + size].decode()
    at += size + 2
    count, at = length_coded(body, at)
    kinds = body[at : at + count]
    size, at = length_coded(body, at + count)
    kinds_and_meta = list(_kinds(kinds, body[at : at + size]))
    at += size
    nulls = int.from_bytes(body[at : at + (count + 7) // 8], "little")
    more = _metadata(body, at + (count + 7) // 8, [kind for kind, _ in kinds_and_meta])
    columns = tuple(
        LogColumn(kind, meta, bool(nulls >> n & 1), more.names[n] if more.names else "", n in more.unsigned,
                  more.collations.get(n), more.values.get(n, ()))
        for n, (kind, meta) in enumerate(kinds_and_meta)
    )  # fmt: skip
    return TableMap(database, table, columns, more.key, full=bool(more.names))


def _kinds(kinds: bytes, meta: bytes) -> Iterator[tuple[int, int]]:
    """Kinds with their metadata. A STRING may be an ENUM, a SET, or a CHAR of more than 255 bytes."""
    at = 0
    for kind in kinds:
        if kind in {STRING, NEWDECIMAL}:
            first, second = meta[at], meta[at + 1]
            at += 2
            if kind == NEWDECIMAL:
                yield kind, first | second << 8
            elif first & 0x30 != 0x30:
                yield first | 0x30, second | ((first & 0x30) ^ 0x30) << 4
            else:
                yield first, second
        elif kind in _TWO_BYTES:
            yield kind, struct.unpack_from("<H", meta, at)[0]
            at += 2
        elif kind in _ONE_BYTE:
            yield kind, meta[at]
            at += 1
        else:
            yield kind, 0


def _metadata(body: bytes, at: int, kinds: list[int]) -> _More:
    """The optional part: type, length, bytes, again and again."""
    more = _More()
    texts = [n for n, kind in enumerate(kinds) if kind in _TEXTS]
    lists = [n for n, kind in enumerate(kinds) if kind in _LISTS]
    while at < len(body):
        what = body[at]
        size, at = length_coded(body, at + 1)
        part = body[at : at + size]
        at += size
        if what == 1:
            numbers = [n for n, kind in enumerate(kinds) if kind in NUMBERS]
            more.unsigned = {n for place, n in enumerate(numbers) if part[place // 8] >> (7 - place % 8) & 1}
        elif what in {2, 10}:
            more.collations |= _default_collations(part, texts if what == 2 else lists)
        elif what in {3, 11}:
            more.collations |= dict(zip(texts if what == 3 else lists, _numbers(part), strict=False))
        elif what == 4:
            more.names = [string.decode() for string in _strings(part)]
        elif what in {5, 6}:
            its = [n for n in lists if kinds[n] == (SET if what == 5 else ENUM)]
            more.values |= dict(zip(its, _lists(part), strict=False))
        elif what == 8:
            more.key = tuple(_numbers(part))
        elif what == 9:
            more.key = tuple(list(_numbers(part))[::2])  # each with the length of its prefix
    return more


def _default_collations(part: bytes, places: list[int]) -> dict[int, int]:
    default, *pairs = _numbers(part)
    collations = dict.fromkeys(places, default)
    for place, collation in zip(pairs[::2], pairs[1::2], strict=True):
        collations[places[place]] = collation
    return collations


def _numbers(part: bytes) -> Iterator[int]:
    at = 0
    while at < len(part):
        value, at = length_coded(part, at)
        yield value


def _strings(part: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(part):
        size, at = length_coded(part, at)
        yield part[at : at + size]
        at += size


def _lists(part: bytes) -> Iterator[tuple[bytes, ...]]:
    at = 0
    while at < len(part):
        count, at = length_coded(part, at)
        strings = []
        for _ in range(count):
            size, at = length_coded(part, at)
            strings.append(part[at : at + size])
            at += size
        yield tuple(strings)
