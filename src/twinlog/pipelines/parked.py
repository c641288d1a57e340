"""Parked records: the dead letters of a topic, looked at, written back after repair, or dropped. Blocking.

A dead letter is never removed by us. What was done with it is told by another record of the same topic, a receipt:

    offset 7   key, value, headers __connect.errors.…           the dead letter
    offset 9   null, null, twinlog.parked = 0:7, twinlog.action = replayed

A replay writes the record and its receipt in one transaction, so it happens once, also when it is interrupted.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from twinlog.config.settings import ClientSettings
from twinlog.errors import ClusterUnreachable, ParkedRefused
from twinlog.kafka.admin import ClusterAdmin
from twinlog.kafka.record_reader import RecordReader
from twinlog.kafka.record_writer import RecordWriter
from twinlog.model.names import TopicPartition
from twinlog.model.topics.target_topics import TopicFacts

ERRORS: Final = "__connect.errors."
PLACE: Final = "twinlog.parked"
ACTION: Final = "twinlog.action"
_WITHIN_S: Final = 30.0
_AT_ONCE: Final = 5000
Action: TypeAlias = Literal["open", "replayed", "dropped"]


class Place(NamedTuple):
    """Where a dead letter lies in its topic."""

    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.partition}:{self.offset}"

    @classmethod
    def parse(cls, text: str) -> Place:
        """Raises ValueError."""
        partition, _, offset = text.partition(":")
        return cls(int(partition), int(offset))


@dataclass(frozen=True)
class Parked:
    """One dead letter, what its headers tell, and what was done with it."""

    place: Place
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]  # those of the record, without what was added to it
    timestamp_ms: int
    told: Mapping[str, str]  # Connect's headers without their prefix: topic, offset, stage, exception.message …
    action: Action = "open"

    @property
    def origin(self) -> str:
        """Where the record came from; empty: nobody said it."""
        if "topic" not in self.told:
            return ""
        return f"{self.told['topic']}-{self.told.get('partition', '?')} offset {self.told.get('offset', '?')}"

    @property
    def reason(self) -> str:
        if not self.told:
            return "unknown: errors.deadletterqueue.context.headers.enable was false when it was parked"
        parts = (self.told.get("stage"), self.told.get("exception.class.name"), self.told.get("exception.message"))
        return ": ".join(part for part in parts if part)


def sorted_out(records: Iterable[Any]) -> list[Parked]:
    """Dead letters with what the receipts among the records say of them. Pure."""
    parked: dict[Place, Parked] = {}
    receipts: dict[Place, Action] = {}
    for record in records:
        headers = [(name, data) for name, data in record.headers() or ()]
        marks = {name: (data or b"").decode(errors="replace") for name, data in headers if name in {PLACE, ACTION}}
        if PLACE in marks:
            receipts[Place.parse(marks[PLACE])] = "dropped" if marks.get(ACTION) == "dropped" else "replayed"
            continue
        told = {
            name.removeprefix(ERRORS): (data or b"").decode(errors="replace")
            for name, data in headers
            if name.startswith(ERRORS)
        }
        own = tuple((name, data) for name, data in headers if not name.startswith(ERRORS))
        place = Place(record.partition() or 0, record.offset() or 0)
        parked[place] = Parked(place, record.key(), record.value(), own, record.timestamp()[1], told)
    return [replace(entry, action=receipts.get(place, "open")) for place, entry in sorted(parked.items())]


def read_parked(cluster: ClientSettings, topic: str) -> list[Parked]:
    """Every dead letter that the topic has now. Raises ClusterError."""
    facts = ClusterAdmin(cluster).describe_topics([topic])[topic]
    if not isinstance(facts, TopicFacts):
        raise facts
    partitions = [TopicPartition(topic, number) for number in range(facts.partitions)]
    probe = RecordReader(cluster, {})
    ends = probe.ends(partitions)
    probe.close()
    waiting = {partition: high for partition, (low, high) in ends.items() if high > low}
    reader = RecordReader(cluster, {partition: ends[partition][0] for partition in waiting})
    records: list[Any] = []
    deadline = time.monotonic() + _WITHIN_S
    try:
        while waiting:
            taken = reader.take(_AT_ONCE, 0.2)
            records += taken
            if taken:
                deadline = time.monotonic() + _WITHIN_S
            for partition, position in reader.positions(list(waiting)).items():
                if position >= waiting[partition]:
                    del waiting[partition]
            if waiting and time.monotonic() > deadline:
                raise ClusterUnreachable(cluster.cluster, f"{next(iter(waiting))}: could not be read to its end")
    finally:
        reader.close()
    return sorted_out(records)


def replay(
    cluster: ClientSettings,
    topic: str,
    chosen: Sequence[Parked],
    repaired: Mapping[Place, bytes],
    to: str | None = None,
) -> int:
    """Write open dead letters back to their topics, with repaired values where given. Raises ParkedRefused."""
    for parked in chosen:
        if to is None and "topic" not in parked.told:
            raise ParkedRefused(topic, str(parked.place), "does not say which topic it came from; name one with --to")
    with_receipts = [
        (
            to or parked.told["topic"],
            parked,
            repaired.get(parked.place, parked.value),
            _receipt(parked.place, "replayed"),
        )
        for parked in chosen
    ]
    return _write(cluster, topic, with_receipts)


def drop(cluster: ClientSettings, topic: str, chosen: Sequence[Parked]) -> int:
    """Say of open dead letters that nothing will be done with them. Raises ParkedRefused."""
    return _write(cluster, topic, [(None, parked, None, _receipt(parked.place, "dropped")) for parked in chosen])


def _receipt(place: Place, action: Action) -> list[tuple[str, bytes | None]]:
    return [(PLACE, str(place).encode()), (ACTION, action.encode())]


def _write(
    cluster: ClientSettings,
    topic: str,
    work: Sequence[tuple[str | None, Parked, bytes | None, list[tuple[str, bytes | None]]]],
) -> int:
    writer = RecordWriter(cluster, f"twinlog-parked-{topic}", {"partitioner": "murmur2_random"})
    # Opening shuts out whoever else replays; only then it is certain which letters are still open.
    writer.open()
    now = {parked.place: parked.action for parked in read_parked(cluster, topic)}
    for _, parked, _, _ in work:
        if now.get(parked.place) != "open":
            raise ParkedRefused(topic, str(parked.place), f"is not open: {now.get(parked.place, 'it is not there')}")
    if not work:
        return 0
    writer.begin()
    for target, parked, value, receipt in work:
        if target is not None:
            writer.send(target, parked.key, value, headers=parked.headers, mark=f"{target}: {parked.place}")
        writer.send(
            topic, None, None, partition=parked.place.partition, headers=receipt, mark=f"{topic}: {parked.place}"
        )
    for mark, error in writer.flush().items():
        writer.abort()
        raise ParkedRefused(topic, str(mark), f"could not be written: {error}")
    writer.commit()
    return len(work)


__all__ = ["Parked", "Place", "drop", "read_parked", "replay", "sorted_out"]
