"""Promoting the registry of a link's target without a switch of the records. Runs in the command."""

from __future__ import annotations

from twinlog.config.settings import LinkSettings
from twinlog.errors import BrokerRefused
from twinlog.ledger.reading import read_ledger
from twinlog.registry.pair.home import Home
from twinlog.registry.pair.orders import Promote
from twinlog.registry.pair.reading import IndexReader
from twinlog.registry.pair.registry_writer import opened
from twinlog.sync.registry import noted_home
from twinlog.wire.connection import Cluster


async def promotion_of(link: LinkSettings, *, dry_run: bool) -> tuple[Home, int]:
    """Make the target the home of its copy of the schemas; returns the home and how many versions it has.

    Raises ClusterError, and LedgerMissing when the link never ran.
    """
    registry = link.registry
    noted = noted_home(await read_ledger(link))
    target = Cluster(link.clients.target_producer, f"twinlog|{link.name}|promotion")
    try:
        index = await IndexReader(target, registry.topic).refresh()
        if index is None or target.cluster_id is None:
            raise BrokerRefused(link.target, f"there is no {registry.topic}: the link never mirrored a registry")
        async with opened(target, registry.topic, registry.transactional_id) as writer:
            order = Promote(target.cluster_id, noted, registry.id_gap)
            if dry_run:
                from twinlog.registry.writes.round import Round  # noqa: PLC0415  only to look

                home = order.plan(writer.state, Round()).answer
            else:
                home = (await writer.write(order)).answer
        return home, len(index.places)
    finally:
        await target.close()
