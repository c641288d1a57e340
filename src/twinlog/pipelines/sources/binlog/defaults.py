"""Default values of columns, as Debezium writes them into schemas. Pure."""

from __future__ import annotations

import base64
import re
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from twinlog.pipelines.schemas import Schema
from twinlog.pipelines.sources.binlog.columns import BINARIES, Column

_QUOTED: Final = re.compile(r"^'(.*)'$", re.DOTALL)
_NUMBERS: Final = {"int8", "int16", "int32", "int64"}


def default_of(column: Column, schema: Schema) -> Any:
    """The default as JSON has it; None when there is none, or when the server computes it."""
    if column.default is None or column.default.upper() == "NULL":
        return None
    quoted = _QUOTED.match(column.default)
    text = quoted.group(1).replace("''", "'") if quoted else column.default
    try:
        return _value(text, column, schema)
    except (ValueError, InvalidOperation):
        return None  # an expression


def _value(text: str, column: Column, schema: Schema) -> Any:
    if column.kind in {"date", "time", "datetime", "timestamp", "json"} or column.kind in BINARIES:
        return None
    if schema.is_decimal:
        digits = int(Decimal(text).quantize(Decimal(1).scaleb(-schema.scale)).scaleb(schema.scale))
        size = (digits if digits >= 0 else -digits - 1).bit_length() // 8 + 1
        return base64.b64encode(digits.to_bytes(size, "big", signed=True)).decode()
    if schema.type in _NUMBERS:
        return int(text)
    if schema.type in {"float", "double"}:
        return float(text)
    if schema.type == "boolean":
        return "1" in text
    return text if schema.type == "string" else None
