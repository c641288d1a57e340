"""Whether something that follows a log gets on: a partition of a link, or a group. Pure, and without thresholds.

The words and the rules are those of Burrow, over a window of observations:

    REWIND   the position went back
    STOP     it has something left to read, and nobody is there to read it
    STALL    somebody is there, and the position does not move
    WARNING  it moves, but what is left to read never became less
    OK       everything else; above all: there was nothing left at some moment of the window
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, Literal, NamedTuple, TypeAlias

Movement: TypeAlias = Literal["OK", "WARNING", "STALL", "STOP", "REWIND"]
WORST_FIRST: Final[tuple[Movement, ...]] = ("STOP", "STALL", "REWIND", "WARNING", "OK")
WINDOW: Final = 10
"""Observations that count. With one every ten seconds a judgement needs less than two minutes."""
ENOUGH: Final = 3
"""Fewer observations than this prove nothing."""


class Seen(NamedTuple):
    """One observation. `lag` None: the end of the log is not known."""

    position: int
    lag: int | None
    alive: bool = True


def movement(window: Sequence[Seen]) -> Movement:
    """Judge a window, oldest first."""
    if any(later.position < earlier.position for earlier, later in pairwise(window)):
        return "REWIND"
    known = [seen for seen in window if seen.lag is not None]
    if len(known) < ENOUGH or any(seen.lag == 0 for seen in known):
        return "OK"
    if not window[-1].alive:
        return "STOP"
    lags = [seen.lag or 0 for seen in known]
    falls = any(later < earlier for earlier, later in pairwise(lags))
    if falls:
        return "OK"
    return "STALL" if window[-1].position == window[0].position else "WARNING"


def worst(movements: Sequence[Movement]) -> Movement:
    """The worst of several."""
    return min(movements, key=WORST_FIRST.index, default="OK")
