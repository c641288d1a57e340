"""Judges what the links of a file make together: shapes, ways of records, the cost of each loss. Pure.

One record of each cluster is followed along all links, as `topology.follow` does when the file is checked. From the
copies follow: where a cluster's records also exist, over which clusters they travel, and who is cut off without it.

    hub and spoke     a <-> hub <-> b        chain    a -> b -> c        ring    a -> b -> c -> a
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from twinlog.model.names import LinkName
from twinlog.model.routes.topology import ANY_TOPIC, Copy, Route, is_plain, unescaped


class Way(NamedTuple):
    """A cluster's records on another cluster: the clusters they came through, and the name of the topic there."""

    origin: str
    topic: str
    at: str
    named: str
    over: tuple[str, ...]
    rpo_seconds: int | None

    @property
    def hops(self) -> int:
        """The number of links that the record took."""
        return len(self.over) + 1


@dataclass(frozen=True)
class Loss:
    """What happens when one cluster is lost."""

    cluster: str
    stops: tuple[LinkName, ...]
    kept_at: tuple[str, ...]  # clusters that have the records born at the lost one
    copied: tuple[str, ...]  # patterns of topics that exist elsewhere too
    cut_off: tuple[tuple[str, str], ...]  # (origin, cluster): records that no longer arrive
    rpo_seconds: int | None  # the best objective of a copy; None: no objective is set

    @property
    def single(self) -> bool:
        """Whether nothing that is born there exists anywhere else."""
        return not self.kept_at


@dataclass(frozen=True)
class Survey:
    """All links of a file, judged."""

    clusters: tuple[str, ...]
    links: tuple[LinkName, ...]
    shapes: tuple[str, ...]
    ways: tuple[Way, ...]
    losses: tuple[Loss, ...]
    merged: tuple[tuple[str, str, tuple[str, ...]], ...]  # (cluster, topic, origins): one topic with several writers
    same_names: frozenset[LinkName] = frozenset()  # links whose copies have the names of their originals

    @property
    def copies_of_a_record(self) -> dict[str, int]:
        """How often a record of each cluster is stored, the original included."""
        return {loss.cluster: 1 + len(loss.kept_at) for loss in self.losses}


def survey(routes: Sequence[Route], rpo: Mapping[LinkName, int | None]) -> Survey:
    """Judge the links; `rpo` is the objective of each link in seconds."""
    clusters = tuple(dict.fromkeys(alias for route in routes for alias in route.link))
    ways = tuple(way for origin in clusters for way in _ways(routes, origin, rpo))
    return Survey(
        clusters,
        tuple(route.link for route in routes),
        tuple(shape(part) for part in parts([route.link for route in routes])),
        ways,
        tuple(_loss(cluster, routes, ways, rpo) for cluster in clusters),
        tuple(_merged(routes, clusters)),
        frozenset(route.link for route in routes if route.naming.keeps_names),
    )


def _ways(routes: Sequence[Route], origin: str, rpo: Mapping[LinkName, int | None]) -> Iterable[Way]:
    plain = {unescaped(p) for route in routes for p in route.selection.include if is_plain(p)}
    for topic in [ANY_TOPIC, *sorted(plain)]:
        for copy in _copies(routes, origin, topic, plain=topic in plain):
            stops = (*copy.way, copy.cluster)
            limits = [rpo.get(LinkName(a, b)) for a, b in pairwise(stops)]
            total = sum(limit for limit in limits if limit is not None) if None not in limits else None
            yield Way(origin, topic, copy.cluster, copy.topic, copy.way[1:], total)


def _copies(routes: Sequence[Route], origin: str, topic: str, *, plain: bool) -> list[Copy]:
    start = Copy(origin, topic)
    seen = {(origin, topic): start}
    todo = deque([start])
    while todo:
        copy = todo.popleft()
        for made in filter(None, (route.takes(copy, plain=plain) for route in routes)):
            if (made.cluster, made.topic) not in seen and made.cluster not in made.way:
                seen[made.cluster, made.topic] = made
                todo.append(made)
    return list(seen.values())[1:]


