"""Pairs of offsets of one record, as MirrorMaker 2's offset syncs hold them. Pure."""

from __future__ import annotations

from typing import NamedTuple

from twinlog.model.ledger.map_parts import Parts
from twinlog.model.ledger.packed_runs import edges_of
from twinlog.model.ledger.records import PartitionState


class Pair(NamedTuple):
    """One record on both sides."""

    upstream: int
    downstream: int


def newest_pair(state: PartitionState, sealed: Parts | None) -> Pair | None:
    """The last record that was copied; None when there is none yet."""
    edges = edges_of(state.open_map)
    if edges is None and sealed is not None and sealed.incarnation == state.incarnation:
        own = sealed.before(state.map_first)
        edges = edges_of(own.data(len(own) - 1)) if own else None
    return Pair(edges.last_source, edges.last_target) if edges is not None else None


def pair_is_due(pair: Pair, told: Pair | None, lag_max: int, *, stands_still: bool) -> bool:
    """Far enough from the last one told of this topic, or the partition stands still and this is its last word."""
    if told is None:
        return True
    return pair.upstream > told.upstream and (pair.downstream - told.downstream > lag_max or stands_still)
