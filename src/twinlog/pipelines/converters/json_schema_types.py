"""JSON Schemas and Connect's schemas, both ways, as Confluent's JsonSchemaData maps them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

from twinlog.pipelines.records import PlanRefused
from twinlog.pipelines.schemas import Field, Schema, TypeName

_DEFAULT: Final = {"integer": "int64", "number": "double", "string": "string", "boolean": "boolean"}
_OWN: Final = {"float32": "float", "float64": "double"}  # Connect's names of what this program calls float and double
_BACK: Final = {"float": "float32", "double": "float64"}
_JSON: Final = {
    "boolean": "boolean", "int8": "integer", "int16": "integer", "int32": "integer", "int64": "integer",
    "float": "number", "double": "number", "string": "string", "bytes": "string",
}  # fmt: skip


def connect_schema(
    root: Mapping[str, Any], others: Mapping[str, Any] | None = None, *, nonrequired_optional: bool = False
) -> Schema:
    """The Connect schema of a parsed JSON Schema. Raises PlanRefused for what Connect cannot hold."""
    return _Reader(root, others or {}, nonrequired_optional).schema(root)


class _Reader:
    def __init__(self, root: Mapping[str, Any], others: Mapping[str, Any], nonrequired_optional: bool) -> None:
        self._root, self._others, self._nonrequired = root, others, nonrequired_optional
        self._open: list[str] = []

    def schema(self, definition: Any) -> Schema:
        if not isinstance(definition, Mapping):
            raise PlanRefused(f"a JSON Schema that is {definition!r} says nothing about the values")
        if "$ref" in definition:
            return self._referred(definition["$ref"])
        members = definition.get("oneOf") or definition.get("anyOf")
        if members:
            return self._one_of(definition, members)
        kinds = definition.get("type", "object" if "properties" in definition else None)
        if isinstance(kinds, list):
            rest = [kind for kind in kinds if kind != "null"]
            if len(rest) != 1:
                raise PlanRefused(f"a JSON Schema with the types {kinds} has no one type in columns")
            return replace(self.schema({**definition, "type": rest[0]}), optional=len(rest) < len(kinds))
        if kinds is None and "enum" in definition:
            kinds = "string"
        made = self._typed(definition, kinds)
        parameters = tuple((str(k), str(v)) for k, v in (definition.get("connect.parameters") or {}).items())
        return replace(
            made, name=definition.get("title"), version=definition.get("connect.version"),
            doc=definition.get("description"), parameters=parameters, default=definition.get("default"),
        )  # fmt: skip

    def _typed(self, definition: Mapping[str, Any], kind: str | None) -> Schema:
        own = definition.get("connect.type")
        if kind == "object" and own == "map":
            return Schema("map", keys=Schema("string"), values=self.schema(definition.get("additionalProperties")))
        if kind == "object":
            needed = set(definition.get("required", ()))
            order = sorted(
                definition.get("properties", {}).items(), key=lambda entry: entry[1].get("connect.index", 1 << 30)
            )
            return Schema(
                "struct", fields=tuple(Field(name, self._member(member, name in needed)) for name, member in order)
            )
        if kind == "array" and own == "map":
            pair = self.schema(definition["items"])
            return Schema("map", keys=pair.field("key"), values=pair.field("value"))
        if kind == "array":
            return Schema("array", values=self.schema(definition.get("items")))
        name = _OWN.get(str(own), own) or _DEFAULT.get(str(kind))
        if name is None:
            raise PlanRefused(f"a JSON Schema with the type {kind!r} has no counterpart in Connect")
        return Schema(cast("TypeName", name))

    def _member(self, definition: Any, required: bool) -> Schema:
        made = self.schema(definition)
        return replace(made, optional=made.optional or (self._nonrequired and not required))

    def _one_of(self, definition: Mapping[str, Any], members: list[Any]) -> Schema:
        rest = [member for member in members if member.get("type") != "null"]
        if len(rest) != 1:
            raise PlanRefused("a JSON Schema with oneOf of several types has no one type in columns")
        inner = self.schema(rest[0])
        default = definition.get("default", inner.default)
        return replace(
            inner, optional=len(rest) < len(members), default=default, name=inner.name or definition.get("title")
        )

    def _referred(self, reference: str) -> Schema:
        if reference in self._open:
            raise PlanRefused(f"the JSON Schema {reference} holds itself; columns cannot hold that")
        name, _, path = reference.partition("#")
        place: Any = self._others.get(name) if name else self._root
        if place is None:
            raise PlanRefused(f"the JSON Schema refers to {name!r}, which is none of its references")
        for part in path.split("/")[1:]:
            place = place[part.replace("~1", "/").replace("~0", "~")]
        self._open.append(reference)
        outer, self._root = self._root, self._others.get(name, self._root) if name else self._root
        made = self.schema(place)
        self._root = outer
        self._open.pop()
        return made


def json_schema(schema: Schema, decimals: str = "BASE64", index: int | None = None) -> dict[str, Any]:
    """The JSON Schema of a Connect schema."""
    written = _written(schema, decimals)
    for key, value in (
        ("title", schema.name),
        ("description", schema.doc),
        ("connect.version", schema.version),
        ("connect.parameters", dict(schema.parameters) or None),
        ("default", schema.default),
    ):
        if value is not None:
            written[key] = value
    if schema.optional:
        written = {"oneOf": [{"type": "null"}, written]}
    if index is not None:
        written["connect.index"] = index
    return written


def _written(schema: Schema, decimals: str) -> dict[str, Any]:
    if schema.is_decimal:
        return {"type": "string" if decimals.upper() == "BASE64" else "number", "connect.type": "bytes"}
    if schema.type == "struct":
        members = {field.name: json_schema(field.schema, decimals, n) for n, field in enumerate(schema.fields)}
        return {"type": "object", "properties": members}
    if schema.type == "array" and schema.values is not None:
        return {"type": "array", "items": json_schema(schema.values, decimals)}
    if schema.type == "map" and schema.keys is not None and schema.values is not None:
        if schema.keys.type != "string" or schema.keys.optional:
            raise PlanRefused(f"maps with keys of type {schema.keys.type} are not supported; use string keys")
        return {"type": "object", "connect.type": "map", "additionalProperties": json_schema(schema.values, decimals)}
    written: dict[str, Any] = {"type": _JSON[schema.type]}
    if schema.type not in {"boolean", "string"}:
        written["connect.type"] = _BACK.get(schema.type, schema.type)
    return written
