"""Transactions that an unplanned cut tore: some of their records were copied, others were not. Pure.

Records are copied partition by partition, so a transaction over several partitions may be on the other side in half.
The old primary's log can tell once it is back. Each partition is read around the cut, with its markers:

    copied ───────────────────────────▶ │ cut │ ◀─────────────────────────── never copied
    … records of x ── commit marker x ──│     │── records of y ── commit marker y …

A transaction is known by its producer id and epoch. Clients that speak transactions of version 2 get a new epoch for
each, so the pair is one transaction. With older clients several share an epoch. A producer has one transaction at a
time, so their times do not overlap: pieces whose times overlap, from first record to marker, are one transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from twinlog.model.names import TopicPartition


class TransactionId(NamedTuple):
    """What the log calls a transaction."""

    producer_id: int
    epoch: int


class Ended(NamedTuple):
    """One committed transaction in one partition: its records before and behind the cut, as far as they were read."""

    partition: TopicPartition
    id: TransactionId
    copied: int
    lost: int
    is_copied: bool  # its marker lies before the cut
    began_ms: int
    ended_ms: int


@dataclass
class _Open:
    copied: int = 0
    lost: int = 0
    began_ms: int | None = None


@dataclass
class TransactionScan:
    """The transactions of one partition, from its batches in the order of the log."""

    partition: TopicPartition
    ended: list[Ended] = field(default_factory=list)
    _open: dict[TransactionId, _Open] = field(default_factory=dict)

    def records(self, transaction: TransactionId, copied: int, lost: int, at_ms: int) -> None:
        """A batch of a transaction: so many of its records were copied, so many were not."""
        pending = self._open.setdefault(transaction, _Open())
        pending.copied += copied
        pending.lost += lost
        pending.began_ms = at_ms if pending.began_ms is None else min(pending.began_ms, at_ms)

    def marker(self, transaction: TransactionId, at_ms: int, *, committed: bool, is_copied: bool) -> None:
        """The end of a transaction here. A marker may carry a higher epoch than the records that it ends."""
        mine = [started for started in self._open if started.producer_id == transaction.producer_id]
        for started in mine:
            ended = self._open.pop(started)
            if committed:
                began = at_ms if ended.began_ms is None else min(ended.began_ms, at_ms)
                self.ended.append(Ended(self.partition, started, ended.copied, ended.lost, is_copied, began, at_ms))
        if committed and not mine:  # its records were not read: they lie before the stretch
            self.ended.append(Ended(self.partition, transaction, 0, 0, is_copied, at_ms, at_ms))


@dataclass(frozen=True)
class TornTransaction:
    """One transaction and where its two halves are."""

    id: TransactionId
    copied: Mapping[TopicPartition, int]  # records
    lost: Mapping[TopicPartition, int]
    certain: bool

    def __str__(self) -> str:
        there, missing = (
            ", ".join(f"{partition} ({records:,} records)" for partition, records in sorted(half.items()))
            for half in (self.copied, self.lost)
        )
        word = "torn" if self.certain else "torn by its times"
        who = f"producer {self.id.producer_id}, epoch {self.id.epoch}"
        return f"transaction of {who}, {word}: copied {there}; not copied {missing}"

    def as_json(self) -> dict[str, Any]:
        return {
            "producer_id": self.id.producer_id,
            "epoch": self.id.epoch,
            "certain": self.certain,
            "copied": {str(partition): records for partition, records in sorted(self.copied.items())},
            "lost": {str(partition): records for partition, records in sorted(self.lost.items())},
        }


def torn_transactions(scans: Iterable[TransactionScan]) -> list[TornTransaction]:
    """The transactions that have records on both sides of the cut, sorted."""
    by_id: dict[TransactionId, list[Ended]] = {}
    for scan in scans:
        for ended in scan.ended:
            by_id.setdefault(ended.id, []).append(ended)
    torn: list[TornTransaction] = []
    for transaction, pieces in sorted(by_id.items()):
        shared = len({piece.partition for piece in pieces}) < len(pieces)
        for group in _overlapping(pieces) if shared else [pieces]:
            copied = {part.partition: part.copied for part in group if part.copied or part.is_copied}
            lost = {part.partition: part.lost for part in group if part.lost or not part.is_copied}
            if copied and lost:
                torn.append(TornTransaction(transaction, copied, lost, certain=not shared))
    return torn


def _overlapping(pieces: Iterable[Ended]) -> list[list[Ended]]:
    """Pieces in groups whose times overlap."""
    groups: list[list[Ended]] = []
    reached = -1
    for piece in sorted(pieces, key=lambda piece: (piece.began_ms, piece.ended_ms)):
        if groups and piece.began_ms <= reached:
            groups[-1].append(piece)
        else:
            groups.append([piece])
        reached = max(reached, piece.ended_ms)
    return groups


def counted(torn: Iterable[TornTransaction]) -> str:
    """How many there are, for a sentence."""
    number = len(list(torn))
    return "1 torn transaction" if number == 1 else f"{number:,} torn transactions"
