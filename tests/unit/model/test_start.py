import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.start import AtGroup, AtTime, Earliest, Latest, parse_start


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("earliest", Earliest()),
        (" Latest ", Latest()),
        ("2026-01-31T08:00:00Z", AtTime(1769846400000)),
        ("2026-01-31T08:00:00", AtTime(1769846400000)),
        ("2026-01-31T09:00:00+01:00", AtTime(1769846400000)),
        ("2026-01-31T08:00:00.250Z", AtTime(1769846400250)),
        ("2026-01-31", AtTime(1769817600000)),
        ("1769846400000", AtTime(1769846400000)),
    ],
)
def test_a_start_is_a_word_or_a_time(text, start):
    assert parse_start(text) == start


@pytest.mark.parametrize("text", ["", "newest", "none", "-5", "31.01.2026", "2026-02-30T00:00:00Z", "9" * 16])
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match=r".*"):
        parse_start(text)


def test_seconds_are_refused_because_they_would_mean_1970():
    with pytest.raises(ValueError, match="milliseconds"):
        parse_start("1769846400")


@given(st.integers(10**10, 253_402_300_799_999))
def test_a_time_reads_back_as_itself(ms):
    assert parse_start(str(AtTime(ms))) == AtTime(ms)


def test_a_group_of_the_source_is_a_start():
    assert parse_start("group:my group") == AtGroup("my group")
    assert parse_start(str(AtGroup("g"))) == AtGroup("g")
    with pytest.raises(ValueError, match=r".*"):
        parse_start("group:")
