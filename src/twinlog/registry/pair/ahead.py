"""Schemas of a promoted datacenter at the old home before the records that need them are copied back. Runs in a loop.

    away (promoted) ── records ──▶ home        a record of the way back waits until `position` covers
                    └─ new ids  ──▶ home       the end that the away topic had when it was fetched

Only versions are brought whose ids the away datacenter gave since it was promoted. Deletions and settings wait for the
failback, which merges everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from twinlog.errors import AccessDenied, BrokerRefused
from twinlog.model.ledger.records import BROUGHT, SCHEMAS_AHEAD, Memo
from twinlog.registry.pair.index import SchemaId, TopicIndex
from twinlog.registry.pair.merge import Merge
from twinlog.registry.pair.orders import BringAhead
from twinlog.registry.pair.reading import IndexReader
from twinlog.registry.pair.registry_writer import opened

_CAUGHT_UP_S: Final = 10.0


class Ahead(NamedTuple):
    """Up to where the away topic's ids resolve at home, how many versions were written now, and what refused them."""

    position: int
    versions: int = 0
    refused: str | None = None

    @property
    def memo(self) -> Memo:
        """As the readers of the way back hear of it. Where schemas are refused, records continue without them."""
        return Memo(chore=SCHEMAS_AHEAD, name=BROUGHT, body={"position": self.position})


@dataclass
class Bringing:
    """Follows both topics, and writes at home what is new away."""

    away: IndexReader
    home: IndexReader
    """Its cluster may write."""
    transactional_id: str
    _last: Ahead | None = None

    async def step(self) -> Ahead | None:
        """Bring what is new; None while the away datacenter is not the home of the schemas. Raises ClusterError."""
        away = await self.away.refresh()
        if (
            away is None
            or away.home is None
            or away.home.term == 0
            or away.home.cluster != self.away.cluster.cluster_id
        ):
            self._last = None
            return None
        if self._last is not None and self._last.position == away.position and self._last.refused is None:
            return self._last
        position = away.position
        home = await self.home.refresh()
        if home is None or (home.home is not None and home.home.term > away.home.term):
            self._last = None
            return None
        self._last = Ahead(position)
        if lacking(away, home):
            self._last = await self._bring(position)
        return self._last

    async def _bring(self, position: int) -> Ahead:
        topic, writing = self.home.topic, self.home.cluster
        async with opened(self.away.cluster, topic, self.transactional_id) as away:
            await away.reader.caught_up(_CAUGHT_UP_S)
            try:
                async with opened(writing, topic, self.transactional_id) as home:
                    merged = (await home.write(BringAhead(away.state))).answer
            except (AccessDenied, BrokerRefused) as refused:
                return Ahead(position, 0, str(refused))
        if not isinstance(merged, Merge):
            raise TypeError("bringing schemas answers with a merge")
        return Ahead(position, merged.counts["brought"])


def lacking(away: TopicIndex, home: TopicIndex) -> set[SchemaId]:
    """Ids that only the away datacenter can have given and that the home does not know."""
    if away.home is None:
        return set()
    known = home.digests()
    return {
        number for number in away.digests() if number.number > away.home.floor(number.context) and number not in known
    }
