"""The topic that keeps what happened to links, for a week. Its methods block; the service calls them in threads.

One topic for all services of a store; the group's name is the key of each record.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from twinlog.config.settings import ClientSettings
from twinlog.control.service_topics import EVENTS
from twinlog.errors import ClusterError, ClusterUnreachable
from twinlog.kafka.admin import ClusterAdmin
from twinlog.logs.background import BackgroundWriter
from twinlog.logs.ensure import ensure_logs
from twinlog.logs.read import Batches, read_to_end, records_in
from twinlog.wire.connection import Cluster
from twinlog.wire.log import fetch_ends

log = logging.getLogger("twinlog.events")

_SILENT_FOR_S: Final = 15.0
_LOOK_BACK: Final = 4
"""Other groups write to the same topic: so many times more records are read than events are wanted."""


class EventsTopic:
    """The events of one group of services."""

    def __init__(self, settings: ClientSettings, group: str, *, replication_factor: int) -> None:
        """Nothing is sent yet."""
        self.cluster = settings.cluster
        self._settings = settings
        self._key = group.encode()
        self._replication_factor = replication_factor
        self._writer = BackgroundWriter(settings, EVENTS.name)

    def read(self, most: int) -> list[bytes]:
        """The last events of the group, oldest first. Raises ClusterError."""
        ensure_logs(ClusterAdmin(self._settings), self._replication_factor, EVENTS)
        return asyncio.run(self._read(most))

    async def _read(self, most: int) -> list[bytes]:
        values: list[bytes] = []

        def take(_: int, batches: Batches) -> None:
            values.extend(r.value for r in records_in(batches) if r.key == self._key and r.value is not None)

        cluster = Cluster(self._settings, "twinlog|events")
        try:
            async with asyncio.timeout(_SILENT_FOR_S):
                end = (await fetch_ends(cluster, EVENTS.name, [0]))[0]
            # Before the first offset that is still there, reading continues at that one.
            positions = {0: max(0, end - most * _LOOK_BACK)}
            await read_to_end(cluster, EVENTS.name, positions, take, "events", silent_for_s=_SILENT_FOR_S)
        except TimeoutError:
            raise ClusterUnreachable(self.cluster, f"{EVENTS.name} could not be read in time") from None
        finally:
            await cluster.close()
        return values[-most:]

    def append(self, entry: bytes) -> None:
        """Write one event in the background. An event that is not written is logged."""
        self._writer.append(self._key, entry, _log_loss)

    def close(self) -> None:
        """Wait until what was handed over is written; what is not is logged."""
        try:
            self._writer.close()
        except ClusterUnreachable as error:
            log.warning("%s: events are not kept: %s", EVENTS.name, error)


def _log_loss(error: ClusterError | None) -> None:
    if error is not None:
        log.warning("an event is not kept: %s", error)
