"""Comparison of schemas for objects. Whether a property may come or go depends on the content model of the other side.

An open model allows any further property, a closed one none, a partial one those that fit a pattern or the schema of
additional properties.
"""

from collections.abc import Generator

from twinlog.registry.schemas.java_order import hash_order
from twinlog.registry.schemas.json.differences import Difference
from twinlog.registry.schemas.json.model import Anything, Nothing, Object, Schema
from twinlog.registry.schemas.json.patterns import matches_part_of
from twinlog.registry.schemas.json.values import lower_limit, upper_limit

Differences = list[Difference]
Comparison = Generator[tuple[Schema, Schema], Differences, Differences]


def compare_objects(old: Object, new: Object) -> Comparison:
    """Asks for pairs of inner schemas. Gives the differences that break."""
    differences = _compare_required(old, new)
    for name in hash_order([*old.properties, *new.properties]):
        before, after = old.properties.get(name), new.properties.get(name)
        if before is not None and after is not None:
            below = yield before, after
        elif before is not None:
            below = yield from _removed(name, before, new)
        else:
            below = yield from _added(name, old, new)
        differences += [difference.below("properties", name) for difference in below]
    differences += yield from _compare_dependencies(old, new)
    differences += yield from _compare_additional(old, new)
    differences += upper_limit("maxProperties", "MAX_PROPERTIES", old.max_properties, new.max_properties)
    differences += lower_limit("minProperties", "MIN_PROPERTIES", old.min_properties, new.min_properties)
    return differences


def _compare_required(old: Object, new: Object) -> Differences:
    return [
        Difference("REQUIRED_ATTRIBUTE_ADDED", ("required", name))
        for name in hash_order(list(old.properties))
        if name in new.required - old.required and name in new.properties and not new.properties[name].about.has_default
    ]


def _removed(name: str, before: Schema, new: Object) -> Comparison:
    if _is_open(new):
        return []
    partial = _partial(new, name)
    if partial is None:
        closed = "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL"
        return [] if isinstance(before, Nothing) else [Difference(closed)]
    below = yield before, partial
    not_covered = Difference("PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL")
    return [*below, not_covered] if below else []


def _added(name: str, old: Object, new: Object) -> Comparison:
    after = new.properties[name]
    if _is_open(old):
        return [] if isinstance(after, Anything) else [Difference("PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL")]
    differences: Differences = []
    partial = _partial(old, name)
    if partial is not None:
        differences += yield partial, after
        if differences:
            differences.append(Difference("PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"))
    if name in new.required and not after.about.has_default:
        differences.append(Difference("REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL"))
    return differences


def _compare_dependencies(old: Object, new: Object) -> Comparison:
    differences: Differences = []
    for name in hash_order([*old.needed, *new.needed]):
        kind = _dependency(old.needed.get(name), new.needed.get(name))
        if kind is not None:
            differences.append(Difference(kind, ("dependencies", name)))
    for name in hash_order([*old.needed_schemas, *new.needed_schemas]):
        before, after = old.needed_schemas.get(name), new.needed_schemas.get(name)
        if after is None:
            continue
        below = [Difference("DEPENDENCY_SCHEMA_ADDED")] if before is None else (yield before, after)
        differences += [difference.below("dependencies", name) for difference in below]
    return differences


def _dependency(before: set[str] | None, after: set[str] | None) -> str | None:
    if after is None:
        return None
    if before is None:
        return "DEPENDENCY_ARRAY_ADDED"
    if after <= before:
        return None
    return "DEPENDENCY_ARRAY_EXTENDED" if before < after else "DEPENDENCY_ARRAY_CHANGED"


def _compare_additional(old: Object, new: Object) -> Comparison:
    if old.open != new.open:
        return [] if new.open else [Difference("ADDITIONAL_PROPERTIES_REMOVED", ("additionalProperties",))]
    if new.additional is None:
        return []
    if old.additional is None:
        return [Difference("ADDITIONAL_PROPERTIES_NARROWED", ("additionalProperties",))]
    below = yield old.additional, new.additional
    return [difference.below("additionalProperties") for difference in below]


def _is_open(schema: Object) -> bool:
    return schema.open and not schema.patterns and schema.additional is None


def _partial(schema: Object, name: str) -> Schema | None:
    """The schema that a property without one of its own must fit."""
    for pattern, inner in schema.patterns.items():
        if matches_part_of(pattern, name):
            return inner
    return schema.additional
