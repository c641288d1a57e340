"""Whose ledger it is: a ledger belongs to the two clusters that it was first written for. Runs in the engine.

Aliases are words in a file. Two deployments may give one alias to different source clusters, and with it one ledger and
one set of transactional ids on the target they share. The ids of both clusters are in the ledger, and an engine that
finds others does not sign in: it would take the link from the engine that the ledger belongs to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from twinlog.config.settings import LinkSettings
from twinlog.errors import ClusterError, LedgerOfOtherClusters
from twinlog.ledger.view import LedgerView
from twinlog.ledger.writer import LedgerWriter
from twinlog.model.ledger.records import LedgerOwners, ledger_topic
from twinlog.model.routes.provenance import ClusterIds
from twinlog.wire.connection import Cluster

_ANSWER_WITHIN_S: Final = 5.0


async def check_before_signing_in(
    link: LinkSettings, target: Cluster, view: LedgerView, identify: Callable[[], Awaitable[ClusterIds]]
) -> bool:
    """Read the ledger and compare; raises LedgerOfOtherClusters. A source that is away is asked again later."""
    await view.catch_up(target, link.source)
    if view.owners is not None:
        try:
            async with asyncio.timeout(_ANSWER_WITHIN_S):
                cluster_ids = await identify()
        except LedgerOfOtherClusters:
            raise
        except (TimeoutError, ClusterError):
            return True  # nothing is copied before it answers, and then it is asked
        require_own(link, view, cluster_ids)
    return True


def require_own(link: LinkSettings, view: LedgerView, cluster_ids: ClusterIds) -> None:
    """Raise LedgerOfOtherClusters when the ledger was written for other clusters."""
    owners = view.owners
    for alias, noted, asked in (
        (link.source, owners.source if owners else cluster_ids.source, cluster_ids.source),
        (link.target, owners.target if owners else cluster_ids.target, cluster_ids.target),
    ):
        if noted != asked:
            raise LedgerOfOtherClusters(link.name, asked, alias, noted, ledger_topic(link.source), link.target)


async def bind(link: LinkSettings, writer: LedgerWriter, view: LedgerView, cluster_ids: ClusterIds) -> ClusterIds:
    """Note the clusters in a ledger that names none yet; raises LedgerOfOtherClusters when it names others."""
    require_own(link, view, cluster_ids)
    if view.owners is None:
        owners = LedgerOwners(source=cluster_ids.source, target=cluster_ids.target)
        await writer.write([owners])
        view.owners = owners
    return cluster_ids
