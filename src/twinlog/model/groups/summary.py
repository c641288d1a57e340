"""Consumer groups, one row each: how many positions have a place on the target, and how much is read again. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from twinlog.model.groups.positions import Standing


class GroupSummary(NamedTuple):
    """One group over all its positions. A number that is not known for one position is unknown for the group."""

    group: str
    topics: int
    positions: int
    in_sync: int  # positions whose place on the target is committed there
    without_place: int
    re_read: int | None
    active_on_target: bool
    ahead: int = 0  # positions where the group on the target has read further by itself, as after a failover

    @property
    def state(self) -> str:
        """One word for people."""
        if self.without_place:
            return "NO PLACE"
        if self.active_on_target:
            return "ACTIVE ON TARGET"
        if self.in_sync == self.positions:
            return "IN SYNC"
        return "AHEAD" if self.in_sync + self.ahead == self.positions else "BEHIND"


def summaries(standings: Iterable[Standing]) -> list[GroupSummary]:
    """Return one row per group, by name. Positions in topics that the link does not mirror do not count."""
    rows: list[GroupSummary] = []
    mirrored = sorted(
        (standing for standing in standings if standing.remote is not None), key=lambda standing: standing.group
    )
    for group, together in groupby(mirrored, key=lambda standing: standing.group):
        own = list(together)
        again = [standing.re_read for standing in own]
        known = [count for count in again if count is not None]
        rows.append(
            GroupSummary(
                group,
                len({standing.source.topic for standing in own}),
                len(own),
                sum(standing.position is not None and standing.position == standing.on_target for standing in own),
                sum(standing.position is None for standing in own),
                sum(known) if len(known) == len(again) else None,
                any(standing.active for standing in own),
                sum(
                    standing.position is not None
                    and standing.on_target is not None
                    and standing.on_target > standing.position
                    for standing in own
                ),
            )
        )
    return rows
