"""Who writes into a cluster: the producer ids of all links that lead there, noted on the cluster itself.

A link notes an id before its first batch with it (`note_writer`, at every take-over of a shard), so whoever meets a
batch finds its writer noted, if a link wrote it. A reader decides about an id when it first meets it (`learn`): it
reads the notes up to an end that it asked for *after* the batch was fetched, and only then calls the id a stranger.

    link A->B, on B       note id 7 ── acknowledged ── first batch with id 7
    link B->A, reading B                                     fetched ── where do the notes end? ── read them ── decide

Nothing is ever removed: batches of an id that Kafka gave up (it forgets idle transactional ids) stay in the logs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final

from twinlog.errors import BrokerRefused, TopicNotKnownYet
from twinlog.logs.append import LogWriter
from twinlog.logs.read import Batches, is_there, read_up_to, records_in
from twinlog.model.routes.provenance import WRITERS_TOPIC, WriterNote, read_writer
from twinlog.wire.committed import Stamps
from twinlog.wire.connection import Cluster
from twinlog.wire.log import fetch_ends

_LIMIT_S: Final = 30.0
_REMEMBERED: Final = 100_000
"""Strangers that are remembered: a cluster may see a new producer every millisecond (R11)."""


async def note_writer(target: Cluster, note: WriterNote) -> None:
    """Note an id; returns when every replica has it. Raises BrokerRefused when the topic is gone or has no leader."""
    writer = LogWriter(target, WRITERS_TOPIC)
    try:
        async with asyncio.timeout(_LIMIT_S):
            await writer.append([(note.key(), note.value())])
    except TimeoutError:
        problem = f"{WRITERS_TOPIC} takes no records; if it was deleted, restart Twinlog, which creates it"
        raise BrokerRefused(target.alias, problem) from None


async def await_known_everywhere(target: Cluster) -> None:
    """Make sure that each broker knows the writers' topic before the first note: raises TopicNotKnownYet.

    A broker whose metadata lags would otherwise tell a reader that nobody writes here. Once there is a note, there was
    a link that looked.
    """
    await target.refresh([WRITERS_TOPIC])
    if (await fetch_ends(target, WRITERS_TOPIC, [0]))[0] > 0:
        return
    for node in list(target.nodes):
        metadata = await target.refresh([WRITERS_TOPIC], node)
        if metadata[WRITERS_TOPIC].error:
            raise TopicNotKnownYet(target.alias, WRITERS_TOPIC, node)


@dataclass
class SourceWriters:
    """What one reader knows of the producers of its source."""

    source: Cluster
    leaves_out: Callable[[WriterNote], bool]
    stamps: Stamps = field(default_factory=Stamps)
    _positions: dict[int, int] = field(default_factory=lambda: {0: 0})
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def learn(self, unknown: Collection[int]) -> None:
        """Decide about producers whose batches were just fetched. Raises what keeps us from reading the notes."""
        async with self._lock:  # who waited for another one's question may find its answer
            if all(producer in self.stamps.copied or producer in self.stamps.left_out for producer in unknown):
                return
            await self._read_notes()
            if len(self.stamps.copied) > _REMEMBERED:
                self.stamps.copied.intersection_update({-1})
                self._positions[0] = 0
                await self._read_notes()
            self.stamps.copied.update(producer for producer in unknown if producer not in self.stamps.left_out)

    async def _read_notes(self) -> None:
        if not await is_there(self.source, WRITERS_TOPIC):
            return  # no link writes into this cluster
        end = (await fetch_ends(self.source, WRITERS_TOPIC, [0]))[0]
        if end < self._positions[0]:  # created anew
            self._positions[0] = 0
        await read_up_to(self.source, WRITERS_TOPIC, self._positions, {0: end}, self._take_notes, "writers")

    def _take_notes(self, _: int, batches: Batches) -> None:
        for record in records_in(batches):
            self._take(read_writer(record.key, record.value))

    def _take(self, note: WriterNote | None) -> None:
        if note is None:
            return
        own, other = (
            (self.stamps.left_out, self.stamps.copied)
            if self.leaves_out(note)
            else (self.stamps.copied, self.stamps.left_out)
        )
        own.add(note.producer_id)
        other.discard(note.producer_id)
