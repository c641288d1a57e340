"""Columns of databases as Connect's schemas. Pure."""

from __future__ import annotations

import re
from typing import Final

from twinlog.pipelines.schemas import DATE, DECIMAL, SCALE, TIME, TIMESTAMP, Schema, TypeName

_POSTGRESQL: Final = {
    "smallint": "int16", "integer": "int32", "bigint": "int64", "real": "float", "double precision": "double",
    "boolean": "boolean", "bytea": "bytes",
}  # fmt: skip
_MYSQL: Final = {
    "tinyint": "int8", "smallint": "int16", "mediumint": "int32", "int": "int32", "bigint": "int64", "float": "float",
    "double": "double", "year": "int32", "bit": "int8", "tinyblob": "bytes", "blob": "bytes", "mediumblob": "bytes",
    "longblob": "bytes", "binary": "bytes", "varbinary": "bytes",
}  # fmt: skip
_WIDER: Final = {"int8": "int16", "int16": "int32", "int32": "int64", "int64": "int64"}
_LARGEST: Final = 18
_EAGER: Final = 15


def schema_of(product: str, kind: str, *, nullable: bool, numeric: str = "none") -> Schema:
    """The schema of one column by the database's name of its type."""
    text = kind.lower()
    name = re.sub(r"\(.*?\)", "", text).strip()
    sizes = [int(digits) for digits in re.findall(r"\d+", text.partition("(")[2].partition(")")[0])]
    if name.startswith(("numeric", "decimal")):
        return _number(sizes, nullable, numeric)
    if name == "date":
        return Schema("int32", nullable, DATE, 1)
    if name.startswith(("timestamp", "datetime")):
        return Schema("int64", nullable, TIMESTAMP, 1)
    if name.startswith("time"):
        return Schema("int32", nullable, TIME, 1)
    table = _POSTGRESQL if product == "postgresql" else _MYSQL
    plain = name.replace(" unsigned", "").replace(" zerofill", "")
    type_name = table.get(plain, "string")
    if "unsigned" in name and type_name in _WIDER:
        type_name = _WIDER[type_name]
    return Schema(type_name, nullable)  # type: ignore[arg-type]


def _number(sizes: list[int], nullable: bool, numeric: str) -> Schema:
    precision, scale = [*sizes, 0, 0][:2]
    if numeric != "none" and 0 < precision <= _LARGEST and scale == 0:
        kinds: tuple[tuple[int, TypeName], ...] = ((3, "int8"), (5, "int16"), (10, "int32"), (_LARGEST + 1, "int64"))
        return Schema(next(kind for most, kind in kinds if precision < most), nullable)
    if numeric.startswith("best_fit") and scale > 0 and (precision <= _EAGER or numeric.endswith("double")):
        return Schema("double", nullable)
    return Schema("bytes", nullable, DECIMAL, 1, parameters=((SCALE, str(scale)),))
