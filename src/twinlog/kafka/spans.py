"""Reading parts of logs: small topics as a whole, or a span of each of many partitions in one go.

Runs in the service's worker threads and in applications that use the client library. Every call ends within the given
time: with everything that was asked for, or with an error. A part of an answer is never given for the whole.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, Message
from confluent_kafka import TopicPartition as ForeignPartition

from twinlog.config.settings import ClientSettings
from twinlog.errors import ClusterError, ClusterUnreachable, LeaderMissing, TopicUnknown
from twinlog.kafka.admin import ClusterAdmin
from twinlog.kafka.client_options import client_options
from twinlog.kafka.clients import LogRecord
from twinlog.kafka.foreign_errors import denies_access, translated
from twinlog.model.names import TopicPartition
from twinlog.model.topics.target_topics import TopicFacts

_AT_ONCE = 10_000
_LIMIT_S = 0.1


class Span(NamedTuple):
    """Offsets first..next-1."""

    first: int
    next: int


def read_topic(
    admin: ClusterAdmin, settings: ClientSettings, topic: str, *, within_s: float, committed: bool = False
) -> dict[TopicPartition, list[LogRecord]]:
    """Read all that a topic holds now. Raises TopicUnknown when there is none of that name."""
    deadline = time.monotonic() + within_s
    while True:
        facts = admin.describe_topics([topic])[topic]
        if not isinstance(facts, TopicFacts):
            raise facts
        try:
            spans = _spans_of(admin, topic, facts.partitions, committed=committed)
            break
        except (LeaderMissing, TopicUnknown):
            # The topic is there, so this is a moment's truth: it was just created, or its leader is being elected.
            if time.monotonic() > deadline:
                raise
            time.sleep(_LIMIT_S)
    return read_spans(settings, spans, committed=committed, within_s=max(deadline - time.monotonic(), _LIMIT_S))


def _spans_of(admin: ClusterAdmin, topic: str, count: int, *, committed: bool) -> dict[TopicPartition, Span]:
    partitions = [TopicPartition(topic, number) for number in range(count)]
    starts, ends = admin.fetch_start_offsets(partitions), admin.fetch_end_offsets(partitions, committed=committed)
    return {p: Span(_known(starts[p]), _known(ends[p])) for p in partitions}


def _known(answer: int | ClusterError) -> int:
    if isinstance(answer, ClusterError):
        raise answer
    return int(answer)


def read_spans(
    settings: ClientSettings, spans: Mapping[TopicPartition, Span], *, committed: bool, within_s: float
) -> dict[TopicPartition, list[LogRecord]]:
    """Read the span of each partition. Offsets without a record (markers, compaction) count as read."""
    by_partition: dict[TopicPartition, list[LogRecord]] = {partition: [] for partition in spans}
    left = {partition: span for partition, span in spans.items() if span.first < span.next}
    if not left:
        return by_partition
    complaints: list[KafkaError] = []
    options: dict[str, Any] = {
        **client_options(settings),
        # The client insists on a name; without subscribing and committing there is no group.
        "group.id": "twinlog-reader",
        "enable.auto.commit": False,
        "isolation.level": "read_committed" if committed else "read_uncommitted",
        "enable.partition.eof": True,
        # Retention may take the first records away between the question and the reading.
        "auto.offset.reset": "earliest",
        "error_cb": complaints.append,
    }
    reader = Consumer(options)
    deadline = time.monotonic() + within_s
    try:
        reader.assign([ForeignPartition(*partition, span.first) for partition, span in left.items()])
        while left:
            _see_to(settings.cluster, left, complaints, deadline, within_s)
            for message in reader.consume(_AT_ONCE, _LIMIT_S):
                partition = TopicPartition(message.topic() or "", message.partition() or 0)
                span = left.get(partition)
                if span is None:
                    continue
                position = _take(message, span, by_partition[partition], settings.cluster)
                if position is not None and position >= span.next:
                    del left[partition]
                    reader.incremental_unassign([ForeignPartition(*partition)])
    finally:
        reader.close()
    return by_partition


def _take(message: Message, span: Span, records: list[LogRecord], cluster: str) -> int | None:
    """Keep what belongs to the span; return the next offset, or None when the message does not tell."""
    error = message.error()
    offset = message.offset()
    if error is not None:
        if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 (librdkafka's own codes begin with an underscore)
            return offset
        if error.code() in {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION}:  # noqa: SLF001
            raise TopicUnknown(cluster, f"{message.topic()}-{message.partition()}")
        trouble = translated(cluster, error)
        if trouble.retriable or error.retriable():
            return None
        raise trouble
    if offset is None:
        return None
    if span.first <= offset < span.next:
        headers: Any = message.headers() or ()
        records.append(
            LogRecord(
                message.partition() or 0,
                offset,
                message.timestamp()[1],
                message.key(),
                message.value(),
                tuple(headers),
            )
        )
    return offset + 1


def _see_to(
    cluster: str, left: Mapping[TopicPartition, Span], complaints: list[KafkaError], deadline: float, within_s: float
) -> None:
    """Raise when waiting on is in vain."""
    refusal = next((complaint for complaint in complaints if denies_access(complaint)), None)
    if refusal is not None:
        raise translated(cluster, refusal)
    if time.monotonic() > deadline:
        named = ", ".join(str(partition) for partition in sorted(left)[:5])
        why = f" ({complaints[-1].str()})" if complaints else ""
        raise ClusterUnreachable(cluster, f"{len(left)} partitions not read within {within_s:.0f} s: {named}{why}")
