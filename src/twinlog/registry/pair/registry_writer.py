"""Writing into a topic of schemas without being an instance of its registry: for a promotion and for a merge.

The writer takes over the registry's transactional id. So it fences the leader, reads up to its own marker and writes,
as a leader does. An instance that led is elected again afterwards and takes over. If that happens in the middle,
nothing is half: an order is planned against what the topic holds, and it is tried again.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from twinlog.errors import BrokerRefused, ClusterError
from twinlog.registry.leader import Leader, LeadershipLost
from twinlog.registry.refusals import Refusal
from twinlog.registry.state import State
from twinlog.registry.store import TopicReader
from twinlog.registry.writes.round import Order, Plan
from twinlog.wire.connection import Cluster

log = logging.getLogger("twinlog.registry.writer")

_LOADED_S: Final = 60.0
_WRITE_S: Final = 30.0
_TIMES: Final = 5


@dataclass
class RegistryWriter:
    """One topic, read to its end and followed."""

    cluster: Cluster
    reader: TopicReader
    transactional_id: str

    @property
    def state(self) -> State:
        """What the topic holds."""
        return self.reader.state

    async def write(self, order: Order) -> Plan:
        """Carry an order out. Raises ClusterError."""
        trouble: Exception | None = None
        for _ in range(_TIMES):
            term = Leader(self.cluster, self.reader, self.transactional_id, lambda: True, _WRITE_S)
            running = asyncio.create_task(term.run())
            try:
                await self._ready(term, running)
                plan = (await term.submit(order)).plan
            except (LeadershipLost, Refusal) as again:
                trouble = again
                log.warning("%s: an instance of the registry led meanwhile (%s); again", self.reader.topic, again)
            else:
                return plan
            finally:
                term.stop()
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
        raise BrokerRefused(self.cluster.alias, f"{self.reader.topic}: could not be written: {trouble}")

    async def _ready(self, term: Leader, running: "asyncio.Task[None]") -> None:
        async with asyncio.timeout(_WRITE_S):
            while not term.ready:
                if running.done():
                    running.result()
                    raise LeadershipLost
                await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def opened(cluster: Cluster, topic: str, transactional_id: str) -> AsyncIterator[RegistryWriter]:
    """A writer whose topic was read to its end. The cluster is closed by whoever made it. Raises ClusterError."""
    reader = TopicReader(cluster, topic)
    following = asyncio.create_task(reader.run())
    try:
        await _loaded(reader, following)
        yield RegistryWriter(cluster, reader, transactional_id)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def _loaded(reader: TopicReader, following: "asyncio.Task[None]") -> None:
    waiting = asyncio.create_task(reader.loaded.wait())
    try:
        done, _ = await asyncio.wait({waiting, following}, timeout=_LOADED_S, return_when=asyncio.FIRST_COMPLETED)
        if following in done:
            following.result()
        if waiting not in done:
            problem = reader.status.last_error or "its end was not reached"
            raise BrokerRefused(reader.cluster.alias, f"{reader.topic}: not read within {_LOADED_S:.0f} s: {problem}")
    except OSError as broken:
        raise ClusterError(reader.cluster.alias, str(broken)) from broken
    finally:
        waiting.cancel()
