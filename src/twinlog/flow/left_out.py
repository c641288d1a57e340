"""Source offsets that are read and not copied, by reason, and how they are counted. Pure.

Each offset counts once, together with the position that passes it: a parcel holds several batches, each of which may be
the last that the ledger hears of.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

Ranges: TypeAlias = Sequence[tuple[int, int]]
"""Offsets, each range from its first to behind its last."""


class LeftOut(NamedTuple):
    """Offsets that are not copied."""

    returned: Ranges = ()  # they came from the target
    dropped: Ranges = ()  # a transform drops them
    refused: Ranges = ()  # a transform cannot handle them, and the link continues (errors.tolerance)

    def __or__(self, other: LeftOut) -> LeftOut:
        """Both, in order."""
        return LeftOut(*([*mine, *yours] for mine, yours in zip(self, other, strict=True)))


def ranges_of(offsets: Iterable[int]) -> list[tuple[int, int]]:
    """Single offsets in order as ranges."""
    made: list[tuple[int, int]] = []
    for offset in offsets:
        if made and made[-1][1] == offset:
            made[-1] = (made[-1][0], offset + 1)
        else:
            made.append((offset, offset + 1))
    return made


@dataclass
class Tally:
    """Ranges ahead of the position, in order."""

    _ahead: deque[tuple[int, int]] = field(default_factory=deque)

    def add(self, ranges: Ranges, start: int) -> None:
        """Take note of ranges; what lies before `start` was counted when it first came by."""
        self._ahead += ((max(first, start), behind) for first, behind in ranges if behind > start)

    def before(self, position: int) -> int:
        """How many lie before the position that the ledger is about to hear, since the last call."""
        count = 0
        while self._ahead and self._ahead[0][0] < position:
            first, behind = self._ahead.popleft()
            count += min(behind, position) - first
            if behind > position:
                self._ahead.appendleft((position, behind))
        return count
