"""Reads the index of a topic of schemas, each time from where the last call stopped. Runs in a loop."""

from dataclasses import dataclass, field
from typing import Final

from twinlog.errors import BrokerRefused
from twinlog.logs.read import Batches, is_there, open_records, read_to_end
from twinlog.registry.pair.index import TopicIndex
from twinlog.registry.store import PARTITION, fetch_end
from twinlog.wire.connection import Cluster
from twinlog.wire.offsets import EARLIEST, LATEST, OffsetsRefused

_LANE: Final = "registry-index"
SILENT_S: Final = 15.0


@dataclass
class IndexReader:
    """Follows one topic in steps. A topic that begins anew, or ends earlier than it did, is read from its start."""

    cluster: Cluster
    topic: str
    index: TopicIndex = field(default_factory=TopicIndex)
    _id: str = ""

    async def refresh(self) -> TopicIndex | None:
        """Read to the end that the topic has now; None when there is no such topic. Raises ClusterError."""
        if not await is_there(self.cluster, self.topic):
            return None
        try:
            first = await fetch_end(self.cluster, self.topic, EARLIEST)
            end = await fetch_end(self.cluster, self.topic, LATEST)
        except OffsetsRefused as refused:
            raise BrokerRefused(self.cluster.alias, f"{self.topic}: {refused}") from None
        known = self.cluster.topics[self.topic].topic_id
        if known != self._id or end < self.index.position:
            self.index, self._id = TopicIndex(first), known
        positions = {PARTITION: max(first, self.index.position)}

        def take(_partition: int, batches: Batches) -> None:
            for record in open_records(batches):
                if record.offset >= self.index.position:
                    self.index.apply(record.key, record.value, record.offset)

        await read_to_end(self.cluster, self.topic, positions, take, _LANE, silent_for_s=SILENT_S)
        self.index.position = max(self.index.position, positions[PARTITION])
        return self.index
