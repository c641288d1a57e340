"""The description of one of Twinlog's own topics: name, partitions, configs; and one record of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

KeyValue: TypeAlias = tuple[bytes, bytes | None]
"""The key and value of a record to write. No value: the key is deleted (a tombstone)."""

BROKER_TIME: Final = {"message.timestamp.type": "LogAppendTime"}
"""Records get the broker's time. A broker refuses records whose time is more than an hour ahead of its own clock: with
the time of a writer whose clock is wrong, it would take no record at all."""


@dataclass(frozen=True)
class LogTopic:
    """One topic that Twinlog creates and writes."""

    name: str
    configs: Mapping[str, str]
    partitions: int = 1


class LogRecord(NamedTuple):
    """One record where it lies in the log."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
