"""Joining of the keywords of one object in the drafts 2019-09 and 2020-12, in the order of the text.

Keywords of one class (text, number, array, object) become one schema. Keywords of several classes become an `allOf`
that is marked as generated; several names in `type` become a generated `anyOf`, which takes keywords of its classes.
"""

from typing import Any

from twinlog.registry.schemas.json import model
from twinlog.registry.schemas.json.model import About, Schema

_MERGED = (model.Array, model.Number, model.Object, model.Text)


def combine(parts: list[Schema], source: Any) -> model.Combined:
    """A generated `allOf`."""
    return model.Combined(About(source), "allOf", parts, generated=True)


def joined(before: Schema, part: Schema) -> Schema:
    """What `before` and `part` say together."""
    if isinstance(before, _MERGED) and type(before) is type(part):
        return _merged(before, part)
    if _is_generated(before, "anyOf") and _has_class(before, part):
        return _grown(before, part)
    if _is_generated(part, "anyOf") and _has_class(part, before):
        return _grown(part, before)
    parts: list[Schema] = []
    for branch in (*_flat(before), *_flat(part)):
        _add(parts, branch)
    return model.Combined(About(before.about.source), "allOf", parts, generated=True)


def unwrapped(schema: Schema, source: Any) -> Schema:
    """The schema without a generated `allOf` of no part or of one part."""
    if not (isinstance(schema, model.Combined) and schema.generated and schema.criterion == "allOf"):
        return schema
    if not schema.parts:
        return model.Anything(About(source))
    if len(schema.parts) == 1:
        return schema.parts[0]
    for place, part in enumerate(schema.parts):
        part.about = About(source, place)
    return schema


def _is_generated(schema: Schema, criterion: model.Criterion) -> bool:
    return isinstance(schema, model.Combined) and schema.generated and schema.criterion == criterion


def _flat(schema: Schema) -> list[Schema]:
    return schema.parts if isinstance(schema, model.Combined) and _is_generated(schema, "allOf") else [schema]


def _has_class(combined: Schema, schema: Schema) -> bool:
    if not isinstance(combined, model.Combined):
        return False
    return any(
        type(part) is type(schema)
        and not (isinstance(part, model.Simple) and isinstance(schema, model.Simple) and part.name != schema.name)
        for part in combined.parts
    )


def _grown(combined: Schema, part: Schema) -> Schema:
    if not isinstance(combined, model.Combined):
        return combined
    parts = list(combined.parts)
    _add(parts, part)
    return model.Combined(combined.about, "anyOf", parts, generated=True)


def _add(parts: list[Schema], part: Schema) -> None:
    for place, known in enumerate(parts):
        if isinstance(known, _MERGED) and type(known) is type(part):
            parts[place] = _merged(known, part)
            return
    parts.append(part)


def _merged(known: Schema, part: Schema) -> Schema:
    """Later keywords win; lists of properties, required names and items grow."""
    match known, part:
        case model.Text(), model.Text():
            return model.Text(known.about, *_later(known, part, "min_length", "max_length", "pattern"))
        case model.Number(), model.Number():
            names = ("minimum", "maximum", "exclusive_minimum", "exclusive_maximum", "multiple_of")
            return model.Number(known.about, known.integer or part.integer, *_later(known, part, *names))
        case model.Array(), model.Array():
            items, rest, least, most = _later(known, part, "items", "additional", "min_items", "max_items")
            tuples = [*(known.tuple or []), *(part.tuple or [])] or None
            closed = known.open and part.open
            return model.Array(known.about, items, tuples, closed, rest, least, most, known.unique or part.unique)
        case model.Object(), model.Object():
            rest, least, most = _later(known, part, "additional", "min_properties", "max_properties")
            needed = {name: set(items) for name, items in known.needed.items()}
            for name, items in part.needed.items():
                needed.setdefault(name, set()).update(items)
            return model.Object(
                known.about,
                known.properties | part.properties,
                known.patterns | part.patterns,
                known.open and part.open,
                rest,
                known.required | part.required,
                least,
                most,
                needed,
                known.needed_schemas | part.needed_schemas,
            )
    return known


def _later(known: Schema, part: Schema, *names: str) -> list[Any]:
    values = ((getattr(part, name), getattr(known, name)) for name in names)
    return [old if new is None else new for new, old in values]
