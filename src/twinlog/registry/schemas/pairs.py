"""Comparison of two schemas that may be circular, pair by pair.

The comparison of a pair is a generator: it asks for pairs of inner parts and gets their differences. One loop answers
all of them, so that a long chain cannot exhaust Python's stack. A pair that is compared already counts as compatible at
first. Where it turns out to be incompatible, the comparison is repeated with that knowledge, until nothing new is
found.
"""

from collections.abc import Callable, Generator, Hashable
from typing import Generic, TypeVar

from twinlog.registry.schemas.budget import Budget

Pair = TypeVar("Pair")
Difference = TypeVar("Difference")
ENOUGH = 200
"""Differences of one pair that are kept. A chain of pairs repeats those below it, which would grow without end."""


class Pairs(Generic[Pair, Difference]):
    """`compare` opens a pair, `key` is its identity, `simple` answers a pair that needs no comparison of inner ones.

    `again` stands for the differences of a pair inside of itself. The caller removes it from the result: the outer pair
    has them already.
    """

    def __init__(
        self,
        compare: Callable[[Pair], Generator[Pair, list[Difference], list[Difference]]],
        key: Callable[[Pair], Hashable],
        again: Difference,
        simple: Callable[[Pair], list[Difference] | None] = lambda _: None,
    ) -> None:
        self._compare = compare
        self._key = key
        self._again = again
        self._simple = simple

    def differences(self, pair: Pair, budget: Budget) -> list[Difference]:
        """All differences of the pair. Raises TooComplex when the budget is used up."""
        broken: set[Hashable] = set()
        while True:
            known: dict[Hashable, list[Difference]] = {}
            assumed: set[Hashable] = set()
            differing = self._round(pair, budget, broken, known, assumed)
            surprises = {key for key in assumed if known[key] and key not in broken}
            if not surprises:
                return differing
            broken |= surprises

    def _round(
        self,
        start: Pair,
        budget: Budget,
        broken: set[Hashable],
        known: dict[Hashable, list[Difference]],
        assumed: set[Hashable],
    ) -> list[Difference]:
        opened: dict[Hashable, Generator[Pair, list[Difference], list[Difference]]] = {}
        alive: list[Pair] = []  # a key may be the id of an object, which is good as long as the object lives

        def ask(pair: Pair) -> list[Difference] | None:
            """The differences if they are known; None after the pair was opened."""
            budget.step()
            quick = self._simple(pair)
            if quick is not None:
                return quick
            key = self._key(pair)
            if key in known:
                return known[key]
            if key in opened:
                assumed.add(key)
                return [self._again] if key in broken else []
            alive.append(pair)
            opened[key] = self._compare(pair)
            return None

        answer = ask(start)
        while opened:
            key, comparison = next(reversed(opened.items()))
            try:
                asked = next(comparison) if answer is None else comparison.send(answer)
            except StopIteration as done:
                answer = list(done.value)[:ENOUGH]
                budget.step(len(answer))
                known[key] = answer
                del opened[key]
            else:
                answer = ask(asked)
        return answer or []
