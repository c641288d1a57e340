"""Which topologies bring records home or twice: one record of each cluster is followed along all links of a file. Pure.

With the names of the default policy nothing can go round. With equal names the rules of `model.provenance` stop it,
and they see different things: a batch tells its last hop, a header all hops. So not every topology can have both "never
twice" and "everywhere":

    two-way pairs, chains, hubs (a tree)    batch, relay all: each link leaves out what came from its target
    full mesh                               batch, relay none: each link copies what was born at its source
    ring                                    header: only the way a record took tells where it was born

`settle` picks the relay rule and says what is wrong when none fits; the settings refuse such a file.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple, TypeAlias

from twinlog.model.names import LinkName
from twinlog.model.naming import ReplicationNaming
from twinlog.model.routes.provenance import ClusterIds, Hop, Mode, Provenance, Relay, WriterNote
from twinlog.model.selection import Selection
from twinlog.model.transforms import FieldMask

ANY_TOPIC: Final = "topic"
"""Stands for whatever a link's patterns select beyond plain names."""
_PLAIN_NAME: Final = re.compile(r"(?:[A-Za-z0-9_-]|\\\.)+")

Trouble: TypeAlias = Literal["comes home", "arrives twice", "is missing"]


@dataclass(frozen=True)
class Route:
    """What matters of a link for the way of a record. Aliases stand for cluster ids here."""

    link: LinkName
    naming: ReplicationNaming
    selection: Selection
    provenance: Provenance
    auto: bool = True  # the relay rule is ours to choose
    masks: tuple[FieldMask, ...] = ()  # by residency rules

    def takes(self, copy: Copy, *, plain: bool) -> Copy | None:
        """The copy that this link makes of a copy, if any. `plain`: the topic is a name of the file."""
        link = self.link
        if copy.cluster != link.source or not self._selects(copy.topic, plain=plain):
            return None
        if self.naming.is_cycle(copy.topic, link.source, link.target):
            return None
        remote = self.naming.remote(link.source, copy.topic)
        ends = ClusterIds(*link)
        if copy.way and self.provenance.leaves_out(WriterNote(0, "", copy.way[-1]), ends, exempt=False):
            return None
        marks = copy.marks
        if self.provenance.mode == "header":
            if self.provenance.comes_home(marks, ends, remote):
                return None
            marks = (*marks, Hop(link.source, copy.topic, 0))
        return Copy(link.target, remote, (*copy.way, link.source), marks)

    def _selects(self, topic: str, *, plain: bool) -> bool:
        return self.selection.matches(topic) if plain else any(not is_plain(p) for p in self.selection.include)


class Copy(NamedTuple):
    """A record at one place: the clusters it came through, and the headers it carries."""

    cluster: str
    topic: str
    way: tuple[str, ...] = ()
    marks: tuple[Hop, ...] = ()


class Fault(NamedTuple):
    """What is wrong with the way of one cluster's records."""

    trouble: Trouble
    origin: str
    at: str
    ways: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        shown = " and ".join("->".join(way) for way in self.ways)
        match self.trouble:
            case "comes home":
                return f"records would come back to {self.at} where they have been ({shown})"
            case "arrives twice":
                return f"records of {self.origin} would arrive at {self.at} twice ({shown})"
            case "is missing":
                return f"records of {self.origin} would not reach {self.at}"


@dataclass(frozen=True)
class Settled:
    """The routes with their relay rules, and what is wrong with them, if anything: fault and way out."""

    routes: tuple[Route, ...]
    fault: Fault | None = None
    remedy: str = ""


def settle(routes: Sequence[Route]) -> Settled:
    """Choose, for links that hang together, the relay rule that brings every record everywhere once, or say why not."""
    settled: list[Route] = []
    for part in _connected(routes):
        chosen = _settle(part)
        if chosen.fault is not None:
            return Settled(tuple(routes), chosen.fault, chosen.remedy)
        settled += chosen.routes
    return Settled(tuple(settled))


def _settle(routes: tuple[Route, ...]) -> Settled:
    fault = first_fault(routes)
    if fault is None:
        return Settled(routes)
    if any(_chooses(route) for route in routes):
        alone = tuple(_with(route, "batch", "none") if _chooses(route) else route for route in routes)
        missing = first_fault(alone)
        if missing is None:
            return Settled(alone)
        fault = missing
    return Settled(routes, fault, _remedy(routes))


