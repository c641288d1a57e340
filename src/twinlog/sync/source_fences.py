"""The fences on a link's source, so that no sync job copies their values. Runs in the service's loop."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from twinlog.config.settings import LinkSettings
from twinlog.errors import AccessDenied
from twinlog.ledger.switch_log import SwitchTopic
from twinlog.model.names import LinkName
from twinlog.model.switch.fences import Fences
from twinlog.wire.connection import Cluster

log = logging.getLogger("twinlog.sync")


@dataclass
class SourceFences:
    """The fences on the source of one link; only what is new in the switch log is read."""

    link: LinkSettings
    fences: Fences = field(init=False)
    _log: SwitchTopic | None = None

    def __post_init__(self) -> None:
        self.fences = Fences(self.link.source)

    async def look(self) -> Fences:
        """The fences by now. Who may not read the switch log knows of none: the size limit of a fence tells itself."""
        cluster = Cluster(self.link.clients.source_consumer, f"twinlog|{self.link.name}|fences")
        if self._log is None:
            name = LinkName(self.link.source, self.link.target)
            self._log = SwitchTopic(cluster, name, on_entry=self.fences.take)
        self._log.cluster = cluster
        try:
            await self._log.catch_up()
        except AccessDenied as denied:
            log.info("%s: fences on the source are not known: %s", self.link.name, denied)
        finally:
            await cluster.close()
        self.fences.cluster_id = cluster.cluster_id or ""
        return self.fences
