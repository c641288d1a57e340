"""Topologies: what `settle` allows is tried with records that travel link by link until nothing moves any more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.names import LinkName
from twinlog.model.naming import ReplicationNaming
from twinlog.model.routes.provenance import ClusterIds, Hop, Mode, Provenance, WriterNote
from twinlog.model.routes.topology import Route, settle
from twinlog.model.selection import Selection

EVERYTHING = Selection((".*",))


def route(link: str, mode: Mode = "batch", *, topics: Selection = EVERYTHING, **naming: str) -> Route:
    name = LinkName.parse(link)
    wishes = {"policy": "identity", "source_alias": name.source, **naming}
    return Route(name, ReplicationNaming(**wishes), topics, Provenance(mode))  # type: ignore[arg-type]


def ring(mode: Mode, clusters: str = "ABC") -> list[Route]:
    return [route(f"{a}->{b}", mode) for a, b in zip(clusters, clusters[1:] + clusters[0], strict=True)]


def mesh(mode: Mode, clusters: str = "ABC") -> list[Route]:
    return [route(f"{a}->{b}", mode) for a, b in permutations(clusters, 2)]


class Log:
    """What lies in the topics of one cluster: (topic, birth place, producer id of the last hop, headers)."""

    def __init__(self) -> None:
        self.records: list[tuple[str, str, int, tuple[Hop, ...]]] = []


def run(routes: Sequence[Route], topic: str, limit: int = 400) -> dict[str, Counter[tuple[str, str]]] | None:
    """Each cluster gets one record; every link copies by the rules of the data path. None: it does not end."""
    logs = {alias: Log() for one in routes for alias in one.link}
    for alias, log in logs.items():
        log.records.append((topic, alias, -1, ()))
    writers = {100 + n: WriterNote(100 + n, str(one.link), one.link.source) for n, one in enumerate(routes)}
    read = [0] * len(routes)
    moved = True
    while moved:
        moved = False
        for number, one in enumerate(routes):
            source, target = logs[one.link.source].records, logs[one.link.target].records
            while read[number] < len(source):
                name, born, producer, marks = source[read[number]]
                read[number] += 1
                moved = True
                made = copied(one, name, writers.get(producer), marks)
                if made is not None:
                    target.append((made[0], born, 100 + number, made[1]))
                if len(target) > limit:
                    return None
    return {alias: Counter((name, born) for name, born, _, _ in log.records) for alias, log in logs.items()}


def copied(
    one: Route, name: str, writer: WriterNote | None, marks: tuple[Hop, ...]
) -> tuple[str, tuple[Hop, ...]] | None:
    ends = ClusterIds(*one.link)
    if one.naming.is_cycle(name, *one.link) or not one.selection.matches(name):
        return None
    remote = one.naming.remote(one.link.source, name)
    if writer is not None and one.provenance.leaves_out(writer, ends, exempt=False):
        return None
    if one.provenance.mode == "header":
        if one.provenance.comes_home(marks, ends, remote):
            return None
        marks = (*marks, Hop(one.link.source, name, 1))
    return remote, marks


def reachable(routes: Sequence[Route], origin: str) -> set[str]:
    reached, before = {origin}, 0
    while len(reached) > before:
        before = len(reached)
        reached |= {one.link.target for one in routes if one.link.source in reached}
    return reached


modes = st.sampled_from(["batch", "header", "off"])
links = st.sets(st.sampled_from([f"{a}->{b}" for a, b in permutations("ABCD", 2)]), min_size=1, max_size=8)


@pytest.mark.proves("R1", "R2")
@given(links, modes)
def test_what_is_allowed_brings_each_record_everywhere_once_and_what_is_refused_does_not(
    names: set[str], mode: Mode
) -> None:
    routes = [route(name, mode) for name in sorted(names)]
    settled = settle(routes)
    found = run(settled.routes, "orders")
    if settled.fault is None:
        assert found is not None
        for origin in found:
            for cluster in reachable(routes, origin):
                assert found[cluster]["orders", origin] == 1
    else:
        assert settled.remedy
        complete = found is not None and all(
            found[cluster]["orders", origin] == 1 for origin in found for cluster in reachable(routes, origin)
        )
        assert not complete


@given(links)
def test_names_with_prefixes_need_no_provenance(names: set[str]) -> None:
    routes = [route(name, "off", policy="default") for name in sorted(names)]
    assert settle(routes).fault is None
    found = run(routes, "orders", limit=10_000)
    assert found is not None
    assert all(count == 1 for counts in found.values() for count in counts.values())


@pytest.mark.parametrize(
    ("routes", "relay"),
    [
        ([route("A->B"), route("B->A")], "all"),
        ([route("A->B"), route("B->C")], "all"),
        ([route("A->H"), route("H->A"), route("B->H"), route("H->B")], "all"),
        (mesh("batch"), "none"),
        (mesh("batch", "ABCD"), "none"),
        (ring("header"), "all"),
        (ring("header", "ABCD"), "all"),
    ],
)
def test_the_relay_rule_follows_from_the_topology(routes: list[Route], relay: str) -> None:
    settled = settle(routes)
    assert settled.fault is None
    assert {one.provenance.relay for one in settled.routes} == {relay}


@pytest.mark.parametrize(
    ("routes", "fault", "remedy"),
    [
        ([route("A->B", "off"), route("B->A", "off")], "come back to A where they have been (A->B->A)", "remove prov"),
        ([route("A->B", "header"), route("B->A", "batch")], "come back to B", "remove prov"),
        (ring("batch"), "records of A would not reach C", "provenance.header.enable = true for A->B, B->C, C->A"),
        (ring("off"), "come back", "provenance.header.enable"),
        (mesh("header"), "arrive at C twice (A->C and A->B->C)", "remove provenance.mode"),
        ([route("A->B"), route("A->C"), route("B->D"), route("C->D")], "not reach D", "remove a link"),
    ],
)
def test_what_would_loop_is_refused_with_the_way_and_the_way_out(routes: list[Route], fault: str, remedy: str) -> None:
    settled = settle(routes)
    assert fault in str(settled.fault)
    assert remedy in settled.remedy


def test_links_that_do_not_hang_together_are_settled_apart() -> None:
    settled = settle([*mesh("batch"), route("D->E"), route("E->F")])
    assert settled.fault is None
    relays = {str(one.link): one.provenance.relay for one in settled.routes}
    assert (relays["A->B"], relays["D->E"]) == ("none", "all")


def test_a_ring_of_different_topics_is_no_ring() -> None:
    topics = [Selection((name,)) for name in ("orders", "payments", "prices")]
    routes = [replace(one, selection=selection) for one, selection in zip(ring("off"), topics, strict=True)]
    assert settle(routes).fault is None
    same = [replace(one, selection=Selection(("orders", r"a\.b"))) for one in ring("off")]
    assert "come back" in str(settle(same).fault)


def test_the_operators_word_about_relaying_is_kept() -> None:
    told = [replace(one, auto=False, provenance=Provenance("batch", "none")) for one in ring("batch")]
    assert settle(told).fault is None
    told = [replace(one, auto=False, provenance=Provenance("batch", "all")) for one in ring("batch")]
    assert "come back" in str(settle(told).fault)


def test_a_rename_both_ways_ends_at_the_names() -> None:
    there = route("A->B", "off", rename_format="${topic}.copy", opposite_format="${topic}.copy")
    back = route("B->A", "off", rename_format="${topic}.copy", opposite_format="${topic}.copy")
    assert settle([there, back]).fault is None
    blind = [replace(one, naming=replace(one.naming, opposite_format="${topic}")) for one in (there, back)]
    assert "come back" in str(settle(blind).fault)
