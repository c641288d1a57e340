"""Rows of any size pass Spark in pieces of a limited size, and come out as they were."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.flow.parcel import Parcel
from twinlog.flow.pieces import in_pieces, joined
from twinlog.flow.row import FLUSH_ROW, Row, from_arrow, pack, to_arrow, unpack
from twinlog.model.names import TopicPartition

PIECE = 7


def parcel(size: int) -> Parcel:
    return Parcel(TopicPartition("orders", 3), 5, 9, "data", bytes(number % 251 for number in range(size)))


@pytest.mark.proves("R1", "R3")
@given(st.lists(st.one_of(st.just(None), st.lists(st.integers(0, 40), min_size=1, max_size=3)), max_size=12))
def test_rows_come_out_as_they_went_in(shapes: list[list[int] | None]) -> None:
    rows = [FLUSH_ROW if sizes is None else pack([parcel(size) for size in sizes]) for sizes in shapes]
    cut = list(in_pieces(rows, PIECE))
    assert all(len(row.payload) <= PIECE for row in cut)
    through_spark: list[Row] = [row for piece in cut for row in from_arrow(to_arrow(piece))]
    whole = list(joined(through_spark))
    assert [row.head for row in whole] == [row.head for row in rows]
    assert [bytes(row.payload) for row in whole] == [bytes(row.payload) for row in rows]
    for before, after in zip(rows, whole, strict=True):
        assert [bytes(one.payload) for one in unpack(after)] == [bytes(one.payload) for one in unpack(before)]


def test_a_row_of_usual_size_is_not_touched() -> None:
    row = pack([parcel(1 << 20)])
    assert next(in_pieces([row])) is row
    assert next(joined([row])) is row
