"""How Spark hands rows to a Python writer: in groups of a fixed size. Pure."""

from __future__ import annotations


def empty_rows(sent: int, size: int) -> int:
    """How many empty rows push all rows through: they end the last group, and one more follows.

    The JVM looks one row ahead, so a group is passed on when the row behind it has come.
    """
    return -sent % size + 1
