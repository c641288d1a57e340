"""Which clusters lie upstream of this one, read from the names of the heartbeats topics that arrived. Pure.

A.B.heartbeats here: the heartbeats of B came by way of A, so A is one hop away and B two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from twinlog.model.naming import ReplicationNaming


def sources_of(topic: str, naming: ReplicationNaming) -> Iterator[str]:
    """The clusters that a topic passed, the nearest first; ends where the name begins to repeat itself."""
    seen: set[str] = set()
    name: str | None = topic
    while name is not None and (source := naming.topic_source(name)) is not None and source not in seen:
        seen.add(source)
        yield source
        name = naming.upstream_topic(name)


def upstream_clusters(topics: Iterable[str], naming: ReplicationNaming) -> set[str]:
    """All clusters from which something arrives here, directly or not."""
    return {source for topic in topics if naming.is_heartbeats(topic) for source in sources_of(topic, naming)}


def replication_hops(topics: Iterable[str], alias: str, naming: ReplicationNaming) -> int | None:
    """How many links lie between a cluster and this one on the shortest way; None when nothing arrives from there."""
    ways = (list(sources_of(topic, naming)) for topic in topics if naming.is_heartbeats(topic))
    return min((way.index(alias) + 1 for way in ways if alias in way), default=None)
