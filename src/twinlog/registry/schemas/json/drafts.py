"""Reading of the drafts 4, 6 and 7.

`$ref` hides the keywords beside it. A property of an unknown keyword is ignored. An address outside of the schema and
its references is never fetched: it is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from twinlog.registry.schemas.json import model
from twinlog.registry.schemas.json.keywords import (
    flag_of,
    integer_of,
    list_of,
    maybe,
    number_of,
    object_of,
    refusal,
    refuse,
    text_of,
)
from twinlog.registry.schemas.json.model import About, Schema
from twinlog.registry.schemas.json.patterns import check_pattern
from twinlog.registry.schemas.json.text import sorted_text
from twinlog.registry.schemas.json.uris import resolve, split_fragment, unescaped

_COMBINATIONS: tuple[model.Criterion, ...] = ("anyOf", "allOf", "oneOf")
_NUMBER = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_TEXT = ("minLength", "maxLength", "pattern", "format")
_OBJECT_4 = (
    *("properties", "required", "minProperties", "maxProperties"),
    *("dependencies", "patternProperties", "additionalProperties"),
)
_ARRAY_4 = ("items", "additionalItems", "minItems", "maxItems", "uniqueItems")
_CONDITIONS = ("if", "then", "else")


@dataclass(frozen=True, slots=True)
class Document:
    """A text with the objects in it that have an id. `base` is the address under which the text is known."""

    root: Any
    by_id: Mapping[str, Any]
    base: str | None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a schema stands: the document, and the id around it."""

    document: Document
    base: str | None


