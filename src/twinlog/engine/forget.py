"""Forgets a topic: removes it from the roster, so that it is copied from its start. Runs in the command line."""

from __future__ import annotations

from twinlog.config.settings import LinkSettings
from twinlog.errors import UsageError
from twinlog.ledger.view import LedgerView
from twinlog.ledger.writer import roster_writer
from twinlog.model.ledger.records import ROSTER_PARTITION
from twinlog.wire.connection import Cluster


async def forget(link: LinkSettings, topic: str, *, dry_run: bool = False) -> None:
    """Remove the topic from the roster. Its old states stay: they name another incarnation and are void.

    A dry run only looks whether it is there. Raises UsageError when it is not.
    """
    target = Cluster(link.clients.target_producer, f"twinlog|{link.name}|forget")
    try:
        view = LedgerView({ROSTER_PARTITION: 0})
        await view.catch_up(target, link.source)
        if topic not in view.roster:
            known = ", ".join(sorted(view.roster)) or "none"
            raise UsageError(f"{topic}: not mirrored by {link.name}; it mirrors: {known}")
        if dry_run:
            return
        await roster_writer(target, link.source, link.name).write([], tombstones=[f"roster/{topic}".encode()])
    finally:
        await target.close()
