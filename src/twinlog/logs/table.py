"""A compacted topic as a table: the newest value of each key. Runs in an asyncio loop.

table = LogTable(cluster, topic.name)
await table.catch_up()                          everything that is there now
await table.put([(b"key", b"value")])           written, acknowledged, read back
table.rows[b"key"]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from twinlog.logs.append import LogWriter
from twinlog.logs.follow import follow
from twinlog.logs.read import Batches, is_there, read_to_end, records_in
from twinlog.logs.topic import KeyValue
from twinlog.wire.connection import Cluster
from twinlog.wire.fence import Producer

_ATTEMPTS: Final = 7
"""So many times a write is tried: about three seconds, if the broker answers at once."""


@dataclass
class LogTable:
    """The newest values of the keys in partition 0 of one topic, as far as they were read."""

    cluster: Cluster
    topic: str
    producer: Producer | None = None
    silent_for_s: float = 15.0
    rows: dict[bytes, bytes] = field(default_factory=dict)
    positions: dict[int, int] = field(default_factory=lambda: {0: 0})
    on_change: Callable[[], None] = lambda: None  # called when rows were read

    def __post_init__(self) -> None:
        self._writer = LogWriter(self.cluster, self.topic, producer=self.producer, attempts=_ATTEMPTS)

    async def catch_up(self) -> dict[bytes, bytes]:
        """Read everything that is there now; nothing when there is no such topic. Raises ClusterError."""
        if await is_there(self.cluster, self.topic):
            await read_to_end(
                self.cluster, self.topic, self.positions, self._take, "table", silent_for_s=self.silent_for_s
            )
        return self.rows

    async def put(self, pairs: Sequence[KeyValue]) -> dict[bytes, bytes]:
        """Write rows (no value: delete the key) and read up to them. Raises ClusterError.

        After an error it is not known which of the rows are written; `catch_up` tells.
        """
        if pairs:
            await self._writer.append(pairs)
            await self.catch_up()
        return self.rows

    async def follow(self) -> None:
        """Read what comes until cancelled."""
        await follow(self.cluster, self.topic, self.positions, self._take, "table-follow")

    def _take(self, _: int, batches: Batches) -> None:
        for record in records_in(batches):
            if record.key is None:
                continue
            if record.value is None:
                self.rows.pop(record.key, None)
            else:
                self.rows[record.key] = record.value
        self.on_change()
