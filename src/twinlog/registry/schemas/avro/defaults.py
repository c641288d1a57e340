"""Default values: whether one fits its type, and how Java rewrites it for the normalized text."""

import struct
from typing import Any

from twinlog.registry.schemas.avro.model import Array, AvroType, Field, Map, Record, Union


def is_valid_default(kind: AvroType, value: Any) -> bool:
    """Whether `value` fits. A union takes the value of any branch."""
    if isinstance(kind, Union):
        return any(is_valid_default(branch, value) for branch in kind.branches)
    if isinstance(kind, Array):
        return isinstance(value, list) and all(is_valid_default(kind.items, item) for item in value)
    if isinstance(kind, Map):
        return isinstance(value, dict) and all(is_valid_default(kind.values, item) for item in value.values())
    if isinstance(kind, Record):
        return isinstance(value, dict) and all(_fits_member(field, value) for field in kind.fields)
    return _fits_simple(kind.kind, value)


def _fits_member(field: Field, value: dict[str, Any]) -> bool:
    if field.name in value:
        return is_valid_default(field.type, value[field.name])
    return field.has_default and is_valid_default(field.type, field.default)


def _fits_simple(kind: str, value: Any) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    match kind:
        case "string" | "bytes" | "enum" | "fixed":
            return isinstance(value, str)
        case "int":
            return number and isinstance(value, int) and -(2**31) <= value < 2**31
        case "long":
            return number and isinstance(value, int) and -(2**63) <= value < 2**63
        case "float" | "double":
            return number
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
    return True


class _Dropped:
    """Java's rewriting has no value for this default, and the normalized text leaves it out."""


DROPPED = _Dropped()


def normal_default(kind: AvroType | None, value: Any) -> Any:
    """`value` with numbers in the notation of their type and sorted keys; DROPPED where Java loses it."""
    while isinstance(kind, Union):
        kind = kind.branches[0] if kind.branches else None
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return _normal_number(kind, value)
    if isinstance(value, str):
        return _normal_text(kind, value)
    if isinstance(value, list):
        inner = kind.items if isinstance(kind, Array) else None
        return [_kept(inner, item) for item in value]
    return {key: _kept(_member(kind, key), value[key]) for key in sorted(value, key=java_order)}


def java_order(text: str) -> bytes:
    """Java sorts strings by their UTF-16 units."""
    return text.encode("utf-16-be", "surrogatepass")


def _kept(kind: AvroType | None, value: Any) -> Any:
    normal = normal_default(kind, value)
    return value if normal is DROPPED else normal


def _member(kind: AvroType | None, key: str) -> AvroType | None:
    if isinstance(kind, Map):
        return kind.values
    if isinstance(kind, Record):
        return next((field.type for field in kind.fields if field.name == key), None)
    return None


def _normal_number(kind: AvroType | None, value: float) -> Any:
    if kind is None:
        return value
    if kind.kind == "double":
        return _as_float(value)
    if kind.kind == "float":
        return _as_single(value)
    return value if isinstance(value, int) and kind.kind in {"int", "long"} else DROPPED


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _as_single(value: float) -> float:
    """The shortest decimal that means the same 32-bit float."""
    try:
        packed: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    for digits in range(1, 10):
        shortest = float(f"{packed:.{digits}g}")
        if struct.unpack("f", struct.pack("f", shortest))[0] == packed:
            return shortest
    return packed


def _normal_text(kind: AvroType | None, value: str) -> Any:
    if kind is None or kind.kind in {"string", "enum"}:
        return value
    if kind.kind in {"bytes", "fixed"}:
        return value.encode("latin-1", "replace").decode("latin-1")
    return DROPPED
