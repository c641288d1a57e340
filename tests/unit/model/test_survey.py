"""What links make together: shapes, ways of records, and the cost of each loss."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.config.resolve import load_file
from twinlog.model.names import LinkName
from twinlog.model.naming import ReplicationNaming
from twinlog.model.routes.provenance import Provenance
from twinlog.model.routes.survey import Survey, shape, survey
from twinlog.model.routes.topology import Route, settle
from twinlog.model.selection import Selection
from twinlog.surface.answers.topology import judgements, loss_sentence, survey_of
from twinlog.surface.page.topology_svg import svg_of

EXAMPLES = Path(__file__).parents[3] / "examples"


def links(text: str) -> list[LinkName]:
    return [LinkName(*one.split(">")) for one in text.split()]


def judged(text: str, *, policy: str = "default", topics: tuple[str, ...] = (".*",), rpo: int | None = 5) -> Survey:
    routes = [
        Route(link, ReplicationNaming(policy=policy, source_alias=link.source), Selection(topics), Provenance("batch"))  # type: ignore[arg-type]
        for link in links(text)
    ]
    settled = settle(routes) if policy == "identity" else None
    return survey(settled.routes if settled else routes, dict.fromkeys(links(text), rpo))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a>b", "active/standby: b is the standby of a"),
        ("a>b b>a", "active/active: a and b"),
        ("a>b b>c", "chain: a -> b -> c"),
        ("b>c a>b", "chain: a -> b -> c"),
        ("a>b b>c c>a", "ring: a -> b -> c -> a"),
        ("a>b b>c c>d", "chain: a -> b -> c -> d"),
        ("a>h b>h c>h", "fan-in: h collects from a, b, c"),
        ("h>a h>b", "fan-out: h gives to a, b"),
        ("a>h h>a b>h h>b", "hub and spoke: h with a, b"),
        ("a>b b>a b>c c>b a>c c>a", "full mesh of 3: a, b, c"),
        ("a>b b>a b>c c>b c>d d>c", "two-way chain: a, b, c, d"),
        ("a>b a>c b>d c>d", "several ways between clusters: a, b, c, d"),
        ("a>b b>c b>d d>e", "tree: a, b, c, d, e"),
    ],
)
def test_shapes(text: str, said: str):
    assert shape(links(text)) == said


def test_links_that_have_no_cluster_in_common_are_shapes_of_their_own():
    shapes = judged("a>b c>d").shapes
    assert [one.partition(": ")[2] for one in shapes] == ["b is the standby of a", "d is the standby of c"]


def test_a_chain_depends_on_its_middle_and_adds_objectives_up():
    found = judged("a>b b>c")
    (far,) = [way for way in found.ways if way.at == "c" and way.origin == "a"]
    assert (far.named, far.over, far.hops, far.rpo_seconds) == ("b.a.topic", ("b",), 2, 10)
    middle = next(loss for loss in found.losses if loss.cluster == "b")
    assert middle.cut_off == (("a", "c"),)
    assert "without it these stop: a's records at c" in "\n".join(judgements(found))


def test_the_way_back_is_asked_for_only_where_a_failback_needs_it():
    asked = "a failback needs the way back"
    prefixed = judged("a>b")
    assert asked in "\n".join(judgements(prefixed))
    assert asked not in "\n".join(judgements(replace(prefixed, same_names=frozenset(prefixed.links))))


def test_a_target_that_no_link_copies_has_one_copy():
    found = judged("a>b")
    assert [loss.cluster for loss in found.losses if loss.single] == ["b"]
    assert "everything that was written there is gone" in loss_sentence(found.losses[1])
    assert found.copies_of_a_record == {"a": 2, "b": 1}


def test_an_objective_that_is_missing_is_unknown_not_zero():
    found = judged("a>b", rpo=None)
    assert found.losses[0].rpo_seconds is None
    assert "rpo.seconds is not set" in loss_sentence(found.losses[0])


def test_equal_names_on_both_sides_are_merged_topics_and_prefixes_are_not():
    assert {cluster for cluster, _, _ in judged("a>b b>a", policy="identity").merged} == {"a", "b"}
    assert judged("a>b b>a").merged == ()
    assert judged("a>b", policy="identity").merged == ()


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.properties")), ids=lambda file: file.stem)
def test_every_example_is_judged_and_drawn(file: Path):
    found = survey_of(load_file(file).links)
    assert list(judgements(found))
    root = ET.fromstring(svg_of(found))  # noqa: S314  our own text
    assert len(root.findall("{*}path")) == len(found.links)


_PAIRS = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), min_size=1, max_size=8, unique=True)


@given(_PAIRS.map(lambda pairs: [pair for pair in pairs if pair[0] != pair[1]]).filter(bool))
def test_the_loss_of_a_cluster_never_cuts_more_than_there_was(pairs: list[tuple[str, str]]):
    found = judged(" ".join(f"{a}>{b}" for a, b in pairs))
    arrived = {(way.origin, way.at) for way in found.ways}
    for loss in found.losses:
        assert set(loss.cut_off) <= arrived
        assert all(loss.cluster not in pair for pair in loss.cut_off)
        assert loss.single is not any(origin == loss.cluster for origin, _ in arrived)
    for way in found.ways:
        stops = (way.origin, *way.over, way.at)
        assert all(LinkName(a, b) in found.links for a, b in pairwise(stops))
        assert len(set(stops)) == len(stops)
