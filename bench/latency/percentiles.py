"""Percentiles by rank: a value that was seen, never one between two."""

from __future__ import annotations

import math
from collections.abc import Iterable

RANKS = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "max": 1.0}


def percentiles(nanoseconds: Iterable[int]) -> dict[str, float]:
    """In milliseconds: the smallest value that so many of all do not exceed."""
    ordered = sorted(nanoseconds)
    if not ordered:
        raise ValueError("nothing was measured")
    return {name: ordered[math.ceil(rank * len(ordered)) - 1] / 1e6 for name, rank in RANKS.items()}
