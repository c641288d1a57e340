"""Parked records: what their headers tell, and which of them are open."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.pipelines.parked import ACTION, ERRORS, PLACE, Place, sorted_out
from twinlog.pipelines.sinks.jdbc.postgresql import of_content


@dataclass
class Letter:
    """A record as the client gives it."""

    at: tuple[int, int]
    held: list[tuple[str, bytes | None]]
    data: bytes | None = b"v"

    def headers(self) -> list[tuple[str, bytes | None]]:
        return self.held

    def partition(self) -> int:
        return self.at[0]

    def offset(self) -> int:
        return self.at[1]

    def key(self) -> bytes | None:
        return b"k"

    def value(self) -> bytes | None:
        return self.data

    def timestamp(self) -> tuple[int, int]:
        return 1, 5


def letter(offset: int) -> Letter:
    told = {"topic": "orders", "partition": "3", "offset": str(offset), "stage": "TASK_PUT", "exception.message": "no"}
    held: list[tuple[str, bytes | None]] = [("own", b"1"), *[(ERRORS + k, v.encode()) for k, v in told.items()]]
    return Letter((0, offset), held)


def receipt(offset: int, action: str, of: int) -> Letter:
    return Letter((0, offset), [(PLACE, f"0:{of}".encode()), (ACTION, action.encode())], None)


def test_a_letter_tells_where_it_came_from_and_why() -> None:
    (one,) = sorted_out([letter(4)])
    assert (one.origin, one.reason, one.action) == ("orders-3 offset 4", "TASK_PUT: no", "open")
    assert one.headers == (("own", b"1"),)
    (silent,) = sorted_out([Letter((0, 1), [])])
    assert (silent.origin, silent.reason.partition(":")[0]) == ("", "unknown")


@given(st.lists(st.sampled_from(["open", "replayed", "dropped"]), max_size=20))
def test_receipts_close_their_letters_and_no_others(wishes: list[str]) -> None:
    letters = [letter(n) for n in range(len(wishes))]
    receipts = [receipt(100 + n, wish, n) for n, wish in enumerate(wishes) if wish != "open"]
    found = sorted_out([*letters, *receipts])
    assert [(one.place, one.action) for one in found] == [(Place(0, n), wish) for n, wish in enumerate(wishes)]


def test_a_place_is_two_numbers() -> None:
    assert Place.parse("3:17") == Place(3, 17)
    assert str(Place(3, 17)) == "3:17"
    with pytest.raises(ValueError, match="invalid literal"):
        Place.parse("here")


@pytest.mark.parametrize(
    ("state", "is_content"),
    [
        ("22001", True), ("23505", True), ("P0001", True), ("42P01", False), ("42501", False), ("53100", False),
        (None, False),
    ],
)  # fmt: skip
def test_a_missing_table_or_right_is_no_fault_of_a_row(state: str | None, is_content: bool) -> None:
    assert of_content(state) is is_content
