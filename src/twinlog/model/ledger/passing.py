"""How far a link may move past records that came from its own target. Pure.

    log of the source  ──────here═══════════╪══════position────▶
                             └ written by the opposite link ┘

A link that stood still finds in its source what the opposite link wrote there meanwhile: nothing of it goes home. Its
engine leaves these records out by their producer ids, as long as they are there. Retention may have deleted them, and
then they would look like records that were never copied. The opposite link's map knows better.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from twinlog.model.ledger.runs import Run, uncovered


class Passed(NamedTuple):
    """Where a link continues. `gaps` before it are deleted, and the map does not say that they came from the target."""

    position: int
    gaps: tuple[tuple[int, int], ...] = ()


def pass_own(here: int, end: int, log_start: int, runs: Sequence[Run], mapped_from: int) -> Passed:
    """The first offset at or behind `here` that must be read.

    The opposite link wrote up to `end` at most, from `mapped_from` on. Parts of its map are dropped when both logs have
    deleted what they speak of, so what is deleted before its first run came from it; what is still there is read.
    """
    end = max(here, end)
    dropped = min(max(here, mapped_from), log_start), min(log_start, runs[0].target) if runs else 0
    foreign = [
        (max(first, dropped[1]) if dropped[0] <= first < dropped[1] else first, after)
        for first, after in ((here, min(mapped_from, end)), *uncovered(runs, max(here, mapped_from), end))
    ]
    foreign = [(first, after) for first, after in foreign if first < after]
    there = [max(first, log_start) for first, after in foreign if after > log_start]
    position = max(log_start, there[0] if there else end)
    gaps = [(first, min(after, log_start)) for first, after in foreign if first < log_start]
    if log_start > end:
        gaps.append((end, log_start))
    return Passed(position, tuple(gaps))
