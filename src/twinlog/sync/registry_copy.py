"""Whether the schemas of the source may be copied onto what the target has. Blocking; runs in a worker thread.

A target may have a registry of its own, or its copy was promoted and has new schemas. Copying on would overwrite them,
so the topic is left alone and listed with its problem until the schemas were brought together.

Before the first schema is copied the link claims the topic: it fences whoever leads the target's registry, looks once
more, and writes whose schemas will be there. So no id is given on both sides.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from twinlog.config.settings import LinkSettings
from twinlog.errors import AccessDenied, PartitionFault, RegistryNotMirrored
from twinlog.model.ledger.records import RosterTopic
from twinlog.model.topics.target_topics import Roster
from twinlog.registry.pair.divergence import divergences
from twinlog.registry.pair.home import Home
from twinlog.registry.pair.index import TopicIndex
from twinlog.registry.pair.orders import Claim
from twinlog.registry.pair.reading import IndexReader
from twinlog.registry.pair.registry_writer import opened
from twinlog.wire.connection import Cluster

log = logging.getLogger("twinlog.registry")


@dataclass
class RegistryCopy:
    """Looks at both topics once per cycle; what was read before is kept."""

    link: LinkSettings
    _home: TopicIndex = field(default_factory=TopicIndex)
    _readers: tuple[IndexReader, IndexReader] | None = None

    def halted(self, roster: Roster, known: Mapping[str, RosterTopic]) -> dict[str, PartitionFault]:
        """The problem of the registry's topic, if it has one. Raises ClusterError."""
        topic = self.link.registry.topic
        mirrored = roster.topics.get(topic)
        if not self.link.registry.mirrored or mirrored is None or mirrored.remote_topic_id is None:
            return {}
        before = known.get(topic)
        is_own = before is not None and before.target_id == mirrored.remote_topic_id
        problem = asyncio.run(self._look(is_own=is_own))
        return {} if problem is None else {topic: RegistryNotMirrored(topic, 0, self.link.source, problem)}

    async def _look(self, *, is_own: bool) -> str | None:
        link, topic = self.link, self.link.registry.topic
        source = Cluster(link.clients.source_consumer, f"twinlog|{link.name}|registry")
        target = Cluster(link.clients.target_consumer, f"twinlog|{link.name}|registry")
        if self._readers is None:
            self._readers = IndexReader(source, topic), IndexReader(target, topic)
        for reader, cluster in zip(self._readers, (source, target), strict=True):
            reader.cluster = cluster  # connections live in the loop of one look
        try:
            copy = await self._readers[1].refresh()
            home = await self._readers[0].refresh()
            if home is None or copy is None:
                return None
            problem = why_not(link, home, copy, source.cluster_id or "", is_own=is_own)
            if problem is None and not is_own and copy.home is None:
                problem = await self._claim(home, source.cluster_id or "")
            return problem
        finally:
            await source.close()
            await target.close()

    async def _claim(self, home: TopicIndex, source_id: str) -> str | None:
        """Name the home in the copy before anything is copied; returns why that must not be."""
        registry, link = self.link.registry, self.link
        order = Claim(home, home.home or Home(source_id, 0, registry.id_gap))
        writing = Cluster(link.clients.target_producer, f"twinlog|{link.name}|registry")
        try:
            async with opened(writing, registry.topic, registry.transactional_id) as writer:
                foreign = (await writer.write(order)).answer
        except AccessDenied as denied:
            way = f"a registry of {link.target} may register schemas until the first ones are copied"
            log.warning("%s: %s; %s", registry.topic, denied, way)
            return None
        finally:
            await writing.close()
        return None if foreign is None else f"{link.target} has schemas of its own: {foreign}"


def why_not(link: LinkSettings, home: TopicIndex, copy: TopicIndex, source_id: str, *, is_own: bool) -> str | None:
    """Why schemas of the source must not be copied; None when they may. `is_own`: this link wrote the copy."""
    term = -1 if home.home is None else home.home.term
    claimed = copy.home is not None and (copy.home.cluster, copy.home.term) == (source_id, 0)
    if copy.home is not None and copy.home.term > term and not claimed:
        return f"{link.target} was promoted (term {copy.home.term}) and may have schemas that {link.source} lacks"
    if is_own:
        return None
    difference = next((str(divergence) for divergence in divergences(home, copy, complete=False)), None)
    return None if difference is None else f"{link.target} has schemas of its own: {difference}"
