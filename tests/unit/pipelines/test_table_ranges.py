"""Comparing tables: ranges cover every key once, values of all databases are comparable, every difference is named."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.pipelines.table_ranges import KeyRange, comparable, differences, digest, ranges, rows_by_key


@given(st.integers(-1000, 1000), st.integers(0, 500), st.integers(1, 40), st.integers(-5000, 5000))
def test_every_key_is_in_one_range(low: int, more: int, parts: int, key: int) -> None:
    found = ranges(low, low + more, parts)
    assert len(found) <= parts
    inside = [
        one for one in found if (one.low is None or key >= one.low) and (one.high is None or key <= one.high)
    ]  # fmt: skip
    assert len(inside) == 1


def test_an_empty_table_is_one_range() -> None:
    assert ranges(None, None, 8) == [KeyRange(None, None)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Decimal("1.50"), 1.5), (True, 1), (Decimal(100), 100), (0, Decimal("0.00")), (Decimal("-0.10"), -0.1),
        (datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), 1_000_000), (date(1970, 1, 3), 2), (time(0, 0, 1), 1000),
        (b"\x01", "0x01"),
    ],
)  # fmt: skip
def test_equal_values_of_different_types_are_equal(one: Any, other: Any) -> None:
    assert comparable(one) == comparable(other)


def test_null_is_no_text() -> None:
    assert comparable(None) is None
    assert comparable("None") == "None"


ROWS = st.dictionaries(
    st.text("ab", max_size=2), st.tuples(st.one_of(st.none(), st.text("xy", max_size=1))), max_size=6
)


@given(ROWS, ROWS)
def test_every_difference_is_named_and_nothing_else(source: Any, target: Any) -> None:
    found = {(one.kind, one.key) for one in differences(source, target, ["c"])}
    want = {("missing", key) for key in source.keys() - target.keys()}
    want |= {("extra", key) for key in target.keys() - source.keys()}
    want |= {("different", key) for key in source.keys() & target.keys() if source[key] != target[key]}
    assert found == want
    assert (digest(source) == digest(target)) is (not want)


def test_a_key_that_names_several_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="id=1 names several rows"):
        rows_by_key([{"id": 1, "n": "a"}, {"id": 1, "n": "b"}], "id", ["id", "n"])
