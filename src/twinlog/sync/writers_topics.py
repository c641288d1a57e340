"""Creates on the target the topics that producers look for after a failover. Runs in `twinlog link prepare`.

The source is not asked: partitions come from the ledger, replication and configs from the copy, which has them from the
source. So it works after the source is lost, too.
"""

from __future__ import annotations

from twinlog.errors import ClusterError
from twinlog.kafka.admin import TopicOrder
from twinlog.ledger.reading import read_ledger
from twinlog.model.topics.configs import ConfigOrigin
from twinlog.model.topics.target_topics import TopicFacts
from twinlog.model.topics.writers_topics import missing_for_writers
from twinlog.sync.ends import LinkEnds


async def orders_for_writers(ends: LinkEnds) -> list[TopicOrder]:
    """What would be created. Raises LedgerMissing when no engine has ever run the link, ClusterError."""
    roster = (await read_ledger(ends.link)).roster
    missing = missing_for_writers(roster.values(), ends.link.naming, set(ends.target.list_topics()))
    remotes = {name: roster[name].remote for name in missing}
    copies = ends.target.describe_topics(remotes.values())
    configs = ends.target.fetch_topic_configs(remotes.values())
    orders = []
    for name, remote in remotes.items():
        copy, settings = copies[remote], configs[remote]
        if isinstance(copy, ClusterError):
            raise copy
        if isinstance(settings, ClusterError):
            raise settings
        own = {
            config.name: config.value
            for config in settings
            if config.origin is ConfigOrigin.TOPIC and config.value is not None
        }
        factor = copy.replication_factor if isinstance(copy, TopicFacts) else -1
        orders.append(TopicOrder(name, roster[name].partitions, factor, own))
    return orders


def create_for_writers(ends: LinkEnds, orders: list[TopicOrder]) -> dict[str, ClusterError | None]:
    """Create them; a refusal per topic, None where it was created."""
    return dict(ends.target.create_topics(orders))
