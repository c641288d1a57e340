"""The ledger of a link that must have one: for commands, beside or without a running engine."""

from __future__ import annotations

from typing import Final

from twinlog.errors import LedgerMissing
from twinlog.ledger import snapshot
from twinlog.ledger.view import LedgerView
from twinlog.model.ledger import ledger_topic
from twinlog.model.names import LinkName
from twinlog.wire.connection import Cluster

_WITHIN_S: Final = 60.0


async def read_ledger(target: Cluster, link: LinkName) -> LedgerView:
    """Everything that the ledger says now, its offset maps included."""
    view = await snapshot.read_ledger(target.settings, link.source, within_s=_WITHIN_S)
    if view is None:
        raise LedgerMissing(str(link), ledger_topic(link.source), target.alias)
    return view
