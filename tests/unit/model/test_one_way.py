"""Schemas go to a cluster from one other cluster only, and never round."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.names import LinkName
from twinlog.model.routes.one_way import one_way_links

CLUSTERS = "ABCD"
LINKS = [LinkName(a, b) for a, b in itertools.permutations(CLUSTERS, 2)]


def test_of_both_directions_the_first_is_taken() -> None:
    assert one_way_links([], [LinkName("A", "B"), LinkName("B", "A")]) == {LinkName("A", "B")}
    assert one_way_links([LinkName("B", "A")], [LinkName("A", "B")]) == {LinkName("B", "A")}


def test_a_full_mesh_gets_all_from_the_first_cluster() -> None:
    mesh = [LinkName(a, b) for a, b in itertools.permutations("ABC", 2)]
    assert one_way_links([], mesh) == {LinkName("A", "B"), LinkName("A", "C")}


@given(st.lists(st.sampled_from(LINKS), unique=True), st.lists(st.sampled_from(LINKS), unique=True))
def test_every_cluster_has_one_origin_at_most_and_nothing_goes_round(
    wanted: list[LinkName], possible: list[LinkName]
) -> None:
    chosen = one_way_links(wanted, possible)
    origin = {link.target: link.source for link in chosen}
    assert len(origin) == len(chosen)
    for start in CLUSTERS:
        seen = [start]
        while seen[-1] in origin:
            seen.append(origin[seen[-1]])
            assert len(seen) <= len(CLUSTERS)
