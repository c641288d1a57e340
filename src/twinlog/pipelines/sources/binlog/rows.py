"""Rows of the log as columns: for each table a function is compiled that walks over the rows of an event. Pure.

A row is a bitmap of nulls, then the values one behind the other. A value is appended to the list of its column in its
raw form: numbers as numbers, texts as bytes, times as the packed number of the log. `values.py` makes Arrow arrays of
whole lists, so nothing but this walk is done row by row. For a table (INT, VARCHAR(20), INT) the walk is:

    while p < end:
        if b[p:p+1] == Z:
            p += 1
            x0, = S0(b, p); p += 4
            n = b[p]; p += 1; x1 = b[p:p+n]; p += n
            x2, = S1(b, p); p += 4
        else: … each value behind a test of its bit
        a0(x0); a1(x1); a2(x2)
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, Final

from twinlog.pipelines.sources.binlog.table_map import (
    BIT,
    BLOB,
    DATE,
    DATETIME2,
    DOUBLE,
    ENUM,
    FLOAT,
    GEOMETRY,
    INT24,
    JSON,
    LONG,
    LONGLONG,
    NEWDECIMAL,
    SET,
    SHORT,
    STRING,
    TIME2,
    TIMESTAMP2,
    TINY,
    VAR_STRING,
    VARCHAR,
    YEAR,
    LogColumn,
)

Walk = Callable[..., int]
_CODES: Final = {TINY: "b", SHORT: "h", LONG: "i", LONGLONG: "q"}
_FLOATS: Final = {FLOAT: "f", DOUBLE: "d"}
_BYTES_OF_DIGITS: Final = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
_PREFIXED: Final = frozenset({VARCHAR, VAR_STRING, STRING})
_LONG_PREFIXED: Final = frozenset({BLOB, JSON, GEOMETRY})


class UnknownKind(Exception):
    """A column whose form in the log is not known."""


def walk_of(columns: Sequence[LogColumn]) -> Walk:
    """A function (bytes, *appends) -> number of rows. The two images of an update are two rows."""
    names: dict[str, Any] = {"Z": bytes((len(columns) + 7) // 8), "I": int.from_bytes}
    appends = [f"a{n}" for n in range(len(columns))]
    body = "\n".join(f"  {line}" for line in _image(columns, appends, names))
    head = f"def walk(b, {', '.join(appends)}):\n p = count = 0\n end = len(b)\n while p < end:\n"
    text = f"{head}{body}\n  count += 1\n return count"
    exec(compile(text, "<rows>", "exec"), names)  # noqa: S102  made of numbers and names of this file alone
    made: Walk = names["walk"]
    return made


def _image(columns: Sequence[LogColumn], appends: list[str], names: dict[str, Any]) -> list[str]:
    size = (len(columns) + 7) // 8
    lines = [f"if b[p:p+{size}] == Z:", f" p += {size}"]
    run: list[int] = []

    def flush() -> None:
        if run:
            code = struct.Struct("<" + "".join(_code(columns[n]) for n in run))
            key = f"S{len(names)}"
            names[key] = code.unpack_from
            lines.append(f" {', '.join(f'x{n}' for n in run)}, = {key}(b, p); p += {code.size}")
            lines.extend(f" x{n} = I(x{n}, 'little', signed={not columns[n].unsigned})" for n in run
                         if columns[n].kind == INT24)  # fmt: skip
            run.clear()

    for n, column in enumerate(columns):
        if _code(column):
            run.append(n)
        else:
            flush()
            lines += [f" {line}" for line in _value(n, column, names)]
    flush()
    lines += ["else:", f" m = I(b[p:p+{size}], 'little'); p += {size}"]
    for n, column in enumerate(columns):
        lines += [f" if m & {1 << n}: x{n} = None", " else:", *(f"  {line}" for line in _value(n, column, names))]
    return [*lines, *(f"{append}(x{n})" for n, append in enumerate(appends))]


def _code(column: LogColumn) -> str:
    """Letters of `struct` for kinds with a fixed size."""
    if column.kind in _CODES:
        return _CODES[column.kind].upper() if column.unsigned else _CODES[column.kind]
    return {INT24: "3s", YEAR: "B"}.get(column.kind, _FLOATS.get(column.kind, ""))


def _value(n: int, column: LogColumn, names: dict[str, Any]) -> list[str]:
    """Lines that read one value into `xN`."""
    kind, meta = column.kind, column.meta
    if code := _code(column):
        layout = struct.Struct("<" + code)
        key = f"S{len(names)}"
        names[key] = layout.unpack_from
        lines = [f"x{n}, = {key}(b, p); p += {layout.size}"]
        return [*lines, f"x{n} = I(x{n}, 'little', signed={not column.unsigned})"] if kind == INT24 else lines
    if kind in _PREFIXED:
        return _prefixed(n, 1 if meta < 256 else 2)
    if kind in _LONG_PREFIXED:
        return _prefixed(n, meta)
    if kind == NEWDECIMAL:
        return _decimal(n, meta & 255, meta >> 8)
    if kind in {ENUM, SET}:
        return _number(n, meta, "little")
    if kind == DATE:
        return _number(n, 3, "little")
    if kind == BIT:
        return _number(n, (meta >> 8) + bool(meta & 255), "big")
    packed = {DATETIME2: 5, TIMESTAMP2: 4, TIME2: 3}
    if kind in packed:
        size = packed[kind] + (meta + 1) // 2
        middle = 0 if kind == TIMESTAMP2 else 1 << (8 * size - 1)  # stands for zero
        return [f"x{n} = I(b[p:p+{size}], 'big') - {middle}; p += {size}"]
    raise UnknownKind(f"{column.name or f'column {n + 1}'}: values of kind {kind} of the log are not known")


def _number(n: int, size: int, order: str) -> list[str]:
    return [f"x{n} = I(b[p:p+{size}], '{order}'); p += {size}"]


def _prefixed(n: int, size: int) -> list[str]:
    read = "b[p]" if size == 1 else "b[p] | b[p+1] << 8" if size == 2 else f"I(b[p:p+{size}], 'little')"
    return [f"n = {read}; p += {size}; x{n} = b[p:p+n]; p += n"]


def _decimal(n: int, precision: int, scale: int) -> list[str]:
    """The number without its point. Nine digits have four bytes; the first bit is set for positive numbers."""
    whole = precision - scale
    groups = [(_BYTES_OF_DIGITS[whole % 9], whole % 9), *[(4, 9)] * (whole // 9), *[(4, 9)] * (scale // 9),
              (_BYTES_OF_DIGITS[scale % 9], scale % 9)]  # fmt: skip
    groups = [group for group in groups if group[0]]
    size = sum(width for width, _ in groups)
    bits = 8 * size
    parts, left, digits_left = [], bits, precision
    for its_bytes, digits in groups:
        left -= 8 * its_bytes
        digits_left -= digits
        shifted = f"(y >> {left})" if left else "y"
        part = f"({shifted} & {(1 << 8 * its_bytes) - 1})"
        parts.append(f"{part} * {10**digits_left}" if digits_left else part)
    total = " + ".join(parts)
    top, all_ones = 1 << (bits - 1), (1 << bits) - 1
    return [
        f"y = I(b[p:p+{size}], 'big'); p += {size}",
        f"if y & {top}: y ^= {top}; x{n} = {total}",
        f"else: y ^= {all_ones ^ top}; x{n} = -({total})",
    ]
