"""The state of each cluster: brokers, replicas in sync, free disk, release. Runs in the service, once a minute.

What a cluster does not tell, or may not tell us, is None with the reason. A card that could not be renewed keeps its
time, so that nobody takes it for the present.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeVar

from twinlog.config.settings import ClientSettings, LinkSettings
from twinlog.errors import TwinlogError
from twinlog.kafka.admin import ClusterAdmin
from twinlog.kafka.inspection import look_at_cluster, look_at_replicas
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.health.inspection import FETCH, release_of
from twinlog.wire.connection import Cluster
from twinlog.wire.inspection import fetch_disks, fetch_versions

log = logging.getLogger("twinlog.watch")

T = TypeVar("T")

EVERY_S: Final = 60.0
_WITHIN_S: Final = 20.0


@dataclass(frozen=True)
class ClusterCard:
    """One cluster. None: not known; `unknown` has the reasons."""

    alias: str
    looked_ms: int
    brokers: int | None = None
    racks: int | None = None
    topics: int | None = None
    partitions: int | None = None
    under_replicated: int | None = None
    without_leader: int | None = None
    disk_total: int | None = None
    disk_usable: int | None = None
    fullest: float | None = None  # share of the fullest log directory that is used
    release: str | None = None
    unknown: tuple[str, ...] = ()
    trouble: str | None = None  # nobody answers


async def look_at_card(client: ClientSettings) -> ClusterCard:
    """Ask one cluster. Never raises what a cluster answers."""
    now = SYSTEM_CLOCK.now_ms()
    admin = ClusterAdmin(client)
    try:
        async with asyncio.timeout(_WITHIN_S):
            whole = await asyncio.to_thread(look_at_cluster, admin)
    except (TwinlogError, TimeoutError) as error:
        return ClusterCard(client.cluster, now, trouble=str(error) or "it did not answer in time")
    unknown: list[str] = []
    names = await _asked(asyncio.to_thread(admin.list_topics), unknown, "topics") or []
    placed = await _asked(asyncio.to_thread(look_at_replicas, admin, names), unknown, "replicas") if names else []
    wire = Cluster(client, "twinlog|cards")
    try:
        disks = await _asked(fetch_disks(wire, {}), unknown, "disks")
        speaks = await _asked(fetch_versions(wire), unknown, "release")
    finally:
        await wire.close()
    sized = [disk for disk in disks or () if disk.total_bytes > 0]
    return ClusterCard(
        client.cluster,
        now,
        brokers=len(whole.brokers),
        racks=len({broker.rack for broker in whole.brokers if broker.rack}) or None,
        topics=len(names) if placed is not None else None,
        partitions=None if placed is None else len(placed),
        under_replicated=None if placed is None else sum(len(p.in_sync) < len(p.replicas) for p in placed),
        without_leader=None if placed is None else sum(not p.in_sync for p in placed),
        disk_total=sum(disk.total_bytes for disk in sized) if sized else None,
        disk_usable=sum(disk.usable_bytes for disk in sized) if sized else None,
        fullest=max((1 - disk.usable_bytes / disk.total_bytes for disk in sized), default=None),
        release=None if speaks is None else release_of(speaks[FETCH]),
        unknown=tuple(unknown),
    )


async def _asked(question: Awaitable[T], unknown: list[str], what: str) -> T | None:
    try:
        async with asyncio.timeout(_WITHIN_S):
            return await question
    except (TwinlogError, TimeoutError) as error:
        unknown.append(f"{what}: {str(error) or 'no answer in time'}")
        return None


@dataclass
class ClusterWatch:
    """The cards of all clusters that links lead from or to."""

    links: Callable[[], Iterable[LinkSettings]]
    look: Callable[[ClientSettings], Awaitable[ClusterCard]] = look_at_card
    cards: dict[str, ClusterCard] = field(default_factory=dict)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                await self.look_at_all()
            except Exception:  # a mistake of ours must be seen, and must not end the watch
                log.exception("looking at clusters")
            await asyncio.sleep(EVERY_S if self.cards else 1.0)

    async def look_at_all(self) -> None:
        """Ask every cluster once, side by side."""
        clients: dict[str, ClientSettings] = {}
        for link in self.links():
            clients.setdefault(link.source, link.clients.source_admin)
            clients.setdefault(link.target, link.clients.target_admin)
        cards = await asyncio.gather(*map(self.look, clients.values()))
        self.cards = dict(zip(clients, cards, strict=True))
