"""One look at a link's ledger by somebody who does not follow it: a command, an application. Disturbs nobody."""

from __future__ import annotations

import asyncio

from twinlog.config.settings import ClientSettings
from twinlog.errors import ClusterUnreachable
from twinlog.ledger.view import LedgerView
from twinlog.model.ledger import ROSTER_PARTITION, ledger_topic, shard_of
from twinlog.model.names import TopicPartition
from twinlog.wire.connection import Cluster, ConnectionTrouble


async def read_ledger(
    settings: ClientSettings, source: str, *, within_s: float, about: TopicPartition | None = None
) -> LedgerView | None:
    """Read the ledger of the link from `source`; None when it has none. Never a part of what was asked for.

    With `about`, a source partition, only the roster and the shard of that partition are read.
    """
    cluster = Cluster(settings, "twinlog|snapshot")
    topic = ledger_topic(source)
    try:
        async with asyncio.timeout(within_s):
            wanted = set((await cluster.refresh([topic]))[topic].leaders)
            if not wanted:
                return None
            if about is not None:
                wanted = {ROSTER_PARTITION, 1 + shard_of(about, len(wanted) - 1)}
            view = LedgerView(dict.fromkeys(wanted, 0), keep_maps=True)
            await view.catch_up(cluster, source)
            return view
    except (TimeoutError, *ConnectionTrouble) as error:
        problem = str(error) or f"no end of it came within {within_s:.0f} s"
        raise ClusterUnreachable(settings.cluster, f"{topic}: {problem}") from error
    finally:
        await cluster.close()
