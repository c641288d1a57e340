"""What a link's state is called and how bad it is. Pure: the one place where numbers become a judgement (R14)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal, TypeAlias

from twinlog.model.health.exposed import LinkExposure
from twinlog.model.ledger.control import Control
from twinlog.model.ledger.records import ENGINE_SILENT_MS, ChoreNote, Engine, FaultEntry
from twinlog.model.ledger.stage_times import Durations, Stage
from twinlog.model.names import TopicPartition

LinkState: TypeAlias = Literal[
    "RUNNING", "CATCHING_UP", "DEGRADED", "FAULTED", "STALLED", "SOURCE_DOWN", "SWITCHED", "STOPPED", "UNKNOWN"
]
SOURCE_SILENT_MS: Final = 6_000
"""An engine hears its source every few seconds. One that it heard later than this is only cut off from us."""


@dataclass(frozen=True)
class PartitionStatus:
    """One partition, both ends."""

    partition: TopicPartition
    remote: str
    source_next: int
    source_end: int | None  # None: the source does not answer
    target_next: int | None
    records: int = 0
    bytes: int = 0
    skipped: int = 0
    returned: int = 0
    dropped: int = 0  # by transforms
    refused: int = 0  # transforms could not handle them
    newest_ms: int = -1
    at_ms: int = 0
    fault: FaultEntry | None = None
    held_back: str | None = None  # an open transaction

    @property
    def lag(self) -> int | None:
        """Offsets not yet copied; None when the source's end is unknown (never 0 for unknown)."""
        return None if self.source_end is None else max(0, self.source_end - self.source_next)


@dataclass(frozen=True)
class LinkStatus:
    """One link as anybody with access to both clusters can see it. What follows from it is worked out once."""

    link: str
    engine: Engine | None
    partitions: tuple[PartitionStatus, ...]
    problems: tuple[FaultEntry, ...] = ()  # of whole topics
    source_trouble: str | None = None  # what this look met
    source_unreachable: bool = False  # … and it was that nobody answered
    source_partly: bool = False  # … and it was about some partitions only
    source_seen_ms: int | None = None  # when the engine last heard the source
    now_ms: int = 0  # when the ledger was read: what it says is as old as this, however long the source was asked
    engine_age_s: float | None = None  # since the engine's record changed, by our own clock; None: see its time
    records_per_second: float | None = None
    bytes_per_second: float | None = None
    lag_seconds: float | None = None
    topics: int = 0
    chores: tuple[ChoreNote, ...] = ()
    active: str | None = None  # the active side, where a switch holds the link
    control: Control = field(default_factory=Control)  # what an operator ordered for it
    exposure: LinkExposure | None = None  # what would be lost if the source vanished now
    stages: Mapping[Stage, Durations] = field(default_factory=dict)  # how long records took lately
    stage_totals: Mapping[Stage, Durations] = field(default_factory=dict)  # since this link is looked at

    @cached_property
    def faults(self) -> tuple[FaultEntry, ...]:
        """Everything that is faulted, partitions first."""
        return tuple(p.fault for p in self.partitions if p.fault is not None) + self.problems

    @property
    def untold(self) -> bool:
        """No engine has told yet what there is to copy: that nothing is seen to wait proves nothing."""
        return not self.partitions and (self.engine is None or self.engine.phase == "starting")

    @property
    def rests(self) -> bool:
        """The other side is active: this link copies nothing on purpose, and what is at risk is not its to say."""
        return self.engine is not None and self.engine.phase == "switched"

    @cached_property
    def lag(self) -> int | None:
        """Offsets not yet copied over all partitions; None when any of them is unknown, or the link rests."""
        lags = [p.lag for p in self.partitions]
        unknown = self.untold or self.rests or any(lag is None for lag in lags)
        return None if unknown else sum(lag for lag in lags if lag is not None)

    @cached_property
    def state(self) -> LinkState:
        """The worst thing that is true."""
        return judge(self)


def judge(status: LinkStatus) -> LinkState:
    """Rules in order; the first that holds decides."""
    engine = status.engine
    if engine is None:
        return "UNKNOWN"
    if engine.phase == "stopped":
        return "STOPPED"
    if status.rests:
        return "SWITCHED"  # the other side is active: standing still is what this link should do
    if silent_seconds(status) is not None:
        return "STALLED"
    if source_down_since(status) is not None:
        return "SOURCE_DOWN"
    faulted = sum(1 for p in status.partitions if p.fault is not None)
    if faulted or status.problems:
        return "FAULTED" if faulted == len(status.partitions) and not _moving(status) else "DEGRADED"
    if engine.trouble and engine.phase == "running" and _moving(status):
        return "DEGRADED"  # the engine waits for something, but records arrive: that is no link that stands still
    if engine.trouble or (status.source_trouble and not status.source_partly):
        return "STALLED"
    if status.source_trouble:
        return "DEGRADED"  # some brokers of the source do not answer; what the others lead is copied
    if any(chore.trouble for chore in status.chores):
        return "DEGRADED"  # records flow, but something that a failover needs is not kept in sync
    # Without a time nothing was ever copied of what waits: that is no link that runs.
    waits = bool(status.lag) and (engine.phase == "starting" or status.lag_seconds is None)
    return "CATCHING_UP" if waits or (status.lag_seconds or 0) > 30 else "RUNNING"


def engine_age_seconds(status: LinkStatus) -> float:
    """How long ago the engine spoke: as measured while looking, else by the time in its record."""
    if status.engine_age_s is not None:
        return status.engine_age_s
    return 0.0 if status.engine is None else (status.now_ms - status.engine.at_ms) / 1000


def silent_seconds(status: LinkStatus) -> float | None:
    """How long its engine has not been heard of: killed, frozen, or cut off from the target. None while it speaks."""
    engine, age = status.engine, engine_age_seconds(status)
    if engine is None or engine.phase in {"stopped", "switched"} or age * 1000 <= ENGINE_SILENT_MS:
        return None
    return age


def source_down_since(status: LinkStatus) -> int | None:
    """When the source was last heard, if neither this look nor the engine reaches it; 0: it never was."""
    if not status.source_unreachable:
        return None
    seen = status.source_seen_ms or 0
    return seen if status.now_ms - seen > SOURCE_SILENT_MS else None


def _moving(status: LinkStatus) -> bool:
    return bool(status.records_per_second)
