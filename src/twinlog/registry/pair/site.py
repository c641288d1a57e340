"""The registry of one cluster as its topic and its group show it, for status: who leads, whose schemas, how many.

Runs in the service's loop. What a look cannot find out is None, and `trouble` says why.
"""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from twinlog.config.settings import ClientSettings
from twinlog.errors import ClusterError
from twinlog.registry import identity as sr
from twinlog.registry.identity import assignment_of, identity_of
from twinlog.registry.pair.index import TopicIndex
from twinlog.registry.pair.reading import IndexReader
from twinlog.wire.connection import Cluster
from twinlog.wire.membership import Membership, MembershipLost

_LIMIT_S: Final = 5.0


@dataclass(frozen=True)
class Instance:
    """One member of the registry's group."""

    url: str
    eligible: bool
    leads: bool


@dataclass(frozen=True)
class Site:
    """One cluster. `home` is the alias of the cluster that the schemas belong to; None when no record says it."""

    cluster: str
    topic: str
    index: TopicIndex | None = None
    instances: tuple[Instance, ...] | None = None
    cluster_id: str | None = None
    home: str | None = None
    trouble: str | None = None

    @property
    def leader(self) -> str | None:
        return next((instance.url for instance in self.instances or () if instance.leads), None)


@dataclass
class SiteFacts:
    """Looks at one cluster again and again; what was read of the topic is kept."""

    alias: str
    client: ClientSettings
    topic: str
    group: str
    _reader: IndexReader | None = field(default=None, repr=False)
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    async def look(self) -> Site:
        """Never raises: a cluster that does not answer is a site with trouble."""
        async with self._one_at_a_time:
            cluster = Cluster(self.client, "twinlog|registries")
            try:
                async with asyncio.timeout(_LIMIT_S):
                    return await self._look(cluster)
            except TimeoutError:
                return Site(self.alias, self.topic, trouble=f"{self.alias} did not answer within {_LIMIT_S:.0f} s")
            except (ClusterError, MembershipLost) as error:
                return Site(self.alias, self.topic, trouble=str(error))
            finally:
                await cluster.close()

    async def _look(self, cluster: Cluster) -> Site:
        if self._reader is None:
            self._reader = IndexReader(cluster, self.topic)
        self._reader.cluster = cluster  # connections live as long as one look
        index = await self._reader.refresh()
        member = Membership(cluster, self.group, sr.PROTOCOL_TYPE, sr.PROTOCOL, 10_000, 10_000)
        instances = instances_of(await member.described())
        return Site(self.alias, self.topic, index, instances, cluster.cluster_id)


def instances_of(members: Mapping[str, tuple[bytes, bytes]]) -> tuple[Instance, ...]:
    """The instances of a group, the leader first. Members that are no registry are left out."""
    instances: list[Instance] = []
    for name, (said, given) in members.items():
        with contextlib.suppress(ValueError):
            me = identity_of(sr.decoded(said))
            leads = bool(given) and assignment_of(given).member == name
            instances.append(Instance(me.url, me.eligible, leads))
    return tuple(sorted(instances, key=lambda instance: (not instance.leads, instance.url)))


async def look_at_all(looks: Sequence[SiteFacts]) -> list[Site]:
    """All clusters side by side. The home is named by its alias where one of them is it, else by its id."""
    sites = await asyncio.gather(*(look.look() for look in looks))
    aliases = {site.cluster_id: site.cluster for site in sites if site.cluster_id is not None}
    return [_with_home(site, aliases) for site in sites]


def _with_home(site: Site, aliases: Mapping[str, str]) -> Site:
    home = None if site.index is None else site.index.home
    if home is None:
        return site
    named = aliases.get(home.cluster, home.cluster)
    return Site(site.cluster, site.topic, site.index, site.instances, site.cluster_id, named, site.trouble)
