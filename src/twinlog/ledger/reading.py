"""One look at a link's ledger by somebody who does not follow it: a command, an application. Disturbs nobody."""

from __future__ import annotations

import asyncio
from typing import Final, Literal, TypeAlias

from twinlog.config.settings import ClientSettings, LinkSettings
from twinlog.errors import ClusterUnreachable, LedgerMissing
from twinlog.ledger.view import LedgerView
from twinlog.model.ledger.records import ROSTER_PARTITION, ledger_topic, shard_of
from twinlog.model.names import TopicPartition
from twinlog.wire.connection import Cluster, ConnectionTrouble

WITHIN_S: Final = 60.0

Part: TypeAlias = Literal["all", "roster"] | TopicPartition
"""All of it, all but what it says of partitions, or the roster and what it says of one source partition."""


async def look_at_ledger(
    settings: ClientSettings, source: str, *, within_s: float = WITHIN_S, part: Part = "all"
) -> LedgerView | None:
    """Read the ledger of the link from `source`; None when it has none. Never a part of what was asked for."""
    cluster = Cluster(settings, "twinlog|look")
    topic = ledger_topic(source)
    view = LedgerView({}, keep_maps=True)
    try:
        async with asyncio.timeout(within_s):
            there = set((await cluster.refresh([topic]))[topic].leaders)
            if not there:
                return None
            view.positions |= dict.fromkeys(_wanted(there, part), 0)
            await view.catch_up(cluster, source)
            return view
    except (TimeoutError, *ConnectionTrouble) as error:
        problem = str(error) or f"no end of it came within {within_s:.0f} s"
        if lost := view.leaderless(cluster, source):
            problem += f": no leader for its partitions {', '.join(map(str, lost))}"
        raise ClusterUnreachable(settings.cluster, f"{topic}: {problem}") from error
    finally:
        await cluster.close()


async def read_ledger(link: LinkSettings) -> LedgerView:
    """Everything that the ledger of a link says now, its offset maps included. Raises LedgerMissing."""
    view = await look_at_ledger(link.target_producer, link.source)
    if view is None:
        raise LedgerMissing(link.name, ledger_topic(link.source), link.target)
    return view


def _wanted(there: set[int], part: Part) -> set[int]:
    match part:
        case "all":
            return there
        case "roster":
            return {ROSTER_PARTITION}
        case TopicPartition():
            return {ROSTER_PARTITION, 1 + shard_of(part, len(there) - 1)}
