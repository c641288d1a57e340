"""Times of a crontab line."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twinlog.model.cron import Cron

AT = datetime(2026, 11, 18, 7, 30, 12, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("* * * * *", "2026-11-18 07:31"),
        ("30 7 * * *", "2026-11-19 07:30"),
        ("*/20 * * * *", "2026-11-18 07:40"),
        ("5-10/5,50 7 * * *", "2026-11-18 07:50"),
        ("0 2 * * *", "2026-11-19 02:00"),
        ("0 2 1 * *", "2026-12-01 02:00"),
        ("0 2 * * sun", "2026-11-22 02:00"),
        ("0 2 * * 7", "2026-11-22 02:00"),
        ("0 2 13 * fri", "2026-11-20 02:00"),
        ("0 0 29 feb *", "2028-02-29 00:00"),
        ("@monthly", "2026-12-01 00:00"),
        ("@hourly", "2026-11-18 08:00"),
    ],
)
def test_the_next_time(text: str, expected: str) -> None:
    found = Cron.parse(text).next_after(AT)
    assert found is not None
    assert f"{found:%Y-%m-%d %H:%M}" == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "five fields"), ("0 2 * *", "five fields"), ("60 * * * *", "minute: 60 is not between 0 and 59"),
        ("0 24 * * *", "hour"), ("0 0 0 * *", "day of month"), ("0 0 * xyz *", "month: xyz"),
        ("a b c d e", "minute"), ("5-1 * * * *", "holds nothing"), ("*/0 * * * *", "holds nothing"),
        ("0 0 31 2 *", "no day"), ("1;2 * * * *", "no number"), ("@reboot", "five fields"),
    ],
)  # fmt: skip
def test_a_wrong_line_is_refused_with_its_reason(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Cron.parse(text)


@settings(max_examples=60, deadline=None)
@given(
    st.sets(st.integers(0, 59), min_size=1, max_size=3), st.sets(st.integers(0, 23), min_size=1, max_size=2),
    st.sets(st.integers(0, 6), min_size=1), st.integers(0, 60 * 24 * 400),
)  # fmt: skip
def test_it_is_the_first_minute_that_fits(minutes: set[int], hours: set[int], days: set[int], later: int) -> None:
    text = " ".join([*(",".join(map(str, sorted(some))) for some in (minutes, hours)), "* *", ",".join(map(str, days))])
    at = AT + timedelta(minutes=later)

    def fits(when: datetime) -> bool:
        return when.minute in minutes and when.hour in hours and when.isoweekday() % 7 in days

    first = at.replace(second=0) + timedelta(minutes=1)
    expected = next(when for n in range(8 * 1440) if fits(when := first + timedelta(minutes=n)))
    assert Cron.parse(text).next_after(at) == expected
