"""Writing the ledger: the entries of one shard with the shard's own producer, or the roster, unsigned.

Entries leave in order, each batch acknowledged before the next one leaves (logs.append), so a crash between two
batches leaves the first entries and none behind them. Whoever writes puts what a state refers to (a sealed part of the
map) before the state: then every such beginning is a truth that can be taken over (R9).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

from twinlog.errors import LogFenced, OwnershipLost
from twinlog.logs.append import LogWriter
from twinlog.logs.topic import KeyValue
from twinlog.model.ledger.records import ROSTER_PARTITION, Entry, key_of, ledger_topic
from twinlog.wire.connection import Cluster
from twinlog.wire.fence import Producer


@dataclass
class LedgerWriter:
    """Writes into one ledger partition, as one producer (a shard's owner) or unsigned (the roster)."""

    cluster: Cluster
    topic: str
    partition: int
    link: str
    producer: Producer | None = None
    _log: LogWriter = field(init=False)

    def __post_init__(self) -> None:
        self._log = LogWriter(self.cluster, self.topic, self.partition, self.producer, "ledger-write")

    async def write(self, entries: Iterable[Entry], tombstones: Iterable[bytes] = ()) -> int:
        """Write until acknowledged, in order; returns the offset of the first entry. Raises when fenced (R10)."""
        pairs: list[KeyValue] = [(key_of(entry), entry.value()) for entry in entries]
        pairs += [(key, None) for key in tombstones]
        try:
            return await self._log.append(pairs)
        except LogFenced as error:
            raise self._lost() from error

    async def write_decided(self, decide: Callable[[], Awaitable[Sequence[KeyValue]]]) -> None:
        """Write what is decided while this writer writes nothing else."""
        try:
            await self._log.append_decided(decide)
        except LogFenced as error:
            raise self._lost() from error

    def _lost(self) -> OwnershipLost:
        return OwnershipLost(self.link, self.partition - 1)


def roster_writer(cluster: Cluster, source: str, link: str) -> LedgerWriter:
    """A writer for the roster partition, without a producer id."""
    return LedgerWriter(cluster, ledger_topic(source), ROSTER_PARTITION, link)
