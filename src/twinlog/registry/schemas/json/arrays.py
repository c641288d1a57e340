"""Comparison of schemas for arrays: one schema for all items, or one for each of the first and one for the rest."""

from collections.abc import Generator

from twinlog.registry.schemas.json.differences import Difference
from twinlog.registry.schemas.json.model import Anything, Array, Nothing, Schema
from twinlog.registry.schemas.json.values import lower_limit, upper_limit

Differences = list[Difference]
Comparison = Generator[tuple[Schema, Schema], Differences, Differences]


def compare_arrays(old: Array, new: Array) -> Comparison:
    """Asks for pairs of inner schemas. Gives the differences that break."""
    differences: Differences = []
    if new.items is not None:
        below = [Difference("SCHEMA_ADDED")] if old.items is None else (yield old.items, new.items)
        differences += [difference.below("items") for difference in below]
    differences += yield from _compare_tuples(old, new)
    differences += yield from _compare_additional(old, new)
    differences += upper_limit("maxItems", "MAX_ITEMS", old.max_items, new.max_items)
    differences += lower_limit("minItems", "MIN_ITEMS", old.min_items, new.min_items)
    if new.unique and not old.unique:
        differences.append(Difference("UNIQUE_ITEMS_ADDED", ("uniqueItems",)))
    return differences


def _compare_tuples(old: Array, new: Array) -> Comparison:
    differences: Differences = []
    before, after = old.tuple or [], new.tuple or []
    for place in range(max(len(before), len(after))):
        if place >= len(after):
            below = yield from _removed(before[place], new)
        elif place >= len(before):
            below = yield from _added(after[place], old)
        else:
            below = yield before[place], after[place]
        differences += [difference.below(f"items/{place}") for difference in below]
    return differences


def _removed(item: Schema, new: Array) -> Comparison:
    if new.additional is not None:
        below = yield item, new.additional
        not_covered = Difference("ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL")
        return [*below, not_covered] if below else []
    if new.open or isinstance(item, Nothing):
        return []
    return [Difference("ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL")]


def _added(item: Schema, old: Array) -> Comparison:
    if old.additional is not None:
        below = yield old.additional, item
        not_covered = Difference("ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL")
        return [*below, not_covered] if below else []
    if not old.open or isinstance(item, Anything):
        return []
    return [Difference("ITEM_ADDED_TO_OPEN_CONTENT_MODEL")]


def _compare_additional(old: Array, new: Array) -> Comparison:
    if old.open != new.open:
        return [] if new.open else [Difference("ADDITIONAL_ITEMS_REMOVED", ("additionalItems",))]
    if new.additional is None:
        return []
    if old.additional is None:
        return [Difference("ADDITIONAL_ITEMS_NARROWED", ("additionalItems",))]
    below = yield old.additional, new.additional
    return [difference.below("additionalItems") for difference in below]
