"""Which worker of a group runs which connector. Pure.

    connectors ─┐
    members ────┼─▶ deal ─▶ every connector at one member, numbers differ by one at most, as few moves as possible
    before ─────┘

A member that comes gets connectors of those that have most. A member that goes leaves its connectors to those that have
fewest. No other connector moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def deal(
    connectors: Iterable[str], members: Iterable[str], before: Mapping[str, Iterable[str]]
) -> dict[str, tuple[str, ...]]:
    """Return the connectors of each member. The same arguments give the same answer, whatever their order."""
    names, there = sorted(set(connectors)), sorted(set(members))
    if not there:
        return {}
    wanted = set(names)
    kept: dict[str, list[str]] = {}
    for member in there:
        kept[member] = sorted(wanted.intersection(before.get(member, ())))
        wanted.difference_update(kept[member])
    share, more = divmod(len(names), len(there))
    # Those that have most keep one more: so no connector moves that need not.
    by_size = sorted(there, key=lambda member: -len(kept[member]))
    places = {member: share + int(place < more) for place, member in enumerate(by_size)}
    free = sorted(wanted.union(*(kept[member][places[member] :] for member in there)))
    dealt = {member: kept[member][: places[member]] for member in there}
    for name in free:
        fewest = min((member for member in there if len(dealt[member]) < places[member]), key=lambda m: len(dealt[m]))
        dealt[fewest].append(name)
    return {member: tuple(sorted(its)) for member, its in dealt.items()}
