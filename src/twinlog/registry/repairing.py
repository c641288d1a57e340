"""Looking through a topic of schemas for defects, and repairing it. Runs in the command."""

import asyncio
from dataclasses import dataclass

from twinlog.config.settings import ClientSettings
from twinlog.errors import BrokerRefused
from twinlog.logs.read import Batches, open_records, read_to_end
from twinlog.registry.pair.reading import SILENT_S
from twinlog.registry.pair.registry_writer import opened
from twinlog.registry.repair import Defect, Line, Repair, defects
from twinlog.registry.store import PARTITION, fetch_end
from twinlog.wire.connection import Cluster
from twinlog.wire.offsets import EARLIEST


@dataclass(frozen=True)
class Repaired:
    """What was found, and how many records were written."""

    defects: list[Defect]
    written: int


async def look_through(cluster: Cluster, topic: str) -> list[Defect]:
    """Every defect of a topic. Raises ClusterError."""
    await cluster.refresh([topic])
    lines: list[Line] = []

    def take(_partition: int, batches: Batches) -> None:
        lines.extend(Line(record.offset, record.key, record.value) for record in open_records(batches))

    positions = {PARTITION: await fetch_end(cluster, topic, EARLIEST)}
    await read_to_end(cluster, topic, positions, take, "registry-repair", silent_for_s=SILENT_S)
    return defects(lines)


async def repair_topic(settings: ClientSettings, topic: str, transactional_id: str, *, dry_run: bool) -> Repaired:
    """Look through a topic and write what repairs it. Raises ClusterError."""
    cluster = Cluster(settings, "twinlog|registry-repair")
    try:
        if dry_run:
            return Repaired(await look_through(cluster, topic), 0)
        async with opened(cluster, topic, transactional_id) as writer:
            for _ in range(3):
                revision = writer.state.revision
                defects = await look_through(cluster, topic)
                records = [record for defect in defects for record in defect.records]
                if not records:
                    return Repaired(defects, 0)
                order = Repair(records, revision)
                written = (await writer.write(order)).answer
                if not order.changed:
                    return Repaired(defects, int(written))
                await asyncio.sleep(0.1)
    finally:
        await cluster.close()
    raise BrokerRefused(settings.cluster, f"{topic}: it changes all the time; stop writers, then try again")
