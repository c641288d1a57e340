"""The links along which a topic is copied that each cluster may get from one other cluster only. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from twinlog.model.names import LinkName


def one_way_links(wanted: Iterable[LinkName], possible: Iterable[LinkName]) -> frozenset[LinkName]:
    """The wanted links, then of the possible ones the first into each cluster. What would go round is left out."""
    chosen: dict[str, str] = {}  # target -> source
    for link in (*wanted, *possible):
        if link.target not in chosen and not _leads(chosen, link.target, link.source):
            chosen[link.target] = link.source
    return frozenset(LinkName(source, target) for target, source in chosen.items())


def _leads(chosen: dict[str, str], first: str, last: str) -> bool:
    """Whether what starts at one cluster arrives at another."""
    at: str | None = last
    while at is not None:
        if at == first:
            return True
        at = chosen.get(at)
    return False
