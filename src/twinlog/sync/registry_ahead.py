"""The sync job "registry-ahead" of a way back: new schemas of a promoted cluster reach the old home before the records.

It does nothing while the link's source is not the home of the schemas. Runs in the service's loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from twinlog.ledger.view import LedgerView
from twinlog.model.ledger.records import BROUGHT, SCHEMAS_AHEAD
from twinlog.registry.pair.ahead import Bringing
from twinlog.registry.pair.reading import IndexReader
from twinlog.sync.ends import LinkEnds
from twinlog.sync.jobs import Outcome
from twinlog.wire.connection import Cluster

_SECONDS: Final = 1.0


@dataclass
class RegistryAhead:
    """The registries of a link that copies back."""

    ends: LinkEnds
    name: str = SCHEMAS_AHEAD
    seconds: float = _SECONDS
    _bringing: Bringing | None = field(default=None, repr=False)

    async def step(self, view: LedgerView) -> Outcome:
        """Bring what is new. Readers let records pass up to what the memo says."""
        noted = view.memos.get(SCHEMAS_AHEAD, {}).get(BROUGHT)
        ahead = await self._open().step()
        if ahead is None:
            return Outcome(forget=[] if noted is None else [BROUGHT])
        link = self.ends.link
        findings = []
        if ahead.refused is not None:
            told = f"new schemas of {link.source} are not brought to {link.target}: {ahead.refused}"
            findings.append(f"{told}; records continue, and the failback brings the schemas")
        changed = noted is None or noted.body != ahead.memo.body
        return Outcome({"versions": ahead.versions}, findings, [ahead.memo] if changed else [])

    def _open(self) -> Bringing:
        if self._bringing is None:
            link, registry = self.ends.link, self.ends.link.registry
            away = Cluster(link.clients.source_consumer, f"twinlog|{link.name}|registry")
            home = Cluster(link.clients.target_producer, f"twinlog|{link.name}|registry")
            readers = IndexReader(away, registry.topic), IndexReader(home, registry.topic)
            self._bringing = Bringing(*readers, registry.transactional_id)
        return self._bringing

    async def close(self) -> None:
        """Close the connections."""
        if self._bringing is not None:
            await self._bringing.away.cluster.close()
            await self._bringing.home.cluster.close()
