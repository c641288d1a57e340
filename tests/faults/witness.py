"""Sees records arrive on the target, as an application would: up to which number, when, and with which silences."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition
from tests.kit.logs import Cluster, log_record
from tests.kit.records import Stamp, read_stamp

Place = tuple[str, int]
_AT_ONCE = 5_000
_LOOK_S = 0.1
_METADATA_S = 5.0


@dataclass
class _Seen:
    """One partition."""

    highest: int = -1
    at: float = field(default_factory=time.monotonic)
    longest: float = 0.0


class Witness:
    """Reads the copies of some topics all the time, each partition from its beginning, in a thread."""

    def __init__(self, cluster: Cluster, remotes: Mapping[str, str], partitions: Mapping[str, int]) -> None:
        self._names = {remote: topic for topic, remote in remotes.items()}
        self._partitions = dict(partitions)
        self._seen: dict[Place, _Seen] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._options = {
            **cluster.client,
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "witness",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "topic.metadata.refresh.interval.ms": 2_000,
            "reconnect.backoff.max.ms": 1_000,
            "fetch.wait.max.ms": 100,
            "log_level": 0,
        }
        self._thread = threading.Thread(target=self._run, name="witness", daemon=True)
        self._thread.start()

    def reached(self) -> dict[Place, int]:
        """The highest number seen, by topic (its name on the source) and partition."""
        with self._lock:
            return {place: seen.highest for place, seen in self._seen.items()}

    def start_of_silence(self) -> None:
        """Measure silences from now on."""
        now = time.monotonic()
        with self._lock:
            for seen in self._seen.values():
                seen.at, seen.longest = now, 0.0

    def longest_silence(self) -> dict[Place, float]:
        """Seconds without a new number, per partition; the present silence counts."""
        now = time.monotonic()
        with self._lock:
            return {place: max(seen.longest, now - seen.at) for place, seen in self._seen.items()}

    def close(self) -> None:
        self._stop.set()
        self._thread.join(10)

    def _run(self) -> None:
        consumer = Consumer(self._options)
        assigned: set[Place] = set()
        looked = 0.0
        try:
            while not self._stop.is_set():
                if time.monotonic() - looked > 1.0:
                    looked = time.monotonic()
                    with contextlib.suppress(KafkaException):
                        self._assign_new(consumer, assigned)
                if not assigned:
                    self._stop.wait(0.2)
                    continue
                with contextlib.suppress(KafkaException):
                    for message in consumer.consume(_AT_ONCE, _LOOK_S):
                        if message.error() is None:
                            self._note(message)
        finally:
            consumer.close()

    def _assign_new(self, consumer: Consumer, assigned: set[Place]) -> None:
        with self._lock:
            known = set(self._seen)
        wanted = {(topic, number) for topic, count in self._partitions.items() for number in range(count)}
        if known == wanted:
            return
        there = consumer.list_topics(timeout=_METADATA_S).topics
        fresh: list[TopicPartition] = []
        for remote, topic in self._names.items():
            if remote not in there or there[remote].error is not None:
                continue
            numbers = [number for number in there[remote].partitions if (topic, number) in wanted - known]
            fresh += [TopicPartition(remote, number, OFFSET_BEGINNING) for number in numbers]
        if not fresh:
            return
        places = {(self._names[part.topic], part.partition) for part in fresh}
        again = [part for part in fresh if (self._names[part.topic], part.partition) in assigned]
        if again:
            consumer.incremental_unassign(again)
        consumer.incremental_assign(fresh)
        assigned |= places
        with self._lock:
            for place in places:
                self._seen.setdefault(place, _Seen())

    def _note(self, message: object) -> None:
        record = log_record(message)  # type: ignore[arg-type]
        stamp = read_stamp(record.key, record.value, record.headers, record.timestamp[1])
        if not isinstance(stamp, Stamp):
            return
        place = (self._names[message.topic()], stamp.partition)  # type: ignore[attr-defined]
        now = time.monotonic()
        with self._lock:
            seen = self._seen.get(place)
            if seen is not None and stamp.sequence > seen.highest:
                seen.longest = max(seen.longest, now - seen.at)
                seen.highest, seen.at = stamp.sequence, now

    @property
    def complete(self) -> bool:
        """Whether every partition was found and a record of each was seen."""
        with self._lock:
            return len(self._seen) == sum(self._partitions.values()) and all(
                seen.highest >= 0 for seen in self._seen.values()
            )

    def add_partitions(self, topic: str, count: int) -> None:
        self._partitions = {**self._partitions, topic: count}

    def add_topic(self, topic: str, remote: str, partitions: int) -> None:
        """Look at one more topic."""
        self._names = {**self._names, remote: topic}
        self._partitions = {**self._partitions, topic: partitions}
