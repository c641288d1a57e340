"""The audit topic, read from its beginning. Runs in commands."""

from __future__ import annotations

from twinlog.config.settings import ClientSettings
from twinlog.errors import UsageError
from twinlog.logs.read import Batches, is_there, read_to_end, records_in
from twinlog.model.connectors import AUDIT_TOPIC
from twinlog.wire.connection import Cluster


async def read_audit(store: ClientSettings) -> list[str]:
    """Every entry as it was written. Raises UsageError where there is no such topic, ClusterError."""
    cluster = Cluster(store, "twinlog|audit")
    lines: list[str] = []

    def take(_: int, batches: Batches) -> None:
        lines.extend((record.value or b"").decode(errors="replace") for record in records_in(batches))

    try:
        if not await is_there(cluster, AUDIT_TOPIC):
            raise UsageError(f"{store.cluster}: there is no topic {AUDIT_TOPIC}; has `twinlog run --listen` ever run?")
        await read_to_end(cluster, AUDIT_TOPIC, {0: 0}, take, "audit", silent_for_s=30.0)
    finally:
        await cluster.close()
    return lines
