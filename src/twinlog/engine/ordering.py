"""Writes an operator's order for a running link into its ledger: limits and paused topics. Runs in commands.

The order is one note. The engine's tasks hear it and follow it without a restart; it is there after one.
"""

from __future__ import annotations

from collections.abc import Callable

from twinlog.config.settings import LinkSettings
from twinlog.errors import UsageError
from twinlog.ledger.view import LedgerView
from twinlog.ledger.writer import roster_writer
from twinlog.model.ledger.control import CONTROL, WISH, Control
from twinlog.model.ledger.records import Memo, ledger_topic
from twinlog.wire.connection import Cluster


async def order_control(
    link: LinkSettings, change: Callable[[Control, LedgerView], Control], *, dry_run: bool = False
) -> tuple[Control, Control]:
    """Read the present order, change it, write it; return both. Raises UsageError before the link ever ran."""
    target = Cluster(link.clients.target_producer, f"twinlog|{link.name}|control")
    try:
        name = ledger_topic(link.source)
        known = (await target.refresh([name])).get(name)
        if known is None or not known.leaders:
            raise UsageError(f"{link.name}: it never ran, so there is no ledger to write to; start it once")
        view = LedgerView(dict.fromkeys(known.leaders, 0))
        await view.catch_up(target, link.source)
        before = view.control
        after = change(before, view)
        if after != before and not dry_run:
            writer = roster_writer(target, link.source, link.name)
            await writer.write([Memo(chore=CONTROL, name=WISH, body=after.body())])
        return before, after
    finally:
        await target.close()
