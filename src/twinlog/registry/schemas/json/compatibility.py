"""Whether a new JSON Schema allows everything that an old one allows, by Confluent's rules."""

from collections.abc import Generator

from twinlog.registry.schemas.budget import Budget
from twinlog.registry.schemas.json import model
from twinlog.registry.schemas.json.arrays import compare_arrays
from twinlog.registry.schemas.json.differences import Difference
from twinlog.registry.schemas.json.matching import most_pairs
from twinlog.registry.schemas.json.model import Combined, Schema, distinct, followed
from twinlog.registry.schemas.json.objects import compare_objects
from twinlog.registry.schemas.json.values import compare_choices, compare_constants, compare_numbers, compare_texts
from twinlog.registry.schemas.pairs import Pairs

Differences = list[Difference]
Pair = tuple[Schema, Schema]
Comparison = Generator[Pair, Differences, Differences]
_AGAIN = "THE SAME AGAIN"
_WITH_INNER = (Combined, model.Object, model.Array, model.Not, model.Link)


def differences(old: Schema, new: Schema, budget: Budget) -> Differences:
    """Why `new` refuses what `old` allows; empty if it does not."""
    all_differences = Pairs(_opened, _key, Difference(_AGAIN), _simple).differences((old, new), budget)
    return [difference for difference in all_differences if difference.kind != _AGAIN]


def _opened(pair: Pair) -> Comparison:
    return _compare(followed(pair[0]), followed(pair[1]))


def _key(pair: Pair) -> tuple[int, int]:
    return id(followed(pair[0])), id(followed(pair[1]))


def _simple(pair: Pair) -> Differences | None:
    old, new = pair
    with_inner = isinstance(old, _WITH_INNER) or isinstance(new, _WITH_INNER)
    return None if with_inner else _compare_leaves(old, new)


def _compare(old: Schema, new: Schema) -> Comparison:
    if isinstance(new, Combined) and not isinstance(old, Combined):
        if (yield from _fits_a_part_of(old, new)):
            return []
    elif isinstance(old, Combined) and not isinstance(new, Combined) and (yield from _has_a_part_for(old, new)):
        return []
    match old, new:
        case Combined(), Combined():
            return (yield from _compare_combined(old, new))
        case model.Object(), model.Object():
            return (yield from compare_objects(old, new))
        case model.Array(), model.Array():
            return (yield from compare_arrays(old, new))
        case model.Not(), model.Not():
            narrowed = yield new.inner, old.inner
            return [Difference("NOT_TYPE_EXTENDED", ("not",))] if narrowed else []
    return _compare_leaves(old, new)


def _compare_leaves(old: Schema, new: Schema) -> Differences:
    """Schemas that have no inner ones, or that are of different classes."""
    match old, new:
        case model.Text(), model.Text():
            return compare_texts(old, new)
        case model.Number(), model.Number():
            return compare_numbers(old, new)
        case model.Choice(), model.Choice():
            return compare_choices(old, new)
        case model.Constant(), model.Constant():
            return compare_constants(old, new)
        case model.Simple(), model.Simple() if old.name == new.name:
            return []
        case (model.Conditional(), model.Conditional()) | (model.Nothing(), _) | (_, model.Anything()):
            return []
    both_bytes = old.about.connect_type == new.about.connect_type == "bytes"
    return [] if both_bytes else [Difference("TYPE_CHANGED")]


def _fits_a_part_of(old: Schema, new: Combined) -> Generator[tuple[Schema, Schema], Differences, bool]:
    if len(new.parts) != 1 and new.criterion == "allOf":
        return False
    for part in new.parts:
        if not (yield old, part):
            return True
    return False


def _has_a_part_for(old: Combined, new: Schema) -> Generator[tuple[Schema, Schema], Differences, bool]:
    if len(old.parts) != 1 and old.criterion != "allOf":
        return False
    for part in old.parts:
        if not (yield part, new):
            return True
    return False


def _compare_combined(old: Combined, new: Combined) -> Comparison:
    if old.criterion != new.criterion and not _is_wider(old, new):
        return [Difference("COMBINED_TYPE_CHANGED")]
    changes: Differences = []
    old_parts, new_parts = distinct(old.parts), distinct(new.parts)
    if len(old_parts) < len(new_parts) and new.criterion == "allOf":
        changes.append(Difference("PRODUCT_TYPE_EXTENDED"))
    elif len(old_parts) > len(new_parts) and old.criterion != "allOf":
        changes.append(Difference("SUM_TYPE_NARROWED"))
    compatible: list[list[int]] = []
    for part in old_parts:
        places = []
        for place, other in enumerate(new_parts):
            if not (yield part, other):
                places.append(place)
        compatible.append(places)
    if most_pairs(compatible) < min(len(old_parts), len(new_parts)):
        changes.append(Difference("COMBINED_TYPE_SUBSCHEMAS_CHANGED"))
    return changes


def _is_wider(old: Combined, new: Combined) -> bool:
    single_old, single_new = len(old.parts) == 1, len(new.parts) == 1
    return (
        new.criterion == "anyOf"
        or (single_old and single_new)
        or (single_old and new.criterion == "oneOf")
        or (single_new and old.criterion == "allOf")
    )
