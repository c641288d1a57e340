"""Whether two canonical texts say the same: the order of properties and of aliases means nothing in Avro. Pure."""

import json
from typing import Any


def is_equal(text: str, other: str) -> bool:
    """Whether the texts differ in nothing but the order of members and aliases."""
    if len(text) != len(other) or sorted(text) != sorted(other):
        return False
    return bool(_read(text) == _read(other))


def _read(text: str) -> Any:
    # Numbers stay texts: for Java 1 and 1.0 are two values, and so are 1 and true.
    return json.loads(text, object_pairs_hook=_members, parse_int=_Number, parse_float=_Number)


class _Number(str):
    """A number as it is written; never equal to a text."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Number) and str.__eq__(self, other)

    __hash__ = str.__hash__


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: _unordered(value) if name == "aliases" else value for name, value in pairs}


def _unordered(aliases: Any) -> Any:
    return frozenset(aliases) if isinstance(aliases, list) and all(isinstance(a, str) for a in aliases) else aliases
