"""What differs between a record and its copy, in words that name the place and show no content (R12). Pure.

    oddities, as they are met          explained: where did the record go?
    source 57 / target 57 differ       57 missing: its place holds the record of source offset 58
    source 58 / target 58 differ  ──▶  58..99 (42 records) moved: each lies one place before its own
    source 99 has no target 99

Rows of the same kind become one difference: a thousand shifted records are one line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

Headers: TypeAlias = Sequence[tuple[str, bytes | None]]
Content: TypeAlias = tuple[int, bytes | None, bytes | None, Headers]
"""Timestamp, key, value, headers: all that a consumer sees of a record besides its place."""


class Kind(StrEnum):
    """How a copy can be wrong."""

    MISSING = "missing"  # the source has it, the target does not
    CHANGED = "changed"  # at its place lies something else that is no other record of the source either
    MOVED = "moved"  # it is on the target, but not at its place: the order is wrong, or the ledger is
    EXTRA = "extra"  # the target has it, the source does not
    UNREADABLE = "unreadable"  # a batch that cannot be decoded


@dataclass(frozen=True)
class Difference:
    """One difference, or several of the same kind in a row (`count`), beginning at these offsets."""

    kind: Kind
    source: int | None
    target: int | None
    what: str
    count: int = 1
    shift: int | None = None  # of a moved record: so many places behind its own

    def __str__(self) -> str:
        places = [f"{side} {_range(first, self.count)}" for side, first in self._places() if first is not None]
        return f"{' / '.join(places)}: {self.kind}: {self.what}"

    def _places(self) -> tuple[tuple[str, int | None], tuple[str, int | None]]:
        return ("source", self.source), ("target", self.target)

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": str(self.kind),
            "source_offset": self.source,
            "target_offset": self.target,
            "records": self.count,
            "what": self.what,
        }


class Oddity(NamedTuple):
    """Something that did not match, as it was met. A print is equal for equal contents, within one process."""

    source: int | None
    target: int | None  # where the record is, or should be
    source_print: int | None
    target_print: int | None
    what: str


def explain(oddities: Sequence[Oddity]) -> list[Difference]:
    """Name each oddity: a record that turns up elsewhere moved, a place that holds another one is taken."""
    on_target = {odd.target_print: odd.target for odd in reversed(oddities) if odd.target_print is not None}
    on_source = {odd.source_print: odd.source for odd in reversed(oddities) if odd.source_print is not None}
    differences: list[Difference] = []
    for odd in oddities:
        if odd.source_print is None:
            if odd.target_print is None:
                differences.append(Difference(Kind.UNREADABLE, odd.source, odd.target, odd.what))
            elif odd.target_print not in on_source:
                differences.append(Difference(Kind.EXTRA, odd.source, odd.target, odd.what))
            continue  # else it is told where the record is missed
        elsewhere = on_target.get(odd.source_print)
        if elsewhere is not None and elsewhere != odd.target:
            shift = None if odd.target is None else elsewhere - odd.target
            differences.append(Difference(Kind.MOVED, odd.source, odd.target, _moved(elsewhere, shift, 1), shift=shift))
        elif odd.target_print is None:
            differences.append(Difference(Kind.MISSING, odd.source, odd.target, odd.what))
        elif (other := on_source.get(odd.target_print)) is not None and other != odd.source:
            what = f"its place holds the record of source offset {other}"
            differences.append(Difference(Kind.MISSING, odd.source, odd.target, what))
        else:
            differences.append(Difference(Kind.CHANGED, odd.source, odd.target, odd.what))
    return grouped(differences)


def grouped(differences: Iterable[Difference]) -> list[Difference]:
    """Rows of the same kind, one behind the other, as one."""
    groups: list[Difference] = []
    for difference in differences:
        last = groups[-1] if groups else None
        if last is not None and _continues(last, difference):
            count = last.count + difference.count
            groups[-1] = replace(last, count=count, what=_moved(-1, last.shift, count) if last.shift else last.what)
        else:
            groups.append(difference)
    return groups


def _continues(last: Difference, difference: Difference) -> bool:
    if last.kind != difference.kind or last.kind is Kind.CHANGED or last.shift != difference.shift:
        return False
    if last.kind is Kind.MOVED:
        if last.shift is None:
            return False
    elif last.what != difference.what:
        return False
    return _follows(last.source, difference.source, last.count) and _follows(last.target, difference.target, last.count)


def _follows(last: int | None, offset: int | None, count: int) -> bool:
    return last is offset is None or (last is not None and offset == last + count)


def _moved(elsewhere: int, shift: int | None, count: int) -> str:
    if count == 1 or not shift:
        return f"its record is at target offset {elsewhere}"
    places = f"{abs(shift)} place{'s' if abs(shift) > 1 else ''}"
    return f"each of these records lies {places} {'behind' if shift > 0 else 'before'} its own"


def _range(first: int, count: int) -> str:
    return str(first) if count == 1 else f"{first}..{first + count - 1} ({count} records)"


def describe_change(source: Content, target: Content) -> str:
    """Which fields differ and where, without showing what is in them."""
    changes = []
    if source[0] != target[0]:
        changes.append(f"timestamp is {target[0]}, not {source[0]}")
    for name, at_source, at_target in (("key", source[1], target[1]), ("value", source[2], target[2])):
        if at_source != at_target:
            changes.append(f"{name} {_bytes_change(at_source, at_target)}")
    if list(source[3]) != list(target[3]):
        changes.append(_headers_change(list(source[3]), list(target[3])))
    return "; ".join(changes)


def _bytes_change(at_source: bytes | None, at_target: bytes | None) -> str:
    if at_source is None or at_target is None or len(at_source) != len(at_target):
        return f"is {_size(at_target)}, not {_size(at_source)}"
    at = next(place for place, (left, other) in enumerate(zip(at_source, at_target, strict=True)) if left != other)
    return f"differs from byte {at} of {len(at_source)} on"


def _size(data: bytes | None) -> str:
    if data is None:
        return "null"
    return f"{len(data)} bytes" if data else "empty"


def _headers_change(at_source: list[tuple[str, bytes | None]], at_target: list[tuple[str, bytes | None]]) -> str:
    if len(at_source) != len(at_target):
        lost, added = _without(at_source, at_target), _without(at_target, at_source)
        parts = [f"{verb} {', '.join(names)}" for verb, names in (("lost", lost), ("gained", added)) if names]
        return f"headers: {len(at_target)}, not {len(at_source)} ({'; '.join(parts)})"
    if sorted(at_source, key=repr) == sorted(at_target, key=repr):
        return "headers are in another order"
    at = next(place for place, (left, other) in enumerate(zip(at_source, at_target, strict=True)) if left != other)
    if at_source[at][0] != at_target[at][0]:
        return f"header {at} is called {at_target[at][0]!r}, not {at_source[at][0]!r}"
    return f"header {at} ({at_source[at][0]!r}) {_bytes_change(at_source[at][1], at_target[at][1])}"


def _without(some: list[tuple[str, bytes | None]], others: list[tuple[str, bytes | None]]) -> list[str]:
    left = list(others)
    names = []
    for header in some:
        if header in left:
            left.remove(header)
        else:
            names.append(repr(header[0]))
    return names
