"""The knee of a measured curve, and how a sweep is told and drawn."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from twinlog.doctor.advice.knee import ENOUGH, Sweep, SweepPoint, knee_of
from twinlog.surface.cli.sweep_view import sweep_svg


def points(*rates: float) -> tuple[SweepPoint, ...]:
    return tuple(SweepPoint(str(2**n), int(rate * 10), int(rate * 10_000), 10, 5, True) for n, rate in enumerate(rates))


def test_the_knee_is_the_first_value_that_is_nearly_the_best():
    found = Sweep("A->B", "tasks.max", points(100, 190, 300, 310, 295))
    assert found.knee is not None
    assert (found.knee.value, found.best.value if found.best else "") == ("4", "8")
    assert found.verdict() == "tasks.max = 4: 300 records/s is 97% of the best (8: 310); more brings little"


def test_a_curve_that_rises_to_its_end_has_its_knee_there():
    assert Sweep("A->B", "x", points(1, 2, 4)).verdict().endswith("is the best of the values that were tried")


def test_where_nothing_was_copied_there_is_no_knee():
    found = Sweep("A->B", "tasks.max", points(0, 0))
    assert (found.knee, found.verdict()) == (None, "nothing was copied: there is no knee")
    assert found.as_json()["points"][0]["remark"].startswith("nothing was copied")
    ET.fromstring(sweep_svg(found))  # noqa: S314  our own


@given(st.lists(st.floats(1, 1e7), min_size=1, max_size=12))
def test_no_value_before_the_knee_is_as_good(rates: list[float]):
    tried = points(*rates)
    knee = knee_of(tried)
    assert knee is not None
    best = max(point.records_per_second for point in tried)
    assert all(point.records_per_second < ENOUGH * best for point in tried[: tried.index(knee)])


def test_the_picture_names_each_value_and_the_knee_once():
    drawn = sweep_svg(Sweep("A->B", "tasks.max", points(100, 190, 300, 310)))
    texts = [one.text or "" for one in ET.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314
    assert texts.count("knee") == 1
    assert {"1", "2", "4", "8", "tasks.max"} <= set(texts)
