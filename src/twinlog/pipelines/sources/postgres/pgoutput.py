"""PostgreSQL's logical replication messages (plug-in pgoutput, protocol 1). Pure.

Begin  Relation  Insert Insert  Relation  Update Delete  Commit     Begin …
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from twinlog.errors import ChangesUnreadable

EPOCH_US: Final = 946_684_800_000_000
"""2000-01-01, from which PostgreSQL counts, in microseconds of 1970."""


class Unchanged:
    """A large value that the update did not touch: the server does not send it."""


UNCHANGED: Final = Unchanged()
Row: TypeAlias = list[Any]  # text, None or UNCHANGED


@dataclass(frozen=True)
class Begin:
    """A transaction begins; `final_lsn` is where its commit stands."""

    final_lsn: int
    at_us: int
    xid: int


@dataclass(frozen=True)
class Commit:
    """A transaction ends; reading continues at `end_lsn`."""

    commit_lsn: int
    end_lsn: int
    at_us: int


@dataclass(frozen=True)
class Column:
    """A column as the changes that follow have it."""

    name: str
    oid: int
    modifier: int
    in_key: bool


@dataclass(frozen=True)
class Relation:
    """A table, before its first change and after each change of its columns."""

    oid: int
    schema: str
    table: str
    identity: str
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class RowChange:
    """A change of one row. `old_is_key`: of the old row only the key is there."""

    relation: int
    op: str  # c, u, d
    old: Row | None
    new: Row | None
    old_is_key: bool = False


@dataclass(frozen=True)
class Truncate:
    """All rows of some tables are gone."""

    relations: tuple[int, ...]


@dataclass(frozen=True)
class Message:
    """What a client wrote with pg_logical_emit_message."""

    prefix: str
    content: bytes
    lsn: int


Parsed: TypeAlias = Begin | Commit | Relation | RowChange | Truncate | Message | None
_BEGIN, _COMMIT = struct.Struct(">qqI"), struct.Struct(">Bqqq")
_INT, _SHORT = struct.Struct(">I"), struct.Struct(">H")


def parse(data: memoryview) -> Parsed:
    """One message; None for those that say nothing about rows. Raises ChangesUnreadable."""
    kind = chr(data[0])
    if kind == "I":
        new, _ = _row(data, 6)
        return RowChange(_INT.unpack_from(data, 1)[0], "c", None, new)
    if kind == "U":
        return _update(data)
    if kind == "D":
        old, _ = _row(data, 6)
        return RowChange(_INT.unpack_from(data, 1)[0], "d", old, None, old_is_key=chr(data[5]) == "K")
    if kind == "B":
        final_lsn, at, xid = _BEGIN.unpack_from(data, 1)
        return Begin(final_lsn, at + EPOCH_US, xid)
    if kind == "C":
        _, commit_lsn, end_lsn, at = _COMMIT.unpack_from(data, 1)
        return Commit(commit_lsn, end_lsn, at + EPOCH_US)
    if kind == "R":
        return _relation(data)
    if kind == "T":
        count = _INT.unpack_from(data, 1)[0]
        return Truncate(tuple(_INT.unpack_from(data, 6 + 4 * n)[0] for n in range(count)))
    if kind == "M":
        (lsn,) = struct.unpack_from(">q", data, 2)
        prefix, at = _text(data, 10)
        size = _INT.unpack_from(data, at)[0]
        return Message(prefix, bytes(data[at + 4 : at + 4 + size]), lsn)
    if kind in {"O", "Y"}:  # where the change came from first; the name of a type
        return None
    raise ChangesUnreadable("PostgreSQL", f"pgoutput sent a message of the unknown kind {kind!r}")


def _update(data: memoryview) -> RowChange:
    old, at, old_is_key = None, 5, False
    if chr(data[at]) in {"K", "O"}:
        old_is_key = chr(data[at]) == "K"
        old, at = _row(data, at + 1)
    new, _ = _row(data, at + 1)
    return RowChange(_INT.unpack_from(data, 1)[0], "u", old, new, old_is_key)


def _row(data: memoryview, at: int) -> tuple[Row, int]:
    (count,) = _SHORT.unpack_from(data, at)
    at += 2
    row: Row = []
    for _ in range(count):
        kind = data[at]
        at += 1
        if kind == 0x74:  # t
            (size,) = _INT.unpack_from(data, at)
            at += 4
            row.append(str(data[at : at + size], "utf-8"))
            at += size
        else:
            row.append(None if kind == 0x6E else UNCHANGED)  # n, u
    return row, at


def _relation(data: memoryview) -> Relation:
    (oid,) = _INT.unpack_from(data, 1)
    schema, at = _text(data, 5)
    table, at = _text(data, at)
    identity = chr(data[at])
    (count,) = _SHORT.unpack_from(data, at + 1)
    at += 3
    columns = []
    for _ in range(count):
        in_key = bool(data[at] & 1)
        name, at = _text(data, at + 1)
        kind, modifier = struct.unpack_from(">Ii", data, at)
        at += 8
        columns.append(Column(name, kind, modifier, in_key))
    return Relation(oid, schema, table, identity, tuple(columns))


def _text(data: memoryview, at: int) -> tuple[str, int]:
    end = at
    while data[end]:
        end += 1
    return str(data[at:end], "utf-8"), end + 1


def lsn_text(lsn: int) -> str:
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def lsn_of(text: str) -> int:
    high, _, low = text.partition("/")
    return int(high, 16) << 32 | int(low, 16)
