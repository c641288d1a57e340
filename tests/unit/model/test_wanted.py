"""An expression that chooses nothing is an error with the nearest names, in every command that takes one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.errors import SelectionEmpty, UsageError
from twinlog.model.wanted import Wanted

NAMES = st.lists(st.text("abc.-", min_size=1, max_size=6), max_size=6)


def test_a_name_that_matches_nothing_is_refused_with_the_nearest_names() -> None:
    with pytest.raises(SelectionEmpty) as refused:
        Wanted("--topics", "ordres").among(["payments", "orders", "orders-eu"], "the topics that east->west mirrors")
    assert str(refused.value) == (
        "--topics ordres: matches none of the topics that east->west mirrors; nearest: orders, orders-eu"
    )


def test_without_a_near_name_those_that_exist_are_shown_and_none_is_said() -> None:
    with pytest.raises(SelectionEmpty, match="there are: a, b, c and 1 more"):
        Wanted("--topics", "zzz").among(["d", "c", "b", "a"], "topics")
    with pytest.raises(SelectionEmpty, match="there are none"):
        Wanted("--topics").among([], "topics")


def test_a_wrong_expression_is_a_wrong_command() -> None:
    with pytest.raises(UsageError, match=r"--topics orders\["):
        Wanted("--topics", "orders[")


@given(NAMES, st.sampled_from(["a.*", "b", "[ab]+", None]))
def test_something_is_chosen_or_it_is_an_error(names: list[str], expression: str | None) -> None:
    wanted = Wanted("--topics", expression)
    if any(wanted(name) for name in names):
        assert wanted.among(names, "topics") == sorted({name for name in names if wanted(name)})
    else:
        with pytest.raises(SelectionEmpty):
            wanted.among(names, "topics")
