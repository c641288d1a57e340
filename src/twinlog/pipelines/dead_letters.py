"""Dead letters: records that cannot be handled, written to a topic with Connect's headers. Runs in Python workers.

The record goes there as it lies in its topic, byte by byte: it is read again from Kafka, so that the plan need not
carry the bytes of all records for the few that fail.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from twinlog.config.settings import ClientSettings
from twinlog.errors import ClusterError, ClusterUnreachable, TopicUnknown
from twinlog.kafka.admin import ClusterAdmin, TopicOrder
from twinlog.kafka.record_reader import RecordReader
from twinlog.kafka.record_writer import RecordWriter
from twinlog.model.backoff import Backoff
from twinlog.model.names import TopicPartition
from twinlog.model.topics.target_topics import TopicFacts
from twinlog.pipelines.run import ErrorSettings

_PREFIX: Final = "__connect.errors."
_FOUND_WITHIN_S: Final = 20.0
_KNOWN_S: Final = 30.0
"""How long a topic that was just created may be unknown."""


@dataclass(frozen=True)
class Failure:
    """One record that could not be handled."""

    partition: TopicPartition
    offset: int
    stage: str
    java: str  # the class that failed
    exception: str
    message: str


def headers_of(failure: Failure, connector: str, task: int) -> list[tuple[str, bytes | None]]:
    """What Connect's reporter says, in its order."""
    facts = {
        "topic": failure.partition.topic,
        "partition": str(failure.partition.partition),
        "offset": str(failure.offset),
        "connector.name": connector,
        "task.id": str(task),
        "stage": failure.stage,
        "class.name": failure.java,
        "exception.class.name": failure.exception,
        "exception.message": failure.message,
        "exception.stacktrace": f"{failure.exception}: {failure.message}\n",
    }
    return [(_PREFIX + name, value.encode()) for name, value in facts.items()]


class DeadLetters:
    """The topic of dead letters of one task."""

    def __init__(self, cluster: ClientSettings, errors: ErrorSettings, connector: str, task: int) -> None:
        self._cluster = cluster
        self._errors = errors
        self._connector = connector
        self._task = task
        self._writer: RecordWriter | None = None

    def park(self, failures: Sequence[Failure]) -> None:
        """Write them, and wait until they are there. Raises ClusterError."""
        if not failures or not self._errors.dead_letters:
            return
        writer = self._opened()
        originals = self._originals(failures)
        for failure in failures:
            record = originals[failure.partition, failure.offset]
            headers: list[tuple[str, bytes | None]] = list(record.headers() or ())
            if self._errors.dead_letters_headers:
                headers += headers_of(failure, self._connector, self._task)
            writer.send(
                self._errors.dead_letters,
                record.key(),
                record.value(),
                timestamp_ms=record.timestamp()[1],
                headers=headers,
                mark=(failure.partition, failure.offset),
            )
        for (partition, offset), error in writer.flush().items():
            raise ClusterUnreachable(
                self._cluster.cluster, f"{self._errors.dead_letters}: {partition} offset {offset}: {error}"
            )

    def _opened(self) -> RecordWriter:
        if self._writer is None:
            ensure_topic(self._cluster, self._errors.dead_letters, self._errors.dead_letters_replicas)
            self._writer = RecordWriter(self._cluster, overrides={"partitioner": "murmur2_random"})
        return self._writer

    def _originals(self, failures: Sequence[Failure]) -> dict[tuple[TopicPartition, int], Any]:
        wanted = {(failure.partition, failure.offset) for failure in failures}
        starts: dict[TopicPartition, int] = {}
        for partition, offset in wanted:
            starts[partition] = min(offset, starts.get(partition, offset))
        originals: dict[tuple[TopicPartition, int], Any] = {}
        reader = RecordReader(self._cluster, starts)
        deadline = time.monotonic() + _FOUND_WITHIN_S
        try:
            while len(originals) < len(wanted):
                for record in reader.take(5000, 0.2):
                    place = (TopicPartition(record.topic() or "", record.partition() or 0), record.offset() or 0)
                    if place in wanted:
                        originals[place] = record
                if time.monotonic() > deadline:
                    missing = min(wanted - originals.keys())
                    raise ClusterUnreachable(
                        self._cluster.cluster, f"{missing[0]}: offset {missing[1]} cannot be read for the dead letters"
                    )
        finally:
            reader.close()
        return originals


def ensure_topic(
    cluster: ClientSettings, topic: str, replicas: int, partitions: int = 1, configs: dict[str, str] | None = None
) -> None:
    """Create a topic unless it is there. Fewer brokers than replicas: as many replicas as there are brokers."""
    admin = ClusterAdmin(cluster)
    if isinstance(admin.describe_topics([topic])[topic], TopicFacts):
        return
    refusal: ClusterError | None = None
    for count in (replicas, -1):
        refusal = admin.create_topics([TopicOrder(topic, partitions, count, configs or {})])[topic]
        if refusal is None or type(refusal).__name__ == "TopicExists":
            _await_known(admin, topic)
            return
    if refusal is not None:
        raise refusal


def _await_known(admin: ClusterAdmin, topic: str) -> None:
    """Wait until brokers tell of a topic that was just created, by us or by another connector at the same moment."""
    backoff, deadline = Backoff(0.05, 1.0), time.monotonic() + _KNOWN_S
    while isinstance(answer := admin.describe_topics([topic])[topic], TopicUnknown):
        if time.monotonic() > deadline:
            raise answer
        time.sleep(backoff.next_s())
