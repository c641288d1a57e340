"""The judge: reads both clusters and decides R1 (no loss), R2 (no duplicate), R3 (order) and R4 (byte fidelity).

`check_mirror` knows nothing about the load: what a read_committed consumer sees on the source must be what any consumer
sees on the target, record by record. `check_load` asks the records themselves, so it also judges when the source has
meanwhile deleted them.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from tests.kit.load import Load
from tests.kit.logs import Cluster, Isolation, LogRecord, read_fingerprints, read_logs
from tests.kit.records import Damaged, Headers, read_stamp
from tests.kit.verdict import Difference, Kind, Verdict

_SHOWN_BYTES = 60


class _Content(NamedTuple):
    """All of a record but its offset."""

    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp: tuple[int, int]


class _Found(NamedTuple):
    partition: int
    offset: int
    content: _Content


def check_mirror(source: Cluster, target: Cluster, topics: Mapping[str, str]) -> Verdict:
    """Read both clusters completely and compare; `topics` maps source names to target names.

    The target is read twice: nobody may see more or less there by looking at uncommitted records.
    """
    verdict = Verdict()
    for topic, remote in topics.items():
        theirs = read_fingerprints(source, topic, "read_committed")
        for isolation in _ISOLATIONS:
            ours = read_fingerprints(target, remote, isolation)
            suspects = _differing(theirs, ours)
            if suspects:
                verdict += compare_logs(
                    read_logs(source, topic, "read_committed", suspects & theirs.keys()),
                    read_logs(target, remote, isolation, suspects & ours.keys()),
                    f"{topic} ({isolation})",
                )
                break
        sound = theirs.keys() - suspects
        verdict.source_records += sum(len(theirs[partition]) for partition in sound)
        verdict.target_records += sum(len(ours[partition]) for partition in sound)
    return verdict


def check_load(load: Load, target: Cluster, remote: str) -> Verdict:
    """Read the target and ask each record who it is: every acknowledged number once and in order, no other."""
    verdict = Verdict()
    for isolation in _ISOLATIONS:
        verdict = judge_numbers(
            load.seed, load.acknowledged, load.aborted, read_logs(target, remote, isolation), f"{remote} ({isolation})"
        )
        if not verdict.ok:
            break
    return verdict


def compare_logs(
    source: Mapping[int, Sequence[LogRecord]], target: Mapping[int, Sequence[LogRecord]], topic: str = "topic"
) -> Verdict:
    """Compare two sets of logs record by record and give each difference its name."""
    verdict = Verdict(sum(map(len, source.values())), sum(map(len, target.values())))
    missing: list[_Found] = []
    alien: list[_Found] = []
    for partition in sorted(source.keys() | target.keys()):
        gone, new = _compare_partition(
            partition, source.get(partition, ()), target.get(partition, ()), verdict, f"{topic}-{partition}"
        )
        missing += gone
        alien += new
    _name_strangers(missing, alien, verdict, topic)
    return verdict


def judge_numbers(
    seed: int,
    expected: Mapping[int, Sequence[int]],
    aborted: Mapping[int, Collection[int]],
    target: Mapping[int, Sequence[LogRecord]],
    topic: str,
) -> Verdict:
    """Judge logs of self-checking records by the numbers they carry. Numbers stand in for source offsets here."""
    verdict = Verdict(sum(map(len, expected.values())), sum(map(len, target.values())))
    for partition in sorted(expected.keys() | target.keys()):
        where = f"{topic}-{partition}"
        wanted = set(expected.get(partition, ()))
        dropped = aborted.get(partition, ())
        seen: set[int] = set()
        highest = -1
        for record in target.get(partition, ()):
            stamp = read_stamp(record.key, record.value, record.headers, record.timestamp[1])
            if isinstance(stamp, Damaged):
                verdict.add(Difference(Kind.CHANGED, where, None, record.offset, stamp.reason))
                continue
            number = stamp.sequence
            if stamp.partition != partition:
                was = f"it was written to partition {stamp.partition}"
                verdict.add(Difference(Kind.CHANGED, where, number, record.offset, was))
            elif stamp.seed == seed and number in dropped:
                verdict.add(Difference(Kind.ABORTED, where, number, record.offset, "its transaction was aborted"))
            elif stamp.seed != seed or number not in wanted:
                verdict.add(Difference(Kind.FOREIGN, where, number, record.offset, f"{stamp} is not of this load"))
            elif number in seen:
                verdict.add(Difference(Kind.DUPLICATED, where, number, record.offset, "seen before"))
            else:
                seen.add(number)
                if number < highest:
                    verdict.add(Difference(Kind.REORDERED, where, number, record.offset, f"comes after {highest}"))
                highest = max(highest, number)
        for number in expected.get(partition, ()):
            if number not in seen:
                verdict.add(Difference(Kind.LOST, where, number, None, "acknowledged, but not there"))
    return verdict


_ISOLATIONS: tuple[Isolation, ...] = ("read_committed", "read_uncommitted")


def _differing(source: Mapping[int, array[int]], target: Mapping[int, array[int]]) -> set[int]:
    nothing = array("q")
    return {p for p in source.keys() | target.keys() if source.get(p, nothing) != target.get(p, nothing)}


def _compare_partition(
    partition: int, source: Sequence[LogRecord], target: Sequence[LogRecord], verdict: Verdict, where: str
) -> tuple[list[_Found], list[_Found]]:
    """Judge duplicates and order; return what only one side has.

    What both have is walked in the source's order. A content that occurs n times on the source may occur n times on the
    target; the surplus is duplicates.
    """
    theirs = [_Found(partition, record.offset, _content(record)) for record in source]
    ours = [_Found(partition, record.offset, _content(record)) for record in target]
    if [found.content for found in theirs] == [found.content for found in ours]:
        return [], []
    held = Counter(found.content for found in theirs)
    budget = Counter(held)
    kept: list[_Found] = []
    alien: list[_Found] = []
    for found in ours:
        if budget[found.content] > 0:
            budget[found.content] -= 1
            kept.append(found)
        elif held[found.content]:
            verdict.add(Difference(Kind.DUPLICATED, where, None, found.offset, _shown(found.content)))
        else:
            alien.append(found)
    copied = Counter(found.content for found in kept)
    missing: list[_Found] = []
    common: list[_Found] = []
    for found in theirs:
        if copied[found.content] > 0:
            copied[found.content] -= 1
            common.append(found)
        else:
            missing.append(found)
    for want, have in zip(common, kept, strict=True):
        if want.content != have.content:
            verdict.add(Difference(Kind.REORDERED, where, want.offset, have.offset, _shown(have.content)))
    return missing, alien


def _name_strangers(missing: list[_Found], alien: list[_Found], verdict: Verdict, topic: str) -> None:
    """Tell a changed record from a lost one plus a foreign one: the two agree in all but one respect."""
    by_trait: dict[tuple[str, object], list[_Found]] = defaultdict(list)
    for found in alien:
        for trait in _traits(found):
            by_trait[trait].append(found)
    paired: set[_Found] = set()
    for lost in missing:
        twin = next(
            (found for trait in _traits(lost) for found in by_trait.get(trait, ()) if found not in paired), None
        )
        where = f"{topic}-{lost.partition}"
        if twin is None:
            verdict.add(Difference(Kind.LOST, where, lost.offset, None, _shown(lost.content)))
        else:
            paired.add(twin)
            verdict.add(Difference(Kind.CHANGED, where, lost.offset, twin.offset, _changes(lost, twin)))
    for found in alien:
        if found not in paired:
            where = f"{topic}-{found.partition}"
            verdict.add(Difference(Kind.FOREIGN, where, None, found.offset, _shown(found.content)))


def _traits(found: _Found) -> list[tuple[str, object]]:
    """All of a record but one respect, for each respect."""
    key, value, headers, timestamp = found.content
    here = found.partition
    return [
        ("value", (here, key, headers, timestamp)),
        ("key", (here, value, headers, timestamp)),
        ("headers", (here, key, value, timestamp)),
        ("timestamp", (here, key, value, headers)),
        ("partition", (key, value, headers, timestamp)),
    ]


def _changes(was: _Found, now: _Found) -> str:
    changes = [
        f"{name} {_short(before)} -> {_short(after)}"
        for name, before, after in zip(_Content._fields, was.content, now.content, strict=True)
        if before != after
    ]
    if was.partition != now.partition:
        changes.append(f"partition {was.partition} -> {now.partition}")
    return ", ".join(changes)


def _content(record: LogRecord) -> _Content:
    return _Content(record.key, record.value, record.headers, record.timestamp)


def _shown(content: _Content) -> str:
    return ", ".join(f"{name} {_short(part)}" for name, part in zip(_Content._fields, content, strict=True))


def _short(part: object) -> str:
    text = repr(part)
    return text if len(text) <= _SHOWN_BYTES else f"{text[:_SHOWN_BYTES]}… ({len(text)})"
