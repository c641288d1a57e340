"""Long lists, a page at a time: filter, sort and cut happen here, so that ten thousand rows cost a browser nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Generic, Literal, TypeVar

from fastapi import Query
from pydantic import BaseModel, Field

from twinlog.errors import UsageError

Row = TypeVar("Row", bound=BaseModel)
MOST: Final = 1000
# Bad rows first, when sorted by state: that is what somebody looks for.
_STATES: Final = ("FAULTED", "STOP", "STALL", "REWIND", "WARNING", "OK")


class Wish(BaseModel):
    """Which part of a list is wanted."""

    filter: str = Field("", max_length=249, description="Only rows whose name contains this, in any case.")
    state: str = Field("", max_length=20, description="Only rows in this state; `bad` means any but OK.")
    sort: str = Field("", max_length=40, description="A field of the rows. Unknown numbers sort as the largest.")
    order: Literal["asc", "desc"] = "asc"
    offset: int = Field(0, ge=0, le=10_000_000)
    limit: int = Field(100, ge=1, le=MOST)


TheWish = Annotated[Wish, Query()]


@dataclass(frozen=True)
class Part(Generic[Row]):
    """The rows of one page, and how many there are in all."""

    rows: list[Row]
    matching: int
    total: int


def part_of(
    rows: Sequence[Row],
    wish: Wish,
    name: Callable[[Row], str],
    state: Callable[[Row], str],
    sortable: Sequence[str],
) -> Part[Row]:
    """Cut one page out of a list. Raises UsageError for a field that rows cannot be sorted by."""
    chosen = list(rows)
    if wish.filter:
        needle = wish.filter.casefold()
        chosen = [row for row in chosen if needle in name(row).casefold()]
    if wish.state:
        chosen = [row for row in chosen if state(row) == wish.state or (wish.state == "bad" and state(row) != "OK")]
    if wish.sort:
        if wish.sort not in sortable:
            raise UsageError(f"sort={wish.sort}: rows are sorted by {', '.join(sortable)}")
        chosen.sort(key=lambda row: _rank(wish.sort, getattr(row, wish.sort)), reverse=wish.order == "desc")
    return Part(chosen[wish.offset : wish.offset + wish.limit], len(chosen), len(rows))


def _rank(field: str, value: Any) -> tuple[int, Any]:
    if field in {"state", "movement"}:
        return (0, _STATES.index(value) if value in _STATES else len(_STATES))
    if value is None:
        return (1, 0)
    return (0, value.casefold() if isinstance(value, str) else value)
