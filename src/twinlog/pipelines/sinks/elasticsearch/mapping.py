"""Index names and mappings of a schema. Pure."""

from __future__ import annotations

from typing import Any, Final

from twinlog.pipelines.schemas import DATE, TIME, TIMESTAMP, Schema

_TYPES: Final = {
    "boolean": "boolean", "int8": "byte", "int16": "short", "int32": "integer", "int64": "long", "float": "float",
    "double": "double", "bytes": "binary",
}  # fmt: skip
_LONGEST_NAME: Final = 255
_LONGEST_PART: Final = 100


def index_name(topic: str) -> str:
    """The index of a topic: small letters, not one - or _ in front, as Confluent's sink does it."""
    name = topic.lower()[:_LONGEST_NAME]
    name = name[1:] if name.startswith(("-", "_")) else name
    return {".": "dot", "..": "dotdot"}.get(name, name)


def stream_name(kind: str, dataset: str, namespace: str, topic: str) -> str:
    """The data stream of a topic: type-dataset-namespace."""
    part = namespace.replace("${topic}", topic).lower()[:_LONGEST_PART]
    return f"{kind}-{dataset}-{part}".lower()


def mapping_of(schema: Schema) -> dict[str, Any]:
    """The mapping of a value's fields."""
    return {"properties": {field.name: _field(field.schema) for field in schema.fields}}


def _field(schema: Schema) -> dict[str, Any]:
    if schema.name in {DATE, TIME, TIMESTAMP}:
        return {"type": "date"}
    if schema.is_decimal:
        return {"type": "double"}
    if schema.type == "struct":
        return mapping_of(schema)
    if schema.type == "array" and schema.values is not None:
        return _field(schema.values)
    if schema.type == "map":
        return {"type": "object"}
    if schema.type == "string":
        return {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 256}}}
    return {"type": _TYPES[schema.type]}
