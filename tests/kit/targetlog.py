"""A target partition as a broker keeps it: sequence numbers are checked, the last five batches are remembered."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.kit.batches import Made, Signature, at, make_batch, read_back, rewritten

from twinlog.wire.batch import CONTROL, TRANSACTIONAL, BatchHeader, checksum_holds, read_header
from twinlog.wire.codec import PlainRecord

REMEMBERED = 5
STRANGER = 99
UNSIGNED = -1


class Remembered(NamedTuple):
    first: int
    last: int
    base: int


@dataclass
class ProducerState:
    epoch: int
    batches: deque[Remembered] = field(default_factory=lambda: deque(maxlen=REMEMBERED))


@dataclass
class TargetLog:
    """One partition, with our batches, a stranger's, and markers."""

    end: int = 0
    batches: list[bytes] = field(default_factory=list)
    producers: dict[int, ProducerState] = field(default_factory=dict)

    def append(self, batch: bytes) -> tuple[int, int]:
        """(error, base offset), by the rules of an idempotent producer."""
        header = read_header(batch)
        assert header.size == len(batch)
        assert checksum_holds(batch, header)
        assert header.is_dense  # a broker refuses it otherwise
        if header.producer_id == UNSIGNED:
            base, self.end = self.end, self.end + header.record_count
            self.batches.append(rewritten(batch, base_offset=base))
            return 0, base
        known = self.producers.get(header.producer_id)
        if known is not None and known.epoch > header.producer_epoch:
            return 47, -1
        stranger = known is None  # a producer that the partition never met, or forgot, may begin anywhere (KIP-360)
        if known is None or known.epoch < header.producer_epoch:
            if header.base_sequence != 0 and not stranger:
                return 45, -1
            known = self.producers[header.producer_id] = ProducerState(header.producer_epoch)
        first, last = header.base_sequence, (header.base_sequence + header.record_count - 1) & 0x7FFFFFFF
        for old in known.batches:
            if (old.first, old.last) == (first, last):
                return 0, old.base
        expected = (known.batches[-1].last + 1) & 0x7FFFFFFF if known.batches else 0
        if first != expected and not stranger:
            return 45, -1
        base, self.end = self.end, self.end + header.record_count
        self.batches.append(rewritten(batch, base_offset=base))
        known.batches.append(Remembered(first, last, base))
        return 0, base

    def forget_producers(self) -> None:
        """Nobody wrote for a day (`producer.id.expiration.ms`)."""
        self.producers.clear()

    def plant(self, producer_id: int, epoch: int) -> int:
        """A marker: shuts every earlier epoch out; sequences of the same epoch go on. Returns the offset behind it."""
        known = self.producers.get(producer_id)
        if known is None or known.epoch != epoch:
            self.producers[producer_id] = ProducerState(epoch)
        self._add(make_batch([at(self.end)], flags=TRANSACTIONAL | CONTROL, signature=Signature(producer_id, epoch)))
        return self.end

    def stranger_writes(self, count: int) -> None:
        records = [at(self.end + i, b"not ours") for i in range(count)]
        self._add(make_batch(records, signature=Signature(STRANGER, 0, 0)))

    def _add(self, made: Made) -> None:
        self.batches.append(made.data)
        self.end = made.next_offset

    def behind(self, offset: int) -> Iterator[tuple[BatchHeader, bytes]]:
        """What a fetch from `offset` brings: the batch that holds it, and all behind."""
        for batch in self.batches:
            header = read_header(batch)
            if header.next_offset > offset:
                yield header, batch

    def written(self, producer_id: int, epoch: int) -> dict[tuple[int, int], int]:
        """First and last sequence number -> offset, of the batches of one producer and epoch."""
        headers = [header for header, _ in self.behind(0) if not header.is_control]
        ours = [header for header in headers if (header.producer_id, header.producer_epoch) == (producer_id, epoch)]
        return {(h.base_sequence, (h.base_sequence + h.record_count - 1) & 0x7FFFFFFF): h.base_offset for h in ours}

    def records(self) -> list[PlainRecord]:
        """What the mirror wrote."""
        ours = [batch for header, batch in self.behind(0) if not header.is_control and header.producer_id != STRANGER]
        return [record for batch in ours for record in read_back(batch)]
