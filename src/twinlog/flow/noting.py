"""Notes of the shards of one task in the ledger: every second, each shard for itself. Runs in the writer's loop.

A partition of the ledger that takes no notes holds no other up (R8). After some seconds the partitions of its shard are
stopped: what is copied and noted nowhere must stay little, because the next owner has to find it again (R11).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from twinlog.errors import LedgerUnwritable
from twinlog.flow.outbox import Outbox
from twinlog.flow.parcel import now_us
from twinlog.flow.stopwatch import Acknowledged
from twinlog.flow.stuck import LIMIT_S, Pressure
from twinlog.flow.takeover import ShardOwner
from twinlog.model.ledger.records import Entry
from twinlog.model.names import TopicPartition


@dataclass
class Noting:
    """The notes of one task."""

    owners: Mapping[int, ShardOwner]
    boxes: Mapping[TopicPartition, Outbox]
    spawn: Callable[[Coroutine[Any, Any, None]], None]
    under_way: dict[int, float] = field(default_factory=dict)  # shards, and since when they wait for an answer

    def flush(self) -> bool:
        """Begin to tell the ledger what is new; tells whether there is anything to tell.

        A shard whose notes are under way is told the next time.
        """
        shards: dict[int, list[Outbox]] = {
            shard: [] for shard, owner in self.owners.items() if not owner.ownership.watch.told
        }
        for box in self.boxes.values():
            if box.has_news:
                shards.setdefault(box.shard, []).append(box)
        for shard, boxes in shards.items():
            if shard not in self.under_way:
                self.under_way[shard] = time.monotonic()
                self.spawn(self.note(self.owners[shard], boxes))
        return bool(shards)

    async def note(self, owner: ShardOwner, boxes: Iterable[Outbox]) -> None:
        """Tell what is new of some partitions of a shard, and wait until the ledger has it."""
        self.under_way.setdefault(owner.shard, time.monotonic())
        try:
            await _write(owner, boxes)
        finally:
            self.under_way.pop(owner.shard, None)

    async def flush_all(self, failed: Callable[[], bool]) -> None:
        """Until the ledger knows everything. A shard that takes no notes is left to its next owner, who finds out."""
        deadline = time.monotonic() + LIMIT_S
        while (self.flush() or self.under_way) and not failed() and time.monotonic() < deadline:
            await asyncio.sleep(0.005)

    def unwritable(self, at: Pressure) -> Iterator[tuple[Outbox, LedgerUnwritable]]:
        """Partitions whose shard takes no notes for too long. A cluster that is away as a whole is waited for (R9)."""
        stuck = {shard for shard, since in self.under_way.items() if at.now - since >= LIMIT_S}
        if not stuck or at.now - at.heard_at > LIMIT_S:
            return
        for box in self.boxes.values():
            if box.shard in stuck and not box.stopped:
                ledger = self.owners[box.shard].ledger
                leader = ledger.cluster.leader(ledger.topic, ledger.partition)
                said = "it has no leader" if leader is None else f"broker {leader.node}, which leads it, did not answer"
                why = f"{said} for {LIMIT_S:.0f} s"
                yield box, LedgerUnwritable(*box.partition, f"{ledger.topic}-{ledger.partition}", why)


async def _write(owner: ShardOwner, boxes: Iterable[Outbox]) -> None:
    entries: list[Entry] = []
    batches: list[Acknowledged] = []
    for box in boxes:
        entries += box.entries()
        owner.view.states[box.partition] = entries[-1]  # type: ignore[assignment]
        batches += box.take_unheard()
    await owner.ledger.write(entries if owner.ownership.watch.told else [*entries, owner.times()])
    owner.ownership.watch.noted(batches, now_us())
