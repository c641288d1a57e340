"""The positions of groups from checkpoints. Pure; used by MirrorClient."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from twinlog.errors import RecordsUnreadable
from twinlog.kafka.clients import LogRecord
from twinlog.model.mirrormaker.records import Checkpoint, NotReadable
from twinlog.model.names import TopicPartition


@dataclass(frozen=True)
class TranslatedOffset:
    """A group's position in the copy (`offset`), the one in the original that it stands for, and its metadata."""

    offset: int
    source_offset: int
    metadata: str = ""


def group_positions(
    records: Iterable[LogRecord], cluster: str, topic: str, wanted: Callable[[str], bool]
) -> dict[str, dict[TopicPartition, TranslatedOffset]]:
    """The newest checkpoint of every partition, by group.

    A record that cannot be read might be the newest of any group. So nothing is answered, unless a later one of the
    same key replaced it.
    """
    newest: dict[bytes | None, Checkpoint | None] = {}
    foreign: dict[bytes | None, str] = {}
    for record in records:
        newest.pop(record.key, None)
        foreign.pop(record.key, None)
        if record.value is None:
            continue  # withdrawn
        try:
            newest[record.key] = Checkpoint.read(record.key, record.value)
        except NotReadable as error:
            foreign[record.key] = f"{topic} offset {record.offset}: {error}"
    if foreign:
        raise RecordsUnreadable(cluster, "; ".join(list(foreign.values())[:3]))
    positions: dict[str, dict[TopicPartition, TranslatedOffset]] = {}
    for checkpoint in newest.values():
        if checkpoint is not None and wanted(checkpoint.group):
            place = TopicPartition(checkpoint.topic, checkpoint.partition)
            position = TranslatedOffset(checkpoint.downstream, checkpoint.upstream, checkpoint.metadata)
            positions.setdefault(checkpoint.group, {})[place] = position
    return positions
