"""The order in which Java walks over a set of texts or numbers. Confluent's messages come in it."""

from typing import TypeVar

Item = TypeVar("Item", str, int)
_SMALLEST = 16


def hash_order(items: list[Item]) -> list[Item]:
    """Each item once, in the order of a HashSet."""
    distinct = list(dict.fromkeys(items))
    size = _SMALLEST
    while len(distinct) > size * 3 // 4:
        size *= 2
    return sorted(distinct, key=lambda item: _bucket(item, size))


def _bucket(item: str | int, size: int) -> int:
    hashed = item & 0xFFFFFFFF if isinstance(item, int) else _text_hash(item)
    return (hashed ^ (hashed >> 16)) & (size - 1)


def _text_hash(text: str) -> int:
    hashed = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for place in range(0, len(units), 2):
        hashed = (31 * hashed + (units[place] << 8 | units[place + 1])) & 0xFFFFFFFF
    return hashed
