"""What becomes of a copy whose source topic was deleted. Pure; decided in the settings, used by the topic sync."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_DELETE_AFTER = re.compile(r"delete-after\s+([0-9]{1,10})\s*([smhd])")


@dataclass(frozen=True)
class IgnoreDeletion:
    """The copy stays, and nothing is said."""

    def __str__(self) -> str:
        return "ignore"


@dataclass(frozen=True)
class ReportDeletion:
    """The copy stays, and the status shows that its source is gone."""

    def __str__(self) -> str:
        return "report"


@dataclass(frozen=True)
class DeleteAfter:
    """The copy is deleted when its source has been gone for so long."""

    seconds: int

    def __str__(self) -> str:
        unit = next(unit for unit in "dhms" if self.seconds % _SECONDS[unit] == 0)
        return f"delete-after {self.seconds // _SECONDS[unit]}{unit}"


TopicDeletion: TypeAlias = IgnoreDeletion | ReportDeletion | DeleteAfter

DELETIONS_ALLOWED = "ignore, report, or delete-after with a duration (`delete-after 7d`; s, m, h and d are units)"


def parse_deletion(text: str) -> TopicDeletion:
    """Read what an operator writes; raises ValueError. A bare `delete-after` is refused: nobody guesses a delay."""
    word = text.strip().lower()
    match word:
        case "ignore":
            return IgnoreDeletion()
        case "report":
            return ReportDeletion()
    matched = _DELETE_AFTER.fullmatch(word)
    if matched is None:
        msg = f"{word!r} is not a way to treat deleted topics"
        raise ValueError(msg)
    return DeleteAfter(int(matched.group(1)) * _SECONDS[matched.group(2)])
