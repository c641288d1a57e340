"""A status of a link, as an observation gives it."""

from __future__ import annotations

from twinlog.model.health.states import LinkStatus, PartitionStatus
from twinlog.model.ledger.records import ChoreNote, Engine, FaultEntry
from twinlog.model.names import TopicPartition


def status(at_ms: int = 1000, *, fault: FaultEntry | None = None, trouble: str | None = None) -> LinkStatus:
    parts = tuple(
        PartitionStatus(
            TopicPartition("orders", n), "A.orders", 5, 9, 5, records=5, fault=fault if n == 1 else None, at_ms=at_ms
        )
        for n in range(2)
    )
    engine = Engine(engine_id="e", generation=3, host="h", pid=1, phase="running", at_ms=at_ms)
    note = ChoreNote(chore="acls", at_ms=at_ms, trouble=trouble)
    return LinkStatus("A->B", engine, parts, now_ms=at_ms, records_per_second=2.0, chores=(note,))
