"""Whether a new JSON Schema allows everything that an old one allows, by Confluent's rules.

A comparison is a generator: it asks for pairs of inner schemas and gets their differences. One loop answers all of them
(`_Check.run`), so that a long chain of schemas cannot exhaust Python's stack. A pair that is compared already counts as
compatible at first. Where it turns out to be incompatible, the comparison is repeated with that knowledge, until
nothing new is found.
"""

from collections.abc import Generator

from twinlog.registry.schemas.budget import Budget
from twinlog.registry.schemas.json import model
from twinlog.registry.schemas.json.arrays import compare_arrays
from twinlog.registry.schemas.json.differences import Difference
from twinlog.registry.schemas.json.matching import most_pairs
from twinlog.registry.schemas.json.model import Combined, Schema, distinct, followed
from twinlog.registry.schemas.json.objects import compare_objects
from twinlog.registry.schemas.json.values import compare_choices, compare_constants, compare_numbers, compare_texts

Found = list[Difference]
Comparison = Generator[tuple[Schema, Schema], Found, Found]
_Pair = tuple[int, int]
_WITH_INNER = (Combined, model.Object, model.Array, model.Not)


def differences(old: Schema, new: Schema, budget: Budget) -> Found:
    """Why `new` refuses what `old` allows; empty if it does not."""
    broken: dict[_Pair, Found] = {}
    while True:
        check = _Check(budget, broken)
        found = check.run(old, new)
        surprises = {pair: check.known[pair] for pair in check.assumed if check.known[pair] and pair not in broken}
        if not surprises:
            return found
        broken.update(surprises)


class _Check:
    """One round. `known` are the results, `assumed` the pairs that were taken for compatible while they were open."""

    def __init__(self, budget: Budget, broken: dict[_Pair, Found]) -> None:
        self.known: dict[_Pair, Found] = {}
        self.assumed: set[_Pair] = set()
        self._budget = budget
        self._broken = broken
        self._alive: list[Schema] = []

    def run(self, old: Schema, new: Schema) -> Found:
        open_pairs: dict[_Pair, Comparison] = {}
        answer = self._ask(old, new, open_pairs)
        while open_pairs:
            pair, comparison = next(reversed(open_pairs.items()))
            try:
                asked = next(comparison) if answer is None else comparison.send(answer)
            except StopIteration as done:
                answer = done.value
                self._budget.step(len(answer))
                self.known[pair] = answer
                del open_pairs[pair]
            else:
                answer = self._ask(*asked, open_pairs)
        return answer or []

    def _ask(self, old: Schema, new: Schema, open_pairs: dict[_Pair, Comparison]) -> Found | None:
        """The differences if they are known; None after the pair was opened."""
        self._budget.step()
        old, new = followed(old), followed(new)
        if not isinstance(old, _WITH_INNER) and not isinstance(new, _WITH_INNER):
            return _compare_leaves(old, new)
        pair = (id(old), id(new))
        if pair in self.known:
            return self.known[pair]
        if pair in open_pairs:
            self.assumed.add(pair)
            return self._broken.get(pair, [])
        self._alive += (old, new)  # an id is only good as long as its object lives
        open_pairs[pair] = _compare(old, new)
        return None


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


def _compare_leaves(old: Schema, new: Schema) -> Found:
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


def _fits_a_part_of(old: Schema, new: Combined) -> Generator[tuple[Schema, Schema], Found, bool]:
    if len(new.parts) != 1 and new.criterion == "allOf":
        return False
    for part in new.parts:
        if not (yield old, part):
            return True
    return False


def _has_a_part_for(old: Combined, new: Schema) -> Generator[tuple[Schema, Schema], Found, bool]:
    if len(old.parts) != 1 and old.criterion != "allOf":
        return False
    for part in old.parts:
        if not (yield part, new):
            return True
    return False


def _compare_combined(old: Combined, new: Combined) -> Comparison:
    if old.criterion != new.criterion and not _is_wider(old, new):
        return [Difference("COMBINED_TYPE_CHANGED")]
    found: Found = []
    old_parts, new_parts = distinct(old.parts), distinct(new.parts)
    if len(old_parts) < len(new_parts) and new.criterion == "allOf":
        found.append(Difference("PRODUCT_TYPE_EXTENDED"))
    elif len(old_parts) > len(new_parts) and old.criterion != "allOf":
        found.append(Difference("SUM_TYPE_NARROWED"))
    compatible: list[list[int]] = []
    for part in old_parts:
        places = []
        for place, other in enumerate(new_parts):
            if not (yield part, other):
                places.append(place)
        compatible.append(places)
    if most_pairs(compatible) < min(len(old_parts), len(new_parts)):
        found.append(Difference("COMBINED_TYPE_SUBSCHEMAS_CHANGED"))
    return found


def _is_wider(old: Combined, new: Combined) -> bool:
    single_old, single_new = len(old.parts) == 1, len(new.parts) == 1
    return (
        new.criterion == "anyOf"
        or (single_old and single_new)
        or (single_old and new.criterion == "oneOf")
        or (single_new and old.criterion == "allOf")
    )
