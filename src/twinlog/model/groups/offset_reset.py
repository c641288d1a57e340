"""Giving a consumer group other positions, in the words of kafka-consumer-groups. Pure.

    where to (To…, By…, Shift…)  ─┐
    what the group committed      ├─▶ plan_reset ─▶ per partition: before, after, and what had to be bent
    where each log begins, ends  ─┘

No position outside of the log is ever written: it would fall back to the consumer's own reset policy.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias, assert_never

from twinlog.model.names import TopicPartition


@dataclass(frozen=True)
class ToOffset:
    """This offset in every partition."""

    offset: int


@dataclass(frozen=True)
class ToTime:
    """The first record of that time or later (milliseconds since 1970)."""

    ms: int


@dataclass(frozen=True)
class ShiftBy:
    """So many offsets forward; backward if negative."""

    records: int


@dataclass(frozen=True)
class ToEarliest:
    """The first record there is."""


@dataclass(frozen=True)
class ToLatest:
    """Behind the last record."""


@dataclass(frozen=True)
class ToCurrent:
    """Where the group is: for exports."""


@dataclass(frozen=True)
class ToListed:
    """What a file says, partition by partition."""

    offsets: Mapping[TopicPartition, int]


Destination: TypeAlias = ToOffset | ToTime | ShiftBy | ToEarliest | ToLatest | ToCurrent | ToListed


class LogEdges(NamedTuple):
    """Where a log begins and ends, and the first record of the time asked for, if one was."""

    start: int
    end: int
    at_time: int | None = None


@dataclass(frozen=True)
class Reset:
    """One partition of one group: from where to where. `after` None: it stays, for the reason in `note`."""

    group: str
    partition: TopicPartition
    before: int | None
    after: int | None
    note: str = ""


def plan_reset(
    group: str, to: Destination, edges: Mapping[TopicPartition, LogEdges], committed: Mapping[TopicPartition, int]
) -> list[Reset]:
    """Plan all partitions in `edges`; every new position lies within its log."""
    return [
        _reset(group, partition, _wanted(to, partition, edge, committed.get(partition)), edge, committed.get(partition))
        for partition, edge in sorted(edges.items())
    ]


def _wanted(to: Destination, partition: TopicPartition, edge: LogEdges, before: int | None) -> int | None:
    match to:
        case ToOffset():
            return to.offset
        case ToTime():
            return edge.at_time
        case ShiftBy():
            return None if before is None else before + to.records
        case ToEarliest():
            return edge.start
        case ToLatest():
            return edge.end
        case ToCurrent():
            return before
        case ToListed():
            return to.offsets.get(partition)
        case _:
            assert_never(to)


def _reset(group: str, partition: TopicPartition, wanted: int | None, edge: LogEdges, before: int | None) -> Reset:
    if wanted is None:
        return Reset(group, partition, before, None, "the group has no position here")
    if wanted < edge.start:
        return Reset(group, partition, before, edge.start, f"{wanted} is before the log, which begins at {edge.start}")
    if wanted > edge.end:
        return Reset(group, partition, before, edge.end, f"{wanted} is behind the log, which ends at {edge.end}")
    return Reset(group, partition, before, wanted)


# --- what operators write ---------------------------------------------------------------------------------------------

_DURATION: Final = re.compile(
    r"(?P<sign>[+-])?P(?:(?P<days>\d+)D)?(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d{1,3})?)S)?)?",
    re.ASCII,
)
_UNITS: Final = {"days": 86_400_000, "hours": 3_600_000, "minutes": 60_000, "seconds": 1_000}


def parse_duration(text: str) -> int:
    """Read `P1DT2H30M` as milliseconds; raises ValueError."""
    matched = _DURATION.fullmatch(text.strip().upper())
    parts = {unit: matched[unit] for unit in _UNITS if matched[unit] is not None} if matched else {}
    if matched is None or not parts or text.strip().upper().endswith("T"):
        msg = f"{text!r} is not a duration such as P1DT2H30M or PT15M"
        raise ValueError(msg)
    ms = sum(round(float(number) * _UNITS[unit]) for unit, number in parts.items())
    return -ms if matched["sign"] == "-" else ms


def parse_topic(text: str) -> tuple[str, tuple[int, ...] | None]:
    """Read `orders` or `orders:0,2`; raises ValueError."""
    topic, colon, numbers = text.strip().partition(":")
    parts = [part.strip() for part in numbers.split(",")] if colon else []
    if not topic or not all(part.isascii() and part.isdigit() for part in parts):
        msg = f"{text!r} is not a topic such as orders or orders:0,2"
        raise ValueError(msg)
    return topic, tuple(dict.fromkeys(int(part) for part in parts)) if colon else None


class ListedOffset(NamedTuple):
    """One line of an export."""

    group: str
    partition: TopicPartition
    offset: int


def read_csv(text: str, group: str | None) -> list[ListedOffset]:
    """Read `topic,partition,offset` of one group, or `group,topic,partition,offset`; raises ValueError."""
    listed = []
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip().strip('"') for cell in line.split(",")]
        if not line.strip() or [cell.lower() for cell in cells[-3:]] == ["topic", "partition", "offset"]:
            continue
        if len(cells) == 3 and group is not None:
            cells = [group, *cells]
        if len(cells) != 4 or not cells[1] or not all(c.isascii() and c.isdigit() for c in cells[2:]):
            form = "group,topic,partition,offset" if group is None else "topic,partition,offset"
            msg = f"line {number}: {line.strip()!r} is not {form}"
            raise ValueError(msg)
        listed.append(ListedOffset(cells[0], TopicPartition(cells[1], int(cells[2])), int(cells[3])))
    return listed


def write_csv(resets: Iterable[Reset], *, with_group: bool) -> str:
    """Write what `read_csv` and kafka-consumer-groups read, without a heading as there."""
    lines = []
    for reset in resets:
        if reset.after is not None:
            topic, partition = reset.partition
            cells = (topic, str(partition), str(reset.after))
            lines.append(",".join((reset.group, *cells) if with_group else cells))
    return "".join(f"{line}\n" for line in lines)
