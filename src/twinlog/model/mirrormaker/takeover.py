"""Where MirrorMaker 2 really stopped in one partition, found in the data itself. Pure.

Its own word is the last source offset that it noted, every minute. After a crash the target holds more than that, and
after a crash behind a crash some of it twice. So the end of the target is compared with the source, record by record:

    source    · · 50 51 52 53 54 55 56              noted: 50
    target    · · 50 51 52 53 51 52                 it went to 53, crashed, began again at 51, crashed
                                     └▶ resume at 54: nothing is lost and nothing is copied once more

Offset syncs (pairs of offsets of one record) anchor the comparison, so that equal records are not mistaken for each
other. Without one the records of the target must fit into the source at one place only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeAlias

Pair: TypeAlias = tuple[int, int]
"""Source and target offset of the same record."""


class Seen(NamedTuple):
    """One record as it was read: where, and a number that stands for all of its fields."""

    offset: int
    content: int


@dataclass(frozen=True)
class Tails:
    """What was read of one partition on both sides."""

    last: int  # the last source offset that MirrorMaker 2 noted as copied
    source: Sequence[Seen]
    source_start: int  # where the source's log begins now
    source_whole: bool  # `source` reaches to the log's end
    target: Sequence[Seen]  # up to the log's end
    anchors: Sequence[Pair] = ()  # offset syncs, the oldest first; the first that fits counts


@dataclass(frozen=True)
class Continue:
    """Copying continues at source offset `resume`, behind the record that the target ends with."""

    resume: int
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Unchecked:
    """Nothing is left to compare; MirrorMaker 2's word is taken."""

    resume: int
    reason: str


@dataclass(frozen=True)
class Differs:
    """The target is not what MirrorMaker 2 says it is: continuing would lose or double records."""

    problem: str


@dataclass(frozen=True)
class NeedsMore:
    """The comparison ran out of source records; more of them must be read."""


Verdict: TypeAlias = Continue | Unchecked | Differs | NeedsMore


class _Walk(NamedTuple):
    """A way of the target's records through the source's."""

    reached: int  # index behind the highest source record that is on the target
    rewinds: int
    short: bool  # it left the source records that were read


def judge(tails: Tails) -> Verdict:
    """Find the place behind the last record on the target."""
    if not tails.target:
        return Unchecked(tails.last + 1, "the target holds no record any more")
    walks = [walk for start, skip in _starts(tails) if (walk := _walk(tails, start, skip)) is not None]
    fewest = min((walk.rewinds for walk in walks), default=0)
    best = [walk for walk in walks if walk.rewinds == fewest]
    if any(walk.short for walk in best) and not tails.source_whole:
        return NeedsMore()
    reached = {tails.source[walk.reached - 1].offset + 1 for walk in best if walk.reached}
    if len(reached) == 1:
        return Continue(reached.pop(), _remarks(tails, min(best)))
    if len(reached) > 1:
        places = ", ".join(str(place - 1) for place in sorted(reached)[:3])
        return Differs(f"the target's last record fits to several source offsets ({places} ...): all look alike")
    if not tails.source_whole:
        return NeedsMore()
    if not any(seen.offset == tails.last for seen in tails.source):
        return Unchecked(tails.last + 1, f"the source deleted offset {tails.last}, which MirrorMaker 2 copied last")
    end = tails.target[-1].offset
    return Differs(f"the record at target offset {end} is not the one that MirrorMaker 2 copied last ({tails.last})")


def choose_anchors(pairs: Sequence[Pair], last: int, target_end: int, limit: int) -> list[Pair]:
    """The offset syncs from which the comparison may begin, `limit` records before the end at most.

    MirrorMaker 2 writes one for the first record after each start. Where the target grew by more than the source, it
    may have crashed and copied again, so the comparison must begin before that; otherwise the newest one before its
    noted offset is near enough.
    """
    near = [(up, down) for up, down in pairs if target_end - limit <= down < target_end and up >= last - limit]
    if any(later[1] - earlier[1] > later[0] - earlier[0] for earlier, later in pairwise(near)):
        return near
    before = [pair for pair in near if pair[0] <= last]
    return before[-1:] or near[:1]


def _anchored(tails: Tails) -> tuple[dict[int, int], bool]:
    """Index in the target -> index in the source of every anchor that holds, and whether any could be tried."""
    here = {seen.offset: index for index, seen in enumerate(tails.source)}
    there = {seen.offset: index for index, seen in enumerate(tails.target)}
    tried = [(here[up], there[down]) for up, down in tails.anchors if up in here and down in there]
    holds = {down: up for up, down in tried if tails.source[up].content == tails.target[down].content}
    return holds, bool(tried)


def _starts(tails: Tails) -> Iterable[tuple[int, int]]:
    """Where the comparison may begin: (index in the source, index in the target)."""
    holds, tried = _anchored(tails)
    if tried:
        return [(holds[first], first)] if (first := min(holds, default=-1)) >= 0 else []
    # When the source forgot its older records, those of the target begin before those of the source.
    cut = not tails.source or tails.source[0].offset <= tails.source_start
    for skip in range(len(tails.target) if cut else 1):
        content = tails.target[skip].content
        fitting = [(index, skip) for index, seen in enumerate(tails.source) if seen.content == content]
        if fitting:
            return fitting
    return []


def _walk(tails: Tails, start: int, skip: int) -> _Walk | None:
    """Follow the target's records through the source's; None when one of them does not fit."""
    source, target = tails.source, tails.target
    holds, _ = _anchored(tails)
    at = reached = start
    rewinds = 0
    for index in range(skip, len(target)):
        record = target[index]
        # Where an anchor knows the place, equal records cannot mislead.
        if (known := holds.get(index, at)) != at:
            rewinds += known < at
            at = known
        if at < len(source) and source[at].content == record.content:
            at += 1
        elif at >= len(source) and not tails.source_whole:
            return _Walk(reached, rewinds, short=True)
        elif index > skip and _hole(target, index) and (ahead := _find(source, record, range(at, len(source)))) >= 0:
            at = ahead + 1  # the target compacted away what lay between
        elif (back := _find(source, record, range(min(at, len(source)) - 1, -1, -1))) >= 0:
            at, rewinds = back + 1, rewinds + 1
        elif 0 < at < len(source) and _hole(source, at):
            continue  # the source compacted this one away
        else:
            return None
        reached = max(reached, at)
    return _Walk(reached, rewinds, short=False)


def _hole(records: Sequence[Seen], index: int) -> bool:
    return records[index].offset > records[index - 1].offset + 1


def _find(source: Sequence[Seen], record: Seen, places: range) -> int:
    return next((index for index in places if source[index].content == record.content), -1)


def _remarks(tails: Tails, walk: _Walk) -> tuple[str, ...]:
    remarks: list[str] = []
    resume = tails.source[walk.reached - 1].offset + 1
    more = resume - tails.last - 1
    if more > 0:
        remarks.append(f"the target holds {more} source offsets more than MirrorMaker 2 noted ({tails.last})")
    if more < 0:
        remarks.append(f"the target lost the copies of {resume}..{tails.last}; they are copied again")
    if walk.rewinds:
        remarks.append("MirrorMaker 2 copied some of the last records more than once; that stays as it is")
    return tuple(remarks)
