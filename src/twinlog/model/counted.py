"""A number of things in words: 1 topic, 2 topics. Pure."""

from __future__ import annotations


def counted(number: int, thing: str) -> str:
    """Return the number with its thing, in the plural where there is not exactly one."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
