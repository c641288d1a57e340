"""Regular expressions in a JSON Schema: Java's syntax, and no expression takes long."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.registry.schemas.json.patterns import check_pattern, matches_part_of
from twinlog.registry.schemas.schema import InvalidSchema, TooComplex


def words(text: str) -> list[str]:
    return text.split(" ")


VALID = words(
    r"[]a] a{1001} \_ \Q(\E \x{41} [a-z&&[^b]] [[:alpha:]] \p{Alpha} \p{L} \pL (?i)a a++ \u0041 \1 (a)\2 (?<=a*)b "
    r"} ] [\d-z] \X \R \h [^]a] ^* $? | () \e \07 \b{g} \b (?>a) (?=a)* \/ \- \@ ä+ \é [a&&] [&&a] \p{IsLatin} \p{Lu} "
    r"\p{javaLowerCase} (?m:a) (?i-s:a) (?-i)a (?<n>a)\k<n> ^(?!x-).*$"
)
INVALID = words(
    r"a{ a{2,1} x{,3} \y \p{Foo} (?P<n>a) (?<n>a)(?<n>b) \k<m> (?z)a a** [b-a] \c \u004 { a{x} [a-\d] \N (? (?: \ [^] "
    r"(?#c) \0 \08 [\b] \i [a a{99999999999} [[a] (?<1a>b) (?<a_b>b) *a ) ( a|*"
)


@pytest.mark.parametrize("pattern", VALID)
def test_java_takes_it(pattern: str) -> None:
    check_pattern(pattern)


@pytest.mark.parametrize("pattern", INVALID)
def test_java_refuses_it(pattern: str) -> None:
    with pytest.raises(InvalidSchema):
        check_pattern(pattern)


def test_a_pattern_is_searched_in_the_name() -> None:
    assert matches_part_of("^a", "ab")
    assert matches_part_of("b", "abc")
    assert not matches_part_of("^b", "ab")
    assert matches_part_of("^(?!x-)", "name")
    assert not matches_part_of("^(?!x-)", "x-name")


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(?=(a+)+$)a", r"(a+)\1+(a|aa)+$", "(.*)*x"])
def test_a_hostile_expression_ends_soon(pattern: str) -> None:
    started = time.monotonic()
    with contextlib.suppress(TooComplex):
        matches_part_of(pattern, "a" * 5000 + "!")
    assert time.monotonic() - started < 1


@given(st.text(max_size=30), st.text(max_size=20))
def test_any_text_is_valid_or_refused(pattern: str, name: str) -> None:
    try:
        check_pattern(pattern)
        matches_part_of(pattern, name)
    except (InvalidSchema, TooComplex):
        return
