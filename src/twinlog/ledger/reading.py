"""Reading a whole ledger once: for commands and the client library, beside or without a running engine."""

from __future__ import annotations

import asyncio
from typing import Final

from twinlog.errors import BrokerRefused, LedgerMissing
from twinlog.ledger.view import LedgerView
from twinlog.model.ledger import ledger_topic
from twinlog.model.names import LinkName
from twinlog.wire.connection import Cluster

_WITHIN_S: Final = 60.0


async def read_ledger(target: Cluster, link: LinkName) -> LedgerView:
    """Everything that the ledger of a link says now, its offset maps included."""
    topic = ledger_topic(link.source)
    metadata = (await target.refresh([topic]))[topic]
    if metadata.error or not metadata.leaders:
        raise LedgerMissing(str(link), topic, target.alias)
    view = LedgerView(dict.fromkeys(metadata.leaders, 0), keep_maps=True)
    try:
        async with asyncio.timeout(_WITHIN_S):
            await view.catch_up(target, link.source)
    except TimeoutError:
        raise BrokerRefused(target.alias, f"{topic} could not be read within {_WITHIN_S:.0f} s") from None
    return view
