"""Times of a crontab line: minute, hour, day of month, month, day of week. Pure; times are UTC.

As in cron, a day fits when the day of the month or the day of the week does, if both are given.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

_FIELDS: Final = (("minute", 0, 59), ("hour", 0, 23), ("day of month", 1, 31), ("month", 1, 12), ("day of week", 0, 7))
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_SHORT: Final = {
    "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}  # fmt: skip
_PART: Final = re.compile(r"(?:(\*)|(\w+)(?:-(\w+))?)(?:/(\d+))?")
_LONGEST: Final = timedelta(days=8 * 366)
"""February 29 can be eight years away."""


@dataclass(frozen=True)
class Cron:
    """One line of a crontab."""

    text: str
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]  # 0 is Sunday
    either_day: bool  # both kinds of days are given: one of them is enough

    @classmethod
    def parse(cls, text: str) -> Cron:
        """Read a line. Raises ValueError with what is wrong."""
        parts = _SHORT.get(text.strip().lower(), text).split()
        if len(parts) != len(_FIELDS):
            raise ValueError("must be five fields (minute hour day month weekday), or one of " + ", ".join(_SHORT))
        minutes, hours, days, months, weekdays = (
            _numbers(part, *facts) for part, facts in zip(parts, _FIELDS, strict=True)
        )
        weekdays = frozenset(day % 7 for day in weekdays)
        either = not parts[2].startswith("*") and not parts[4].startswith("*")
        made = cls(text.strip(), minutes, hours, days, months, weekdays, either)
        if made.next_after(datetime(2000, 1, 1, tzinfo=UTC)) is None:
            raise ValueError("no day is like that")
        return made

    def next_after(self, at: datetime) -> datetime | None:
        """The first time behind `at`; None when there is none."""
        now = at.astimezone(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
        last = now + _LONGEST
        while now < last:
            if now.month not in self.months or not self._is_day(now):
                now = now.replace(hour=0, minute=0) + timedelta(days=1)
            elif now.hour not in self.hours:
                now = now.replace(minute=0) + timedelta(hours=1)
            elif now.minute not in self.minutes:
                now += timedelta(minutes=1)
            else:
                return now
        return None

    def _is_day(self, now: datetime) -> bool:
        of_month, of_week = now.day in self.days, (now.weekday() + 1) % 7 in self.weekdays
        return of_month or of_week if self.either_day else of_month and of_week


def _numbers(text: str, name: str, low: int, high: int) -> frozenset[int]:
    numbers: set[int] = set()
    for part in text.lower().split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise ValueError(f"{name}: {part!r} is no number, range or step")
        star, first, last, step = match.groups()
        begin = low if star else _number(first, name, low, high)
        end = high if star or (step and not last) else begin if last is None else _number(last, name, low, high)
        if end < begin or step == "0":
            raise ValueError(f"{name}: {part!r} holds nothing")
        numbers |= set(range(begin, end + 1, int(step or 1)))
    return frozenset(numbers)


def _number(text: str, name: str, low: int, high: int) -> int:
    names = {"month": _MONTHS, "day of week": _DAYS}.get(name, ())
    number = names.index(text[:3]) + low if text[:3] in names else int(text) if text.isdecimal() else -1
    if not low <= number <= high:
        raise ValueError(f"{name}: {text} is not between {low} and {high}")
    return number
