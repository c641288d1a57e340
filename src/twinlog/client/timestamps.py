"""Positions by time, as Replicator does it: consumers record the time of their position, readers of the copy use it.

    source: a consumer commits N ─▶ timestamp of record N-1 ─▶ __consumer_timestamps
    target: the first record of that time or later  ◀── a reader that takes over

The place that is found lies at the last record that was read or before it, so nothing is skipped, whatever the order
of times. What is read again are the records of that very time, and with times out of order some more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from twinlog.errors import ClusterError, RecordsUnreadable
from twinlog.kafka.admin import ClusterAdmin
from twinlog.kafka.clients import LogRecord
from twinlog.model.groups.consumer_timestamps import TIMESTAMPS_TOPIC, ConsumerTimestamp, NotATimestamp
from twinlog.model.names import TopicPartition
from twinlog.model.naming import ReplicationNaming
from twinlog.model.topics.target_topics import TIMESTAMP_TYPE


@dataclass(frozen=True)
class TimestampTranslation:
    """A position that was translated by time. Reading from `offset` skips no record.

    `re_read` is how many records of that very time the group has read, which it reads again; None when nobody counted.
    Where times are out of order there may be more.
    """

    offset: int
    timestamp_ms: int
    re_read: int | None
    source_offset: int | None = None


def newest_timestamps(
    records: Iterable[LogRecord], group: str, cluster: str
) -> dict[TopicPartition, ConsumerTimestamp]:
    """The last word of a group about each partition of the source."""
    newest: dict[TopicPartition, tuple[int, ConsumerTimestamp]] = {}
    for record in records:
        if record.value is None:
            continue
        try:
            stamp = ConsumerTimestamp.read(record.key, record.value, record.headers)
        except NotATimestamp as error:
            problem = f"{TIMESTAMPS_TOPIC}-{record.partition} offset {record.offset}: {error}"
            raise RecordsUnreadable(cluster, problem) from error
        place = TopicPartition(stamp.topic, stamp.partition)
        # Writers may spread one key over several partitions, each by its own hash: the later one counts.
        if stamp.group == group and (place not in newest or newest[place][0] <= record.timestamp_ms):
            newest[place] = (record.timestamp_ms, stamp)
    return {place: stamp for place, (_, stamp) in newest.items()}


def translated(
    stamps: Mapping[TopicPartition, ConsumerTimestamp], source: str, naming: ReplicationNaming, target: ClusterAdmin
) -> dict[TopicPartition, TimestampTranslation]:
    """Look every time up in the copy. Raises when one of the copies cannot be asked."""
    translations: dict[TopicPartition, TimestampTranslation] = {}
    remotes = {place: TopicPartition(naming.remote(source, place.topic), place.partition) for place in stamps}
    _check_times_are_kept(target, {remote.topic for remote in remotes.values()})
    for place, stamp in stamps.items():
        remote = remotes[place]
        answer = target.fetch_offsets_at([remote], stamp.timestamp_ms)[remote]
        if isinstance(answer, ClusterError):
            raise answer
        translations[remote] = TimestampTranslation(int(answer), stamp.timestamp_ms, stamp.equal, stamp.offset)
    return translations


def _check_times_are_kept(target: ClusterAdmin, topics: set[str]) -> None:
    for topic, configs in target.fetch_topic_configs(topics).items():
        if isinstance(configs, ClusterError):
            raise configs
        kind = next((config.value for config in configs if config.name == TIMESTAMP_TYPE), None)
        if kind == "LogAppendTime":
            problem = f"{topic}: {TIMESTAMP_TYPE}=LogAppendTime: its times are not those of the source"
            raise RecordsUnreadable(target.cluster, problem)
