"""What the tasks of one epoch need, complete. Made on the driver; travels pickled, never as Spark options (secrets)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from twinlog.config.settings import ClientSettings
from twinlog.model.names import TopicPartition
from twinlog.model.pace import NO_LIMITS, Limits
from twinlog.pipelines.api import Owner, SourcePartition
from twinlog.pipelines.parcels import Plain
from twinlog.pipelines.plan import BranchKey
from twinlog.pipelines.schemas import Schema
from twinlog.pipelines.settings import Setting, setting
from twinlog.pipelines.task_line import LineAddress

LIVE_ROWS = 256
"""Rows of an Arrow batch in the live gear: small, and always filled up, so that no record waits for others."""
CATCH_UP_ROWS = 10_000
FLUSH_MS = 5
"""Shortest pause between two flushes of a sink that says nothing else."""
FLUSH_ROWS = 20_000
"""Rows after which such a sink is flushed, whatever the pause."""
Gear: TypeAlias = Literal["live", "catch-up"]
"""Live: no record waits for others. Catch-up: large batches, less than half of the price of a record."""


def batch_rows(gear: Gear) -> int:
    return LIVE_ROWS if gear == "live" else CATCH_UP_ROWS


@setting
class ErrorSettings:
    """Connect's keys for records that cannot be handled."""

    tolerance: str = Setting("errors.tolerance", "stop the partition, or continue", "none", choices=("none", "all"))
    retry_timeout_ms: int = Setting("errors.retry.timeout", "how long one operation is retried; -1: without end", 0)
    retry_delay_max_ms: int = Setting("errors.retry.delay.max.ms", "longest pause between two tries", 60_000)
    log: bool = Setting("errors.log.enable", "write errors to the log", default=False)
    log_messages: bool = Setting("errors.log.include.messages", "with the coordinates of the record", default=False)
    dead_letters: str = Setting("errors.deadletterqueue.topic.name", "topic for records that cannot be handled", "")
    dead_letters_replicas: int = Setting("errors.deadletterqueue.topic.replication.factor", "of that topic", 3)
    dead_letters_headers: bool = Setting(
        "errors.deadletterqueue.context.headers.enable", "say in headers what went wrong", default=False
    )


@dataclass(frozen=True)
class Converters:
    """Class names and keys of both converters."""

    key: str
    key_config: Mapping[str, str]
    value: str
    value_config: Mapping[str, str]


@dataclass(frozen=True)
class SinkRun:
    """One epoch of a sink pipeline."""

    owner: Owner
    plugin: str
    config: Mapping[str, str]
    cluster: ClientSettings
    group: str
    converters: Converters
    branches: Mapping[BranchKey, int]
    outputs: tuple[tuple[Schema | None, Schema | None], ...]  # key and value schema behind the transforms, by branch
    tasks: tuple[Mapping[TopicPartition, int], ...]  # where each task reads on
    errors: ErrorSettings
    line: LineAddress
    gear: Gear
    longest_ms: int
    until: Mapping[TopicPartition, int] | None = None  # "available": the ends when the run began
    refused: Mapping[BranchKey, str] = field(default_factory=dict)  # kinds of records that are bad, and why
    consumer_overrides: Mapping[str, str | int | bool] = field(default_factory=dict)
    idle_ms: int = -1  # after so long without a record a task says so
    flush_ms: int = FLUSH_MS
    flush_rows: int = FLUSH_ROWS
    # Records travel in parcels: what the bytes of keys and values are; None of a side: documents with a schema
    plain: tuple[Plain | None, Plain | None] | None = None
    limits: Limits = NO_LIMITS

    @property
    def batch_rows(self) -> int:
        return 1 if self.plain else batch_rows(self.gear)


@dataclass(frozen=True)
class SourceRun:
    """One epoch of a source pipeline."""

    owner: Owner
    plugin: str
    config: Mapping[str, str]
    cluster: ClientSettings
    group_id: str
    offsets_topic: str
    offsets_partitions: int
    streams: tuple[tuple[str, Schema | None, Schema], ...]  # topic, key schema, value schema: the branches
    tasks: tuple[tuple[SourcePartition, ...], ...]
    topic_creation: Mapping[str, str]
    errors: ErrorSettings
    line: LineAddress
    longest_ms: int
    poll_ms: int
    until_caught_up: bool = False
    producer_overrides: Mapping[str, str | int | bool] = field(default_factory=dict)
    commit_ms: int = 200
    gear: Gear = "live"
    in_parcels: bool = False
    limits: Limits = NO_LIMITS
    converters: Converters | None = None  # for records that travel in parcels

    @property
    def batch_rows(self) -> int:
        return 1 if self.in_parcels else batch_rows(self.gear)

    def transactional_id(self, task: int) -> str:
        """Connect's: a worker of the same group and this one can never both write."""
        return f"{self.group_id}-{self.owner.connector}-{task}"
