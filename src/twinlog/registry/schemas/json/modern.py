"""Reading of the drafts 2019-09 and 2020-12.

`$ref` counts beside other keywords here. The keywords of one object are joined one after another (`joining`). What
`unevaluatedItems`, `unevaluatedProperties` and `contains` say is checked and not compared, as in Confluent 8.1.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeVar

from twinlog.registry.schemas.json import model
from twinlog.registry.schemas.json.joining import combine, joined, unwrapped
from twinlog.registry.schemas.json.keywords import (
    cut_integer_of,
    flag_of,
    list_of,
    number_of,
    object_of,
    refusal,
    text_of,
)
from twinlog.registry.schemas.json.model import About, Schema
from twinlog.registry.schemas.json.modern_links import Addresses
from twinlog.registry.schemas.json.patterns import check_pattern
from twinlog.registry.schemas.json.text import sorted_text

Part = TypeVar("Part", model.Number, model.Text, model.Array, model.Object)
_COMBINATIONS: tuple[model.Criterion, ...] = ("allOf", "anyOf", "oneOf")
_INTEGERS_OF_TEXT = {"minLength": "min_length", "maxLength": "max_length"}
_INTEGERS_OF_ARRAYS = {"minItems": "min_items", "maxItems": "max_items"}
_INTEGERS_OF_OBJECTS = {"minProperties": "min_properties", "maxProperties": "max_properties"}
_NUMBERS = {
    "minimum": "minimum",
    "maximum": "maximum",
    "exclusiveMinimum": "exclusive_minimum",
    "exclusiveMaximum": "exclusive_maximum",
    "multipleOf": "multiple_of",
}
_SAY_NOTHING = {"format": text_of, "readOnly": flag_of, "writeOnly": flag_of}
_CHECKED_TEXTS = ("title", "description")


class ModernReader:
    """Reads one schema and all that it points to. Links are read one after another, without recursion."""

    def __init__(self, references: Mapping[str, Any]) -> None:
        self._addresses = Addresses(references)
        self._targets: dict[str, model.Link] = {}
        self._waiting: list[tuple[model.Link, str]] = []

    def read(self, root: Any) -> Schema:
        base = self._addresses.enter(root)
        schema = self._schema(root, base)
        while self._waiting:
            link, address = self._waiting.pop()
            if self._addresses.is_metaschema(address):
                link.target = model.Anything(About(source=address))
            else:
                link.target = self._schema(*self._addresses.find(address))
        return schema

    def _schema(self, value: Any, base: str) -> Schema:
        if value is True:
            return model.Anything(About(source=True))
        if value is False:
            return model.Nothing(About(source=False))
        json = object_of(value)
        base = self._addresses.inside(json, base)
        made: Schema | None = None
        for keyword, member in json.items():
            part = self._part(keyword, member, json, base)
            if part is not None:
                made = part if made is None else joined(made, part)
        if made is None:
            made = combine([], json)
        properties = object_of(json.get("properties", {}))
        if properties:
            inner = {name: self._schema(member, base) for name, member in properties.items()}
            made = joined(made, model.Object(About(json), properties=inner))
        patterns = object_of(json.get("patternProperties", {}))
        if patterns:
            inner = {pattern: self._schema(member, base) for pattern, member in patterns.items()}
            made = joined(made, model.Object(About(json), patterns=inner))
        for pattern in patterns:
            check_pattern(pattern)
        for keyword in _CHECKED_TEXTS:
            if keyword in json:
                text_of(json[keyword])
        made = unwrapped(made, json)
        connect_type = json.get("connect.type")
        made.about.has_default = "default" in json and json["default"] is not None
        made.about.connect_type = connect_type if isinstance(connect_type, str) else None
        return made

    def _part(self, keyword: str, value: Any, json: dict[str, Any], base: str) -> Schema | None:
        about = About(json)
        if keyword in _NUMBERS:
            return _with(model.Number(about), _NUMBERS[keyword], number_of(value))
        if keyword in _INTEGERS_OF_TEXT:
            return _with(model.Text(about), _INTEGERS_OF_TEXT[keyword], cut_integer_of(value))
        if keyword in _COMBINATIONS:
            return self._combination(keyword, value, base, about)
        if keyword in _SAY_NOTHING:
            silent = _SAY_NOTHING[keyword](value) is False
            return None if silent else combine([], json)
        if keyword in {"$ref", "$dynamicRef"}:
            return self._link(text_of(value), base, about)
        match keyword:
            case "type":
                return _typed(value, json)
            case "enum":
                return model.Choice(about, frozenset(sorted_text(item) for item in list_of(value)))
            case "const":
                return model.Constant(about, sorted_text(value))
            case "not":
                return model.Not(about, self._schema(value, base))
            case "pattern":
                check_pattern(text_of(value))
                return model.Text(about, pattern=value)
            case "if":
                for name in ("if", "then", "else"):
                    if name in json:
                        self._schema(json[name], base)
                return model.Conditional(about)
            case "$defs":
                for member in object_of(value).values():
                    self._schema(member, base)
            case "unevaluatedItems" | "unevaluatedProperties":
                self._schema(value, base)
            case "deprecated":
                flag_of(value)
        return self._array_part(keyword, value, json, base, about) or self._object_part(keyword, value, base, about)

    def _array_part(
        self, keyword: str, value: Any, json: dict[str, Any], base: str, about: About
    ) -> model.Array | None:
        if keyword in _INTEGERS_OF_ARRAYS:
            return _with(model.Array(about), _INTEGERS_OF_ARRAYS[keyword], cut_integer_of(value))
        match keyword:
            case "items":
                inner = self._schema(value, base)
                prefix = json.get("prefixItems")
                if value is True or value is False:
                    return model.Array(about, open=value)
                if isinstance(prefix, list) and prefix:
                    return model.Array(about, additional=inner)
                return model.Array(about, items=inner)
            case "prefixItems":
                return model.Array(about, tuple=[self._schema(item, base) for item in list_of(value)] or None)
            case "uniqueItems":
                return model.Array(about, unique=flag_of(value))
            case "contains":
                self._schema(value, base)
                return model.Array(about)
        return None

    def _object_part(self, keyword: str, value: Any, base: str, about: About) -> model.Object | None:
        if keyword in _INTEGERS_OF_OBJECTS:
            return _with(model.Object(about), _INTEGERS_OF_OBJECTS[keyword], cut_integer_of(value))
        match keyword:
            case "required":
                return model.Object(about, required={text_of(name) for name in list_of(value)})
            case "additionalProperties":
                inner = self._schema(value, base)
                if value is True or value is False:
                    return model.Object(about, open=value)
                return model.Object(about, additional=inner)
            case "propertyNames":
                self._schema(value, base)
                return model.Object(about)
            case "dependentRequired":
                needed = {name: {text_of(item) for item in list_of(items)} for name, items in object_of(value).items()}
                return model.Object(about, needed={name: items for name, items in needed.items() if items})
            case "dependentSchemas":
                inner_of = {name: self._schema(member, base) for name, member in object_of(value).items()}
                return model.Object(about, needed_schemas=inner_of)
        return None

    def _combination(self, criterion: model.Criterion, value: Any, base: str, about: About) -> model.Combined:
        """A part that the reader has combined from several classes is spread into its parent, as in Confluent."""
        parts: list[Schema] = []
        for item in list_of(value):
            part = self._schema(item, base)
            spread = isinstance(part, model.Combined) and part.generated and part.criterion == "allOf"
            parts.extend(part.parts if spread and isinstance(part, model.Combined) else [part])
        return model.Combined(about, criterion, parts)

    def _link(self, reference: str, base: str, about: About) -> model.Link:
        address = self._addresses.absolute(reference, base)
        link = model.Link(about)
        known = self._targets.get(address)
        if known is None:
            self._targets[address] = link
            self._waiting.append((link, address))
        else:
            link.target = known
        return link


def _with(part: Part, name: str, value: int | Decimal) -> Part:
    setattr(part, name, value)
    return part


def _typed(value: Any, source: Any) -> Schema:
    if isinstance(value, str):
        return _of_type(value, About(source))
    parts = [_of_type(text_of(name), About(source, text_of(name))) for name in list_of(value)]
    return model.Combined(About(source), "anyOf", parts, generated=True)


def _of_type(name: str, about: About) -> Schema:
    match name:
        case "string":
            return model.Text(about)
        case "integer" | "number":
            return model.Number(about, integer=name == "integer")
        case "boolean" | "null":
            return model.Simple(about, name)
        case "array":
            return model.Array(about)
        case "object":
            return model.Object(about)
        case _:
            raise refusal(f"unknown type {name}")
