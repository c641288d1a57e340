"""The offset map of one partition in rows that a person can read: `twinlog explain map`. Needs no running engine."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from twinlog.ledger.reading import look_at_ledger
from twinlog.model.ledger.runs import Stretch
from twinlog.model.names import TopicPartition
from twinlog.sync.ends import LinkEnds


@dataclass(frozen=True)
class MapListing:
    """Some rows of a map, and what all of it covers."""

    link: str
    says: str
    rows: tuple[Stretch, ...] = ()
    more: bool = False
    parts: int = 0  # sealed ones
    bytes: int = 0  # of all parts, in the ledger


async def list_map(ends: LinkEnds, asked: TopicPartition, first: int, limit: int) -> MapListing:
    """The rows of a partition's map that hold source offsets from `first` on."""
    link = ends.link
    view = await look_at_ledger(link.clients.target_consumer, link.source, part=asked)
    known = view.map_of(asked) if view is not None else None
    if view is None or known is None:
        return MapListing(link.name, f"the ledger has nothing of {asked}")
    span = known.span
    stretches = (
        stretch
        for part in known.parts_from(first)
        for stretch in part.as_stretches()
        if stretch.run(stretch.times - 1).source_end > first
    )
    listed = list(islice(stretches, limit + 1))
    sealed = view.parts_of(asked)
    count = len(sealed) if sealed is not None else 0
    size = len(view.states[asked].open_map) + sum(len(sealed.data(n)) for n in range(count)) if sealed else 0
    copied = f"source offsets {span.source_first} to {span.source_next} are copied"
    lies = f"they lie at target offsets {span.target_first} to {span.target_next}"
    says = f"{asked}: {copied}, {lies}; {count} sealed parts and an open one, {size} bytes"
    return MapListing(link.name, says, tuple(listed[:limit]), len(listed) > limit, count, size)
