"""JSON columns of MySQL: the binary form that the log has, as text. MariaDB keeps JSON as text. Pure.

A document is a type of one byte and a value. An object or array is: count, size, then per key an offset and a length,
per value a type and the value itself or an offset; then the keys and values that were pointed to.
"""

from __future__ import annotations

import base64
import json
import struct
from decimal import Decimal
from typing import Any, Final

_PLAIN: Final = {5: "<h", 6: "<H", 7: "<i", 8: "<I", 9: "<q", 10: "<Q", 11: "<d"}
_LITERALS: Final = (None, True, False)
_STRING, _OPAQUE = 12, 15


def json_text(raw: bytes) -> str:
    """A document as JSON text. Texts (MariaDB's form) stay as they are."""
    if not raw:
        return "null"
    if raw[0] > _OPAQUE:
        return raw.decode()
    return json.dumps(_value(raw[0], raw, 1), ensure_ascii=False, separators=(",", ":"), default=_shown)


def _shown(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else str(value)


def _value(kind: int, data: bytes, at: int) -> Any:
    if kind in {0, 1}:
        return _object(data, at, large=kind == 1)
    if kind in {2, 3}:
        return _array(data, at, large=kind == 3)
    if kind == 4:
        return _LITERALS[data[at]]
    if kind in _PLAIN:
        return struct.unpack_from(_PLAIN[kind], data, at)[0]
    if kind == _STRING:
        size, at = _size(data, at)
        return data[at : at + size].decode()
    if kind == _OPAQUE:
        size, begin = _size(data, at + 1)
        return _opaque(data[at], data[begin : begin + size])
    raise ValueError(f"a JSON value of kind {kind} is not known")


def _size(data: bytes, at: int) -> tuple[int, int]:
    """A length in groups of seven bits."""
    size = shift = 0
    while True:
        byte = data[at]
        at += 1
        size |= (byte & 127) << shift
        if byte < 128:
            return size, at
        shift += 7


def _head(data: bytes, at: int, large: bool) -> tuple[int, str, int]:
    code, width = ("I", 4) if large else ("H", 2)
    return struct.unpack_from(f"<{code}", data, at)[0], code, width


def _object(data: bytes, at: int, *, large: bool) -> dict[str, Any]:
    count, code, width = _head(data, at, large)
    place, keys = at + 2 * width, []
    for _ in range(count):
        offset, size = struct.unpack_from(f"<{code}H", data, place)
        keys.append(data[at + offset : at + offset + size].decode())
        place += width + 2
    return dict(zip(keys, _entries(data, at, place, count, large=large), strict=True))


def _array(data: bytes, at: int, *, large: bool) -> list[Any]:
    count, _, width = _head(data, at, large)
    return _entries(data, at, at + 2 * width, count, large=large)


def _entries(data: bytes, at: int, place: int, count: int, *, large: bool) -> list[Any]:
    """Small values stand in the entry itself, others where it points to."""
    code, width = ("I", 4) if large else ("H", 2)
    inside = {4, 5, 6} | ({7, 8} if large else set())
    values = []
    for _ in range(count):
        kind = data[place]
        if kind in inside:
            values.append(_value(kind, data, place + 1))
        else:
            values.append(_value(kind, data, at + struct.unpack_from(f"<{code}", data, place + 1)[0]))
        place += 1 + width
    return values


def _opaque(kind: int, data: bytes) -> Any:
    """Values of other types: decimals and times; anything else is base64, as MySQL prints it."""
    if kind == 246:
        return _decimal(data)
    if kind in {7, 10, 11, 12}:
        packed = int.from_bytes(data, "little", signed=True)
        sign, packed = ("-", -packed) if packed < 0 else ("", packed)
        micros, whole = packed & 0xFFFFFF, packed >> 24
        clock = f"{whole >> 12 & (1023 if kind == 11 else 31):02}:{whole >> 6 & 63:02}:{whole & 63:02}.{micros:06}"
        if kind == 11:
            return sign + clock
        months = whole >> 22
        day = f"{months // 13:04}-{months % 13:02}-{whole >> 17 & 31:02}"
        return day if kind == 10 else f"{day} {clock}"
    return f"base64:type{kind}:{base64.b64encode(data).decode()}"


def _decimal(data: bytes) -> Decimal:
    precision, scale, body = data[0], data[1], data[2:]
    size = len(body)
    top, ones = 1 << (8 * size - 1), (1 << 8 * size) - 1
    raw = int.from_bytes(body, "big")
    negative = not raw & top
    raw ^= ones ^ top if negative else top
    digits = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
    whole = precision - scale
    groups = [(digits[whole % 9], whole % 9), *[(4, 9)] * (whole // 9 + scale // 9), (digits[scale % 9], scale % 9)]
    total, left = 0, 8 * size
    for width, count in groups:
        left -= 8 * width
        total = total * 10**count + (raw >> left & ((1 << 8 * width) - 1))
    return Decimal(-total if negative else total).scaleb(-scale)
