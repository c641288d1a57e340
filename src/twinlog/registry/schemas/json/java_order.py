"""The order in which Java walks over a set of texts. Confluent's messages come in it."""

_SMALLEST = 16


def hash_order(names: list[str]) -> list[str]:
    """Each name once, in the order of a HashSet."""
    distinct = list(dict.fromkeys(names))
    size = _SMALLEST
    while len(distinct) > size * 3 // 4:
        size *= 2
    return sorted(distinct, key=lambda name: _bucket(name, size))


def _bucket(name: str, size: int) -> int:
    hashed = 0
    units = name.encode("utf-16-be", "surrogatepass")
    for place in range(0, len(units), 2):
        hashed = (31 * hashed + (units[place] << 8 | units[place + 1])) & 0xFFFFFFFF
    return (hashed ^ (hashed >> 16)) & (size - 1)
