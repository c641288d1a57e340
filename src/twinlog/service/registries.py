"""The schema registries of all clusters that links mirror, for status and pages. Runs in the service's loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from twinlog.config.settings import LinkSettings
from twinlog.registry.pair.site import Site, SiteFacts, look_at_all


@dataclass
class Registries:
    """Remembers what was read of each topic, so that the next look reads only what is new."""

    _looks: dict[tuple[str, str], SiteFacts] = field(default_factory=dict)

    async def look(self, links: Sequence[LinkSettings]) -> list[Site]:
        """Every cluster once, in the order of the links."""
        wanted = {(look.alias, look.topic): look for link in links if link.registry.mirrored for look in _ends(link)}
        for key, look in wanted.items():
            known = self._looks.get(key)
            if known is None or known.client != look.client or known.group != look.group:
                self._looks[key] = look
        return await look_at_all([self._looks[key] for key in wanted])


def _ends(link: LinkSettings) -> Iterator[SiteFacts]:
    registry = link.registry
    yield SiteFacts(link.source, link.clients.source_consumer, registry.topic, registry.group_id)
    yield SiteFacts(link.target, link.clients.target_consumer, registry.topic, registry.group_id)
