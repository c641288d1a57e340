"""The orders in which Java walks over texts and numbers: by UTF-16 units, a HashSet, a ConcurrentHashMap. Pure.

Confluent's messages and lists come in them. Clients do not depend on that; answers that are compared byte by byte do.
"""

from collections.abc import Iterable
from typing import Final, TypeVar

Item = TypeVar("Item", str, int)
_SMALLEST: Final = 16
_MOST_SORTED: Final = 4096
"""Above this the cost of the order of a ConcurrentHashMap is not worth the likeness."""


def by_units(text: str) -> bytes:
    """A key for sorting: Java compares UTF-16 units, Python code points. They differ beyond U+FFFF only."""
    return text.encode("utf-16-be", "surrogatepass")


def hash_order(items: list[Item]) -> list[Item]:
    """Each item once, in the order of a HashSet, which grows when it is more than three quarters full."""
    distinct = list(dict.fromkeys(items))
    size = _SMALLEST
    while len(distinct) > size * 3 // 4:
        size *= 2
    return sorted(distinct, key=lambda item: _spread(item) & (size - 1))


def in_table_order(names: Iterable[str]) -> list[str]:
    """Names in the order of a ConcurrentHashMap, which grows when it is three quarters full."""
    known = list(names)
    if not 1 < len(known) <= _MOST_SORTED:
        return known
    size = _SMALLEST
    while len(known) >= size * 3 // 4:
        size *= 2
    return sorted(known, key=lambda name: _spread(name) & (size - 1))


def _spread(item: str | int) -> int:
    hashed = item & 0xFFFFFFFF if isinstance(item, int) else _hash(item)
    return hashed ^ (hashed >> 16)


def _hash(text: str) -> int:
    hashed = 0
    units = by_units(text)
    for place in range(0, len(units), 2):
        hashed = (31 * hashed + (units[place] << 8 | units[place + 1])) & 0xFFFFFFFF
    return hashed
