"""Positions of a connector, shown and changed over REST. Blocking; runs in the service.

A source's positions lie in the offsets topic. A sink's lie in the system, if it stores any, and in the group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from twinlog.errors import ConnectorRefused
from twinlog.kafka.admin import ClusterAdmin
from twinlog.kafka.group_offsets import GroupOffsets
from twinlog.kafka.record_reader import RecordReader
from twinlog.kafka.record_writer import RecordWriter
from twinlog.model.names import TopicPartition
from twinlog.model.topics.target_topics import TopicFacts
from twinlog.pipelines.api import Owner, Sink, SourcePartition
from twinlog.pipelines.connector import Connector
from twinlog.pipelines.offsets_topic import OffsetsTopic, key_of, written
from twinlog.pipelines.plugins import connector as make_connector
from twinlog.pipelines.worker_settings import Worker

_KAFKA = ("kafka_topic", "kafka_partition", "kafka_offset")


class StoredOffsets:
    """The positions of one connector."""

    def __init__(self, connector: Connector, worker: Worker) -> None:
        self.connector = connector
        self.worker = worker

    def shown(self) -> list[dict[str, Any]]:
        """Partition and offset, as /connectors/{c}/offsets shows them. Raises ClusterError."""
        if self.connector.kind == "source":
            topic = self._topic()
            stored = topic.read(self.connector.name, topic.partitions())
            return [{"partition": dict(entry.partition), "offset": dict(entry.offset)} for entry in stored]
        positions = self._of_group() | dict(self._sink().positions(self.connector.name) or {})
        return [
            {"partition": {_KAFKA[0]: p.topic, _KAFKA[1]: p.partition}, "offset": {_KAFKA[2]: offset}}
            for p, offset in sorted(positions.items())
        ]

    def change(self, wishes: Sequence[Mapping[str, Any]], generation: int) -> None:
        """Set positions; an offset that is null removes one. The connector must not run."""
        if self.connector.kind == "source":
            self._change_source(wishes)
        else:
            self._change_sink(wishes, generation)

    def clear(self, generation: int) -> None:
        self.change([{"partition": entry["partition"], "offset": None} for entry in self.shown()], generation)

    def _topic(self) -> OffsetsTopic:
        name = self.connector.config.get("offsets.storage.topic", self.worker.offsets_topic)
        return OffsetsTopic(self.worker.cluster, name)

    def _sink(self) -> Sink:
        return cast("Sink", make_connector(self.connector.common.plugin, self.connector.config))

    def _change_source(self, wishes: Sequence[Mapping[str, Any]]) -> None:
        topic = self._topic()
        known = {
            tuple(sorted(entry.partition.items())): entry.key
            for entry in topic.read(self.connector.name, topic.partitions())
        }
        for task in range(self.connector.common.tasks):
            # Shuts out a task that was believed dead.
            RecordWriter(self.worker.cluster, f"{self.worker.group_id}-{self.connector.name}-{task}").open()
        writer = RecordWriter(self.worker.cluster, overrides={"partitioner": "murmur2_random"})
        for wish in wishes:
            partition, offset = wish.get("partition"), wish.get("offset")
            if not isinstance(partition, dict) or not (offset is None or isinstance(offset, dict)):
                raise ConnectorRefused(self.connector.name, "each entry needs an object `partition` and `offset`")
            key = known.get(tuple(sorted(partition.items()))) or key_of(self.connector.name, SourcePartition(partition))
            writer.send(topic.topic, key, None if offset is None else written(offset), mark=key)
        for error in writer.flush().values():
            raise error

    def _change_sink(self, wishes: Sequence[Mapping[str, Any]], generation: int) -> None:
        positions: dict[TopicPartition, int] = {}
        cleared: list[TopicPartition] = []
        for wish in wishes:
            partition, offset = wish.get("partition") or {}, wish.get("offset")
            try:
                place = TopicPartition(str(partition[_KAFKA[0]]), int(partition[_KAFKA[1]]))
                if offset is None:
                    cleared.append(place)
                else:
                    positions[place] = int(offset[_KAFKA[2]])
            except (KeyError, TypeError, ValueError):
                told = "each entry needs partition {kafka_topic, kafka_partition} and offset {kafka_offset}"
                raise ConnectorRefused(self.connector.name, told) from None
        if cleared:
            reader = RecordReader(self.worker.cluster, {})
            try:
                positions |= {place: low for place, (low, _) in reader.ends(cleared).items()}
            finally:
                reader.close()
        sink = self._sink()
        if sink.delivery == "exactly-once":
            sink.open(Owner(self.connector.name, generation), list(positions))
            sink.flush(positions)
            sink.close()
        group = GroupOffsets(self.worker.cluster, self.connector.group)
        try:
            group.commit(positions)
        finally:
            group.close()

    def _of_group(self) -> dict[TopicPartition, int]:
        topics = self.connector.common.topics or tuple(ClusterAdmin(self.worker.cluster).list_topics())
        described = ClusterAdmin(self.worker.cluster).describe_topics(topics)
        places = [
            TopicPartition(name, number)
            for name, facts in described.items()
            if isinstance(facts, TopicFacts)
            for number in range(facts.partitions)
        ]
        group = GroupOffsets(self.worker.cluster, self.connector.group)
        try:
            return group.fetch(places)
        finally:
            group.close()
