"""Translating a position in a log that two links write into, one from each side, under the same name. Pure.

    A   a0 a1 a2 a3 │ t0 t1          a: born on A, t: born on T
    T   a0 a1 │ t0 │ a2 a3 │ t1      a group that continues at t0 on T has read a0 and a1

The map of T->A knows where t0 and t1 lie on A. It knows nothing of a2 and a3, which the link leaves out because they
came from there: they are in the map of A->T. A position must lie before the first unread record of both kinds (R5).
"""

from __future__ import annotations

from twinlog.model.ledger.partition_map import PartitionMap
from twinlog.model.ledger.translation import AtOrBefore, Exact, Translation, Untranslatable


def to_target_both_ways(position: int, forth: PartitionMap, back: PartitionMap) -> Translation:
    """Where a reader of the source continues in the target. `back` is the map of the link that leads the other way."""
    there = forth.to_target(position)
    if isinstance(there, Untranslatable):
        return there
    unread = _first_of_target(position, forth, back)
    if there.offset <= unread.offset:
        return there
    # Copies behind that place have perhaps been read: where there are any, it is no exact place.
    return AtOrBefore(unread.offset) if forth.run_at_target(unread.offset) is not None else unread


def _first_of_target(position: int, forth: PartitionMap, back: PartitionMap) -> Exact | AtOrBefore:
    """The first offset of the target that holds a record of its own which lies on the source at or behind `position`.

    Also where such a record may come to lie: what the other link has not noted yet is taken for unread.
    """
    came = back.to_source(position)
    place = back.span.source_first if isinstance(came, Untranslatable) else came.offset
    # What lies there may be our own copies: the other link leaves them out, and notes that only when it runs.
    while (run := forth.run_at_target(place)) is not None and run.target <= place:
        place = run.target_end
    return AtOrBefore(place) if isinstance(came, AtOrBefore) else Exact(place)
