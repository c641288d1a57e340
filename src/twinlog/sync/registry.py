"""The sync job "registry": the schemas of both ends compared, and the ids that the target has confirmed.

    read both topics ─▶ compare (registry/pair/divergence) ─▶ equal, late, or an alarm
                     └▶ confirmed ids ─▶ memo in the ledger ─▶ record in the source's topic

The memo comes first. A promoted target reads the memo and gives ids behind all that the source may give, so the source
must not be allowed more than the memo says. Runs in the service's loop.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Final

from twinlog.errors import ClusterError
from twinlog.ledger.view import LedgerView
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.ledger.records import Memo
from twinlog.model.names import TopicPartition
from twinlog.registry.pair.divergence import divergences
from twinlog.registry.pair.home import Home, confirmed
from twinlog.registry.pair.index import TopicIndex
from twinlog.registry.pair.reading import IndexReader
from twinlog.sync.ends import LinkEnds
from twinlog.sync.internal_topics import InternalLog
from twinlog.sync.jobs import Outcome
from twinlog.wire.codec import PlainRecord
from twinlog.wire.connection import Cluster

CHORE: Final = "registry"
HOME_MEMO: Final = "home"
_SECONDS: Final = 2.0
_LISTED: Final = 20


@dataclass
class RegistrySync:
    """The registry of one link's two clusters."""

    ends: LinkEnds
    name: str = CHORE
    seconds: float = _SECONDS
    _open: tuple[IndexReader, IndexReader] | None = field(default=None, repr=False)

    async def step(self, view: LedgerView) -> Outcome:
        """Compare once. Nothing is said about a source that has no registry."""
        registry = self.ends.link.registry
        here, there = self._readers()
        home = await here.refresh()
        entry = view.roster.get(registry.topic)
        if home is None or entry is None or entry.problem is not None:
            return Outcome()
        state = view.states.get(TopicPartition(registry.topic, 0))
        reached = state.source_next if state is not None and state.incarnation == entry.incarnation else 0
        copy = await there.refresh()
        if copy is None:
            return Outcome()
        differing = list(divergences(home, copy, complete=reached >= home.position))
        memos, trouble = await self._confirm(view, home, copy, here.cluster) if not differing else ([], None)
        alarm = None
        if differing:
            told = f"the schemas of {self.ends.link.source} and their copy differ in {len(differing)} points"
            alarm = f"SCHEMA_DIVERGED: {told}; `twinlog registry verify` lists all"
        return Outcome(
            {"versions": len(home.places), "behind": max(0, home.position - reached), "differences": len(differing)},
            [*map(str, differing[:_LISTED]), *([trouble] if trouble else [])],
            memos,
            alarm=alarm,
        )

    async def _confirm(
        self, view: LedgerView, home: TopicIndex, copy: TopicIndex, source: Cluster
    ) -> tuple[list[Memo], str | None]:
        """Say which ids the target has, first in the ledger, then at home."""
        if source.cluster_id is None:
            return [], None
        wanted = confirmed(source.cluster_id, home.home, copy.highest, self.ends.link.registry.id_gap)
        if wanted is None:
            return [], None
        noted = noted_home(view)
        if noted is None or noted != wanted:
            return [Memo(chore=CHORE, name=HOME_MEMO, body=asdict(wanted))], None
        record = wanted.record()
        try:
            line = PlainRecord(0, SYSTEM_CLOCK.now_ms(), record.key, record.value, [])
            await InternalLog(source, self.ends.link.registry.topic).write([line])
        except ClusterError as refused:
            way = "ids of both datacenters are kept apart by a gap alone; grant Write on it"
            return [], f"{self.ends.link.registry.topic}: could not be written on {source.alias}: {refused}: {way}"
        return [], None

    def _readers(self) -> tuple[IndexReader, IndexReader]:
        if self._open is None:
            link = self.ends.link
            source = Cluster(link.clients.source_producer, f"twinlog|{link.name}|registry")
            target = Cluster(link.clients.target_consumer, f"twinlog|{link.name}|registry")
            self._open = IndexReader(source, link.registry.topic), IndexReader(target, link.registry.topic)
        return self._open

    async def close(self) -> None:
        for reader in self._open or ():
            await reader.cluster.close()


def noted_home(view: LedgerView) -> Home | None:
    """What the ledger remembers: the source gives no id above it."""
    memo = view.memos.get(CHORE, {}).get(HOME_MEMO)
    if memo is None:
        return None
    body: dict[str, Any] = memo.body
    return Home(body["cluster"], int(body["term"]), int(body["gap"]), dict(body["confirmed"]), dict(body["floors"]))
