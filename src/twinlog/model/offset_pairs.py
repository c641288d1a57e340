"""Pairs of offsets of one record, as MirrorMaker 2's offset syncs hold them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from twinlog.model.ledger import PartitionState, SealedRuns


class Pair(NamedTuple):
    """One record on both sides."""

    upstream: int
    downstream: int


def newest_pair(state: PartitionState, sealed: Mapping[int, SealedRuns]) -> Pair | None:
    """The last record that was copied; None when there is none yet."""
    rows = state.runs
    if not rows:
        mine = [part for part in sealed.values() if part.incarnation == state.incarnation and part.runs]
        rows = max(mine, key=lambda part: part.first).runs if mine else []
    if not rows:
        return None
    source, target, length, source_step, target_step, times = rows[-1]
    back = length - 1
    return Pair(source + (times - 1) * source_step + back, target + (times - 1) * target_step + back)


def pair_is_due(pair: Pair, told: Pair | None, lag_max: int, *, stands_still: bool) -> bool:
    """Far enough from the last one told of this topic, or the partition stands still and this is its last word."""
    if told is None:
        return True
    return pair.upstream > told.upstream and (pair.downstream - told.downstream > lag_max or stands_still)
