"""Reads a link's ledger once, for a command or an application that does not follow it. It writes nothing."""

from __future__ import annotations

from twinlog.config.settings import ClientSettings, LinkSettings
from twinlog.errors import LedgerMissing
from twinlog.ledger.following import WITHIN_S, FollowedLedger, Part
from twinlog.ledger.view import LedgerView
from twinlog.model.ledger.records import ledger_topic
from twinlog.wire.connection import Cluster


async def look_at_ledger(
    settings: ClientSettings, source: str, *, within_s: float = WITHIN_S, part: Part = "all"
) -> LedgerView | None:
    """Read the ledger of the link from `source`; None when it has none. Never a part of what was asked for."""
    cluster = Cluster(settings, "twinlog|look")
    try:
        return await FollowedLedger(cluster, source, part).read(within_s)
    finally:
        await cluster.close()


async def read_ledger(link: LinkSettings) -> LedgerView:
    """Everything that the ledger of a link says now, its offset maps included. Raises LedgerMissing."""
    view = await look_at_ledger(link.clients.target_producer, link.source)
    if view is None:
        raise LedgerMissing(link.name, ledger_topic(link.source), link.target)
    return view
