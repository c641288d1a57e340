"""A limit on the work for one schema or one comparison: hostile input ends with a clear error."""

from collections.abc import Iterator
from contextlib import contextmanager

from twinlog.registry.schemas.schema import TooComplex

STEPS = 500_000
"""Steps of one comparison. The largest schemas in public collections need fewer than 50 000."""


class Budget:
    """Counts steps and raises TooComplex when too many were taken."""

    __slots__ = ("_left",)

    def __init__(self, steps: int = STEPS) -> None:
        self._left = steps

    def step(self, cost: int = 1) -> None:
        self._left -= cost
        if self._left < 0:
            raise TooComplex("The schema is too complex: the check was stopped after its limit of steps")


@contextmanager
def bounded_depth() -> Iterator[None]:
    """Turns the end of Python's stack into a clear error."""
    try:
        yield
    except RecursionError:
        raise TooComplex("The schema is too complex: its types are nested too deeply") from None
