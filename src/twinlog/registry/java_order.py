"""The order in which Java prints things: text by UTF-16 units, and a ConcurrentHashMap by its table.

Pure. Clients do not depend on the second one; answers that are compared byte by byte with Confluent's do.
"""

from collections.abc import Iterable
from typing import Final

_LEAST_TABLE: Final = 16
_MOST_SORTED: Final = 4096
"""Above this the cost is not worth the likeness."""


def by_units(text: str) -> bytes:
    """A key for sorting: Java compares UTF-16 units, Python code points. They differ beyond U+FFFF only."""
    return text.encode("utf-16-be", "surrogatepass")


def in_table_order(names: Iterable[str]) -> list[str]:
    """Names as a ConcurrentHashMap that was filled in this order lists them."""
    known = list(names)
    if not 1 < len(known) <= _MOST_SORTED:
        return known
    table = _LEAST_TABLE
    while len(known) >= table * 3 // 4:
        table *= 2
    return sorted(known, key=lambda name: _spread(_hash(name)) & (table - 1))


def _hash(text: str) -> int:
    value = 0
    data = by_units(text)
    for at in range(0, len(data), 2):
        value = (31 * value + (data[at] << 8 | data[at + 1])) & 0xFFFFFFFF
    return value


def _spread(value: int) -> int:
    return (value ^ (value >> 16)) & 0x7FFFFFFF
