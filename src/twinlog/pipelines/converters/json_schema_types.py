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

    def schema(self, found: Any) -> Schema:
        if not isinstance(found, Mapping):
            raise PlanRefused(f"a JSON Schema that is {found!r} says nothing about the values")
        if "$ref" in found:
            return self._referred(found["$ref"])
        members = found.get("oneOf") or found.get("anyOf")
        if members:
            return self._one_of(found, members)
        kinds = found.get("type", "object" if "properties" in found else None)
        if isinstance(kinds, list):
            rest = [one for one in kinds if one != "null"]
            if len(rest) != 1:
                raise PlanRefused(f"a JSON Schema with the types {kinds} has no one type in columns")
            return replace(self.schema({**found, "type": rest[0]}), optional=len(rest) < len(kinds))
        if kinds is None and "enum" in found:
            kinds = "string"
        made = self._typed(found, kinds)
        parameters = tuple((str(k), str(v)) for k, v in (found.get("connect.parameters") or {}).items())
        return replace(
            made, name=found.get("title"), version=found.get("connect.version"), doc=found.get("description"),
            parameters=parameters, default=found.get("default"),
        )  # fmt: skip

    def _typed(self, found: Mapping[str, Any], kind: str | None) -> Schema:
        own = found.get("connect.type")
        if kind == "object" and own == "map":
            return Schema("map", keys=Schema("string"), values=self.schema(found.get("additionalProperties")))
        if kind == "object":
            needed = set(found.get("required", ()))
            order = sorted(found.get("properties", {}).items(), key=lambda one: one[1].get("connect.index", 1 << 30))
            return Schema("struct", fields=tuple(Field(name, self._member(one, name in needed)) for name, one in order))
        if kind == "array" and own == "map":
            pair = self.schema(found["items"])
            return Schema("map", keys=pair.field("key"), values=pair.field("value"))
        if kind == "array":
            return Schema("array", values=self.schema(found.get("items")))
        name = _OWN.get(str(own), own) or _DEFAULT.get(str(kind))
        if name is None:
            raise PlanRefused(f"a JSON Schema with the type {kind!r} has no counterpart in Connect")
        return Schema(cast("TypeName", name))

    def _member(self, found: Any, required: bool) -> Schema:
        made = self.schema(found)
        return replace(made, optional=made.optional or (self._nonrequired and not required))

    def _one_of(self, found: Mapping[str, Any], members: list[Any]) -> Schema:
        rest = [one for one in members if one.get("type") != "null"]
        if len(rest) != 1:
            raise PlanRefused("a JSON Schema with oneOf of several types has no one type in columns")
        inner = self.schema(rest[0])
        default = found.get("default", inner.default)
        return replace(inner, optional=len(rest) < len(members), default=default, name=inner.name or found.get("title"))

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
    found = _written(schema, decimals)
    for key, value in (
        ("title", schema.name),
        ("description", schema.doc),
        ("connect.version", schema.version),
        ("connect.parameters", dict(schema.parameters) or None),
        ("default", schema.default),
    ):
        if value is not None:
            found[key] = value
    if schema.optional:
        found = {"oneOf": [{"type": "null"}, found]}
    if index is not None:
        found["connect.index"] = index
    return found


def _written(schema: Schema, decimals: str) -> dict[str, Any]:
    if schema.is_decimal:
        return {"type": "string" if decimals.upper() == "BASE64" else "number", "connect.type": "bytes"}
    if schema.type == "struct":
        members = {one.name: json_schema(one.schema, decimals, n) for n, one in enumerate(schema.fields)}
        return {"type": "object", "properties": members}
    if schema.type == "array" and schema.values is not None:
        return {"type": "array", "items": json_schema(schema.values, decimals)}
    if schema.type == "map" and schema.keys is not None and schema.values is not None:
        if schema.keys.type != "string" or schema.keys.optional:
            raise PlanRefused(f"maps with keys of type {schema.keys.type} are not supported; use string keys")
        return {"type": "object", "connect.type": "map", "additionalProperties": json_schema(schema.values, decimals)}
    found: dict[str, Any] = {"type": _JSON[schema.type]}
    if schema.type not in {"boolean", "string"}:
        found["connect.type"] = _BACK.get(schema.type, schema.type)
    return found