def first_fault(routes: Sequence[Route]) -> Fault | None:
    """Follow a record of each cluster, for each name in the selections and for what patterns select."""
    plain = {unescaped(p) for route in routes for p in route.selection.include if is_plain(p)}
    clusters = list(dict.fromkeys(alias for route in routes for alias in route.link))
    for topic in [ANY_TOPIC, *sorted(plain)]:
        for origin in clusters:
            fault = follow(routes, origin, topic, plain=topic in plain)
            if fault is not None:
                return fault
    return None


def follow(routes: Sequence[Route], origin: str, topic: str, *, plain: bool = False) -> Fault | None:
    """Follow a record that is born at `origin`; every copy is followed once, so that this ends."""
    start = Copy(origin, topic)
    seen: dict[tuple[str, str], Copy] = {(origin, topic): start}
    todo = deque([start])
    while todo:
        copy = todo.popleft()
        for made in filter(None, (route.takes(copy, plain=plain) for route in routes)):
            way = (*made.way, made.cluster)
            if made.cluster in made.way:
                return Fault("comes home", origin, made.cluster, (way,))
            before = seen.get((made.cluster, made.topic))
            if before is not None:
                return Fault("arrives twice", origin, made.cluster, ((*before.way, before.cluster), way))
            seen[made.cluster, made.topic] = made
            todo.append(made)
    # Where a route was told by the operator what to relay, what he leaves out is not missing.
    if all(route.auto for route in routes):
        for cluster in _reachable(routes, origin, topic, plain=plain):
            if not any(at == cluster for at, _ in seen):
                return Fault("is missing", origin, cluster, ())
    return None


def _reachable(routes: Sequence[Route], origin: str, topic: str, *, plain: bool) -> Collection[str]:
    """The clusters that a record gets to when nothing is left out."""
    free = [replace(route, provenance=Provenance()) for route in routes]
    reached = {origin: Copy(origin, topic)}
    todo = deque(reached.values())
    while todo:
        copy = todo.popleft()
        for made in filter(None, (route.takes(copy, plain=plain) for route in free)):
            if made.cluster not in reached:
                reached[made.cluster] = made
                todo.append(made)
    return reached


def _connected(routes: Sequence[Route]) -> list[tuple[Route, ...]]:
    """The links in groups that have no cluster in common."""
    groups: list[tuple[set[str], list[Route]]] = []
    for route in routes:
        ends, members = set(route.link), [route]
        for group in [group for group in groups if group[0] & ends]:
            groups.remove(group)
            ends |= group[0]
            members = [*group[1], *members]
        groups.append((ends, members))
    return [tuple(members) for _, members in groups]


def _chooses(route: Route) -> bool:
    return route.auto and route.provenance.mode == "batch"


def _with(route: Route, mode: Mode, relay: Relay) -> Route:
    return replace(route, auto=True, provenance=replace(route.provenance, mode=mode, relay=relay))


def _remedy(routes: tuple[Route, ...]) -> str:
    """What would do, found by trying it."""
    same = [route for route in routes if route.naming.policy == "identity"]
    trials: tuple[tuple[Mode, Relay, str], ...] = (
        ("batch", "all", "remove provenance.mode, provenance.relay and provenance.header.enable"),
        ("batch", "none", "remove provenance.mode, provenance.relay and provenance.header.enable"),
        ("header", "all", "a batch tells only its last hop, so set provenance.header.enable = true"),
    )
    for mode, relay, sentence in trials:
        if first_fault([_with(route, mode, relay) if route in same else route for route in routes]) is None:
            return f"{sentence} for {', '.join(str(route.link) for route in same)}"
    return "there is more than one way between two clusters: remove a link, or link every cluster with every other"


def is_plain(pattern: str) -> bool:
    """Whether a pattern is the name of one topic."""
    return _PLAIN_NAME.fullmatch(pattern) is not None


def unescaped(pattern: str) -> str:
    """Return the name that a plain pattern stands for."""
    return pattern.replace("\\.", ".")