class DraftReader:
    """Reads one schema and all that it points to. Links are read one after another, without recursion."""

    def __init__(self, draft: int, references: Mapping[str, Any]) -> None:
        self._draft = draft
        self._id = "id" if draft == 4 else "$id"
        self._object = _OBJECT_4 if draft == 4 else (*_OBJECT_4, "propertyNames")
        self._array = _ARRAY_4 if draft == 4 else (*_ARRAY_4, "contains")
        self._references = references
        self._documents: dict[str, Document] = {}
        self._targets: dict[str, model.Link] = {}
        self._waiting: list[tuple[model.Link, Any, Place]] = []

    def read(self, root: Any) -> Schema:
        schema = self._schema(root, Place(self._document(root, None), None))
        while self._waiting:
            link, value, place = self._waiting.pop()
            link.target = self._schema(value, place)
        return schema

    def _document(self, root: Any, base: str | None) -> Document:
        by_id: dict[str, Any] = {}
        _collect_ids(root, self._id, by_id)
        return Document(root, by_id, base)

    def _schema(self, value: Any, place: Place) -> Schema:
        if value is True:
            return model.Anything(About(source=True))
        if value is False:
            return model.Nothing(About(source=False))
        json = object_of(value)
        own = json.get(self._id)
        if isinstance(own, str):
            place = Place(place.document, resolve(place.base, own))
        connect_type = json.get("connect.type")
        about = About(json, 0, "default" in json, connect_type if isinstance(connect_type, str) else None)
        for keyword in (self._id, "title", "description"):
            maybe(json, keyword, text_of)
        for keyword in ("readOnly", "writeOnly") if self._draft == 7 else ():
            maybe(json, keyword, flag_of)
        if "$ref" in json:
            return self._link(text_of(json["$ref"]), about, place)
        parts = self._parts(json, about, place)
        if not parts:
            return model.Anything(about)
        if len(parts) == 1:
            return parts[0]
        for place_in_list, part in enumerate(parts):
            part.about = About(json, place_in_list)
        return model.Combined(about, "allOf", parts)

    def _parts(self, json: dict[str, Any], about: About, place: Place) -> list[Schema]:
        parts: list[Schema] = []
        if "enum" in json:
            parts.append(model.Choice(about, frozenset(sorted_text(item) for item in list_of(json["enum"]))))
        for criterion in _COMBINATIONS:
            if criterion in json:
                inner = [self._schema(part, place) for part in list_of(json[criterion])]
                parts.append(model.Combined(about, criterion, inner))
        if "not" in json:
            parts.append(model.Not(about, self._schema(json["not"], place)))
        if "const" in json and self._draft > 4:
            parts.append(model.Constant(about, sorted_text(json["const"])))
        used: set[str] = set()
        if "type" in json:
            parts.append(self._typed(json, about, place, used))
        if any(keyword in json and keyword not in used for keyword in self._array):
            parts.append(self._array_of(json, about, place))
        if any(keyword in json and keyword not in used for keyword in self._object):
            parts.append(self._object_of(json, about, place))
        if any(keyword in json and keyword not in used for keyword in _NUMBER):
            parts.append(self._number(json, about))
        if any(keyword in json and keyword not in used for keyword in _TEXT):
            parts.append(_text(json, about))
        if self._draft == 7 and any(keyword in json for keyword in _CONDITIONS):
            for keyword in _CONDITIONS:
                maybe(json, keyword, lambda inner: self._schema(inner, place))
            parts.append(model.Conditional(about))
        return parts

    def _typed(self, json: dict[str, Any], about: About, place: Place, used: set[str]) -> Schema:
        kind = json["type"]
        if isinstance(kind, str):
            return self._of_type(kind, json, about, place, used)
        parts = []
        for name in list_of(kind):
            own = About(json, text_of(name), about.has_default, about.connect_type)
            parts.append(self._of_type(text_of(name), json, own, place, used))
        return model.Combined(about, "anyOf", parts)

    def _of_type(self, kind: str, json: dict[str, Any], about: About, place: Place, used: set[str]) -> Schema:
        match kind:
            case "string":
                used.update(_TEXT)
                return _text(json, about)
            case "integer" | "number":
                used.update(_NUMBER)
                number = self._number(json, about)
                number.integer = kind == "integer"
                return number
            case "boolean" | "null":
                return model.Simple(about, kind)
            case "array":
                used.update(self._array)
                return self._array_of(json, about, place)
            case "object":
                used.update(self._object)
                return self._object_of(json, about, place)
            case _:
                raise refusal(f"unknown type {kind}")

    def _number(self, json: dict[str, Any], about: About) -> model.Number:
        divisor = maybe(json, "multipleOf", number_of)
        if divisor is not None and divisor == 0:
            refuse("multipleOf should not be 0")
        exclusive = [json[key] for key in ("exclusiveMinimum", "exclusiveMaximum") if key in json]
        if self._draft == 4:
            for value in exclusive:
                flag_of(value)
            lower = upper = None
        else:
            lower = maybe(json, "exclusiveMinimum", number_of)
            upper = maybe(json, "exclusiveMaximum", number_of)
        least, most = maybe(json, "minimum", number_of), maybe(json, "maximum", number_of)
        return model.Number(about, False, least, most, lower, upper, divisor)

    def _array_of(self, json: dict[str, Any], about: About, place: Place) -> model.Array:
        array = model.Array(about)
        array.min_items = maybe(json, "minItems", integer_of)
        array.max_items = maybe(json, "maxItems", integer_of)
        array.unique = bool(maybe(json, "uniqueItems", flag_of))
        rest = json.get("additionalItems", True)
        if isinstance(rest, bool):
            array.open = rest
        else:
            array.additional = self._schema(rest, place)
        items = json.get("items")
        if isinstance(items, list):
            array.tuple = [self._schema(item, place) for item in items]
        elif "items" in json:
            if isinstance(items, bool) and self._draft == 4:
                refuse("draft 4 has no booleans as schemas")
            array.items = self._schema(items, place)
        if "contains" in json and self._draft > 4:
            self._schema(json["contains"], place)
        return array

    def _object_of(self, json: dict[str, Any], about: About, place: Place) -> model.Object:
        made = model.Object(about)
        made.min_properties = maybe(json, "minProperties", integer_of)
        made.max_properties = maybe(json, "maxProperties", integer_of)
        for name, value in object_of(json.get("properties", {})).items():
            if name != self._id or isinstance(value, dict):
                made.properties[name] = self._schema(value, place)
        rest = json.get("additionalProperties", True)
        if isinstance(rest, bool):
            made.open = rest
        else:
            made.additional = self._schema(rest, place)
        made.required = {text_of(name) for name in list_of(json.get("required", []))}
        for pattern, value in object_of(json.get("patternProperties", {})).items():
            made.patterns[pattern] = self._schema(value, place)
            check_pattern(pattern)
        for name, value in object_of(json.get("dependencies", {})).items():
            self._dependency(made, name, value, place)
        if "propertyNames" in json and self._draft > 4:
            self._schema(json["propertyNames"], place)
        return made

    def _dependency(self, made: model.Object, name: str, value: Any, place: Place) -> None:
        if isinstance(value, list):
            if value:
                made.needed[name] = {text_of(item) for item in value}
        elif isinstance(value, bool) and self._draft == 4:
            refuse("draft 4 has no booleans as schemas")
        else:
            made.needed_schemas[name] = self._schema(value, place)

    def _link(self, reference: str, about: About, place: Place) -> model.Link:
        address = resolve(place.base, reference)
        known = self._targets.get(address)
        link = model.Link(about)
        if known is not None:
            link.target = known
            return link
        self._targets[address] = link
        value = place.document.by_id.get(address)
        if value is not None:
            self._waiting.append((link, value, place))
        elif reference.startswith("#"):
            self._waiting.append((link, *_pointed(place.document, reference, self._id)))
        else:
            name, fragment = split_fragment(address)
            document = self._referenced(address)
            if document is not None:
                fragment = "#"
            else:
                document = self._referenced(name)
            if document is None:
                refuse(f"{address} is neither part of the schema nor one of its references")
            self._waiting.append((link, *_pointed(document, fragment, self._id)))
        return link

    def _referenced(self, address: str) -> Document | None:
        if address not in self._documents:
            if address not in self._references:
                return None
            self._documents[address] = self._document(object_of(self._references[address]), address)
        return self._documents[address]


def _text(json: dict[str, Any], about: About) -> model.Text:
    pattern = maybe(json, "pattern", text_of)
    if pattern is not None:
        check_pattern(pattern)
    maybe(json, "format", text_of)
    return model.Text(about, maybe(json, "minLength", integer_of), maybe(json, "maxLength", integer_of), pattern)


def _collect_ids(root: Any, keyword: str, by_id: dict[str, Any]) -> None:
    waiting = [root]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            own = value.get(keyword)
            if isinstance(own, str):
                by_id[own] = value
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def _pointed(document: Document, fragment: str, keyword: str) -> tuple[Any, Place]:
    """The value to which a fragment points, and the id around it."""
    if fragment in {"", "#"}:
        return document.root, Place(document, document.base)
    if fragment in document.by_id:
        return document.by_id[fragment], Place(document, document.base)
    steps = fragment.split("/")
    if steps[0] != "#":
        refuse(f"{fragment} is no JSON pointer")
    value, base = document.root, document.base
    for step in steps[1:]:
        key = unescaped(step)
        if isinstance(value, dict) and key in value:
            if isinstance(value.get(keyword), str):
                base = resolve(base, value[keyword])
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            refuse(f"{fragment} points to nothing: there is no {key}")
    return value, Place(document, base)
