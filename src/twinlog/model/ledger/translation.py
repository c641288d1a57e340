"""Translating a position from one cluster to the other, exactly. Pure.

A position is the offset to read next. Its translation must never skip an unread record and should re-read nothing (R5):
the translation of position P is the place of the first copied record at or behind P; when everything before P is copied
and nothing behind it, it is the mirrored end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from twinlog.model.ledger.runs import Run, RunMap


@dataclass(frozen=True)
class Exact:
    """Reading from `offset` skips nothing and re-reads nothing."""

    offset: int


@dataclass(frozen=True)
class AtOrBefore:
    """Reading from `offset` skips nothing. From the ledger: the position is not copied yet, this is the mirrored end.

    From MirrorMaker 2's samples: the record lies there or behind, so some may be read again.
    """

    offset: int


@dataclass(frozen=True)
class Untranslatable:
    """The ledger does not reach that far."""

    reason: str


Translation: TypeAlias = Exact | AtOrBefore | Untranslatable


@dataclass(frozen=True)
class Span:
    """What the ledger covers of one partition: where it begins and ends on both sides."""

    source_first: int
    target_first: int
    source_next: int
    target_next: int


def to_target(position: int, span: Span, maps: Iterable[RunMap]) -> Translation:
    """Translate a source position. `maps` are parts of the map in order, from one that does not begin behind it."""
    if position < span.source_first:
        return Untranslatable(f"offset {position} lies before {span.source_first}, where the ledger begins")
    if position > span.source_next:
        return AtOrBefore(span.target_next)
    run = _first(position, maps, by_target=False)
    if run is None:
        return Exact(span.target_next)
    return Exact(run.target + max(0, position - run.source))


def to_source(position: int, span: Span, maps: Iterable[RunMap]) -> Translation:
    """Translate a target position back."""
    if position < span.target_first:
        return Untranslatable(f"offset {position} lies before {span.target_first}, where the ledger begins")
    if position > span.target_next:
        return AtOrBefore(span.source_next)
    run = _first(position, maps, by_target=True)
    if run is None:
        return Exact(span.source_next)
    return Exact(run.source + max(0, position - run.target))


def _first(position: int, maps: Iterable[RunMap], *, by_target: bool) -> Run | None:
    return next((run for chunk in maps if (run := chunk.first_at_or_behind(position, by_target=by_target))), None)
