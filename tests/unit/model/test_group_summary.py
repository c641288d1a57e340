"""One row per group: unknown stays unknown, and what has no place is told."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.groups.observed import GroupPosition
from twinlog.model.groups.positions import Remark, Standing
from twinlog.model.groups.summary import summaries
from twinlog.model.ledger.translation import Exact
from twinlog.model.names import TopicPartition


def standing(group: str, number: int, position: int | None, on_target: int | None, **more: object) -> Standing:
    source = TopicPartition("orders", number)
    return Standing(group, source, GroupPosition(10), source, Exact(10), position, on_target, **more)  # type: ignore[arg-type]


def test_a_group_in_sync_reads_nothing_again():
    (row,) = summaries([standing("billing", 0, 10, 10), standing("billing", 1, 7, 7)])
    assert (row.state, row.positions, row.in_sync, row.re_read) == ("IN SYNC", 2, 2, 0)


def test_one_unknown_position_makes_the_sum_unknown():
    (row,) = summaries([standing("a", 0, 10, 5), standing("a", 1, 10, None)])
    assert (row.re_read, row.state) == (None, "BEHIND")


def test_a_position_without_a_place_is_the_worst():
    rows = summaries([standing("b", 0, None, None, remark=Remark.UNTRANSLATED), standing("a", 0, 10, 4)])
    assert [(row.group, row.state) for row in rows] == [("a", "BEHIND"), ("b", "NO PLACE")]
    assert rows[0].re_read == 6


def test_a_group_that_read_further_on_the_target_is_ahead_and_not_behind():
    (row,) = summaries([standing("a", 0, 10, 10), standing("a", 1, 10, 25)])
    assert (row.state, row.in_sync, row.ahead, row.re_read) == ("AHEAD", 1, 1, 0)
    (mixed,) = summaries([standing("a", 0, 10, 4), standing("a", 1, 10, 25)])
    assert mixed.state == "BEHIND"


_OFFSETS = st.none() | st.integers(0, 1000)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9), _OFFSETS, _OFFSETS), max_size=20))
def test_every_position_is_in_exactly_one_row(found: list[tuple[str, int, int | None, int | None]]):
    rows = summaries(standing(*one) for one in found)
    assert sum(row.positions for row in rows) == len(found)
    assert len({row.group for row in rows}) == len(rows)
    for row in rows:
        assert row.in_sync + row.without_place <= row.positions
        assert row.re_read is None or row.re_read >= 0
