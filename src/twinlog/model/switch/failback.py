"""Where a group continues when it returns to the old primary, after a failback with the same names. Pure.

    old primary    [ common ........ | tail | returned ....... ]      tail: never copied before the cut
    other side     [ common ........ | born there ... (tail) ... ]    (tail): appended there by the failback, if it was

A position is an offset to read next. What a group has read on the other side is everything before its position there;
what it has read of the tail it may also have read on the old primary before the cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from twinlog.model.ledger.translation import AtOrBefore, Exact, Translation


class Map(Protocol):
    """A PartitionMap, as far as it is needed here."""

    def to_target(self, position: int, /) -> Translation:
        """From the source of the link to its target."""

    def to_source(self, position: int, /) -> Translation:
        """And back."""


@dataclass(frozen=True)
class Cut:
    """Where one partition was cut: the common part ends here on both sides, and the tail on the old primary there."""

    source: int
    target: int
    tail_end: int

    @property
    def has_tail(self) -> bool:
        """Whether anything was never copied."""
        return self.tail_end > self.source


@dataclass(frozen=True)
class Return:
    """A position on the old primary. `again` are offsets of the other side that are read a second time."""

    offset: int | None
    again: int = 0
    why: str = ""


def place_back(
    position: int, cut: Cut, forward: Map, back: Map | None, *, appended: bool, read_before: int | None
) -> Return:
    """Translate a position on the other side. `read_before` is what the group had committed on the old primary.

    Nothing unread is skipped (R5). With an appended tail that the group has read on neither side it must go back to the
    tail, and reads again what was born on the other side; with a tail that is only kept there is nothing to go back to,
    because the operator chose to deal with its export.
    """
    if position < cut.target:
        translation = forward.to_source(position)
        if isinstance(translation, Exact | AtOrBefore):
            return Return(min(translation.offset, cut.source))
        return Return(None, why=translation.reason)
    behind = _behind(position, cut, back)
    if not cut.has_tail or not appended or (read_before or 0) >= cut.tail_end:
        return behind
    after_tail = forward.to_target(cut.tail_end)
    if isinstance(after_tail, Exact) and position >= after_tail.offset:
        return behind
    again = max(0, position - cut.target)
    why = f"it had not read the tail {cut.source}..{cut.tail_end - 1}, which lies before what it read since"
    return Return(max(cut.source, read_before or 0), again, why)


def before_stray(returned: Return, stray: int | None, read_before: int | None) -> Return:
    """The same position, but not behind a record that was written to the old primary while the failback copied (R5).

    `stray` is the offset of the first such record. The group has not read it on the other side, where it is not.
    """
    if stray is None or returned.offset is None or returned.offset <= stray or (read_before or 0) > stray:
        return returned
    why = f"it has not read offset {stray}, which was written there while the failback copied"
    return Return(stray, returned.again + returned.offset - stray - 1, why)


def _behind(position: int, cut: Cut, back: Map | None) -> Return:
    """Behind the common part: where the next record that was born on the other side lies now."""
    if back is None:
        return Return(cut.tail_end)
    translation = back.to_target(position)
    if isinstance(translation, Exact | AtOrBefore):
        return Return(max(translation.offset, cut.tail_end))
    return Return(cut.tail_end, why=translation.reason)