def _loss(cluster: str, routes: Sequence[Route], ways: Sequence[Way], rpo: Mapping[LinkName, int | None]) -> Loss:
    left = [route for route in routes if cluster not in route.link]
    before = {(way.origin, way.at) for way in ways if cluster not in {way.origin, way.at}}
    after = {(way.origin, way.at) for origin in {source for source, _ in before} for way in _ways(left, origin, rpo)}
    own = [way for way in ways if way.origin == cluster]
    limits = [way.rpo_seconds for way in own if way.rpo_seconds is not None]
    return Loss(
        cluster,
        tuple(route.link for route in routes if cluster in route.link),
        tuple(dict.fromkeys(way.at for way in own)),
        tuple(dict.fromkeys(p for route in routes if route.link.source == cluster for p in route.selection.include)),
        tuple(sorted(before - after)),
        min(limits, default=None),
    )


def _merged(routes: Sequence[Route], clusters: Sequence[str]) -> Iterable[tuple[str, str, tuple[str, ...]]]:
    """Yield topics that get records of several clusters: their order is not the order of any one writer."""
    origins: dict[tuple[str, str], list[str]] = {}
    plain = {unescaped(p) for route in routes for p in route.selection.include if is_plain(p)}
    for topic in [ANY_TOPIC, *sorted(plain)]:
        for origin in clusters:
            copies = _copies(routes, origin, topic, plain=topic in plain)
            if copies:  # a cluster whose records are copied is one that is written to
                origins.setdefault((origin, topic), []).append(origin)
            for copy in copies:
                origins.setdefault((copy.cluster, copy.topic), []).append(origin)
    for (cluster, topic), names in origins.items():
        writers = tuple(dict.fromkeys(names))
        if len(writers) > 1:
            yield cluster, topic, writers


def parts(links: Sequence[LinkName]) -> list[tuple[LinkName, ...]]:
    """Return the links in groups that have no cluster in common."""
    groups: list[tuple[set[str], list[LinkName]]] = []
    for link in links:
        ends, members = set(link), [link]
        for group in [group for group in groups if group[0] & ends]:
            groups.remove(group)
            ends |= group[0]
            members = [*group[1], *members]
        groups.append((ends, members))
    return [tuple(members) for _, members in groups]


def shape(links: Sequence[LinkName]) -> str:
    """Name what links that hang together make."""
    clusters = list(dict.fromkeys(alias for link in links for alias in link))
    pairs = set(links)
    two_way = all(LinkName(link.target, link.source) in pairs for link in links)
    named = ", ".join(clusters)
    if len(clusters) == 2:
        a, b = links[0]
        return f"active/active: {a} and {b}" if two_way else f"active/standby: {b} is the standby of {a}"
    if len(pairs) == len(clusters) * (len(clusters) - 1):
        return f"full mesh of {len(clusters)}: {named}"
    hub = next((cluster for cluster in clusters if all(cluster in link for link in links)), None)
    if hub is not None:
        return _hub(hub, links, clusters)
    into = {cluster: sum(link.target == cluster for link in links) for cluster in clusters}
    out = {cluster: sum(link.source == cluster for link in links) for cluster in clusters}
    if all(into[cluster] == out[cluster] == 1 for cluster in clusters):
        return f"ring: {' -> '.join(_walk(links, clusters[0]))}"
    if all(into[cluster] <= 1 and out[cluster] <= 1 for cluster in clusters):
        start = next(cluster for cluster in clusters if not into[cluster])
        return f"chain: {' -> '.join(_walk(links, start))}"
    edges = {frozenset(link) for link in links}
    if len(edges) == len(clusters) - 1:
        ends = {cluster: sum(cluster in edge for edge in edges) for cluster in clusters}
        kind = "two-way chain" if two_way and max(ends.values()) == 2 else "tree"
        return f"{kind}: {named}"
    return f"several ways between clusters: {named}"


def _hub(hub: str, links: Sequence[LinkName], clusters: Sequence[str]) -> str:
    others = ", ".join(cluster for cluster in clusters if cluster != hub)
    if all(link.target == hub for link in links):
        return f"fan-in: {hub} collects from {others}"
    if all(link.source == hub for link in links):
        return f"fan-out: {hub} gives to {others}"
    if len(links) == 2 and len(clusters) == 3 and len({link.source for link in links}) == 2:
        return f"chain: {' -> '.join(_walk(links, next(cluster for cluster, _ in links if cluster != hub)))}"
    return f"hub and spoke: {hub} with {others}"


def _walk(links: Sequence[LinkName], start: str) -> list[str]:
    """Return the clusters in the order of the links, from `start` on."""
    following = dict(links)
    walked = [start]
    while (at := following.get(walked[-1])) is not None:
        walked.append(at)
        if at == start:
            break
    return walked
