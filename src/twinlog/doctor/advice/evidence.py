"""What advice is made from: one link, measured for some seconds. What could not be measured is None, never 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from twinlog.model.ledger.stage_times import Durations, Stage


@dataclass(frozen=True)
class Processor:
    """What the processes of the engine used of this machine while it was looked at."""

    cores: int
    busy_cores: float  # by the engine, its JVM and its workers
    machine_busy: float  # by everything on this machine
    memory_bytes: int


@dataclass(frozen=True)
class Kernel:
    """What Linux lets TCP connections of this machine do."""

    rmem: int
    wmem: int
    window_scaling: bool = True
    slow_start_after_idle: bool = False


@dataclass(frozen=True)
class Evidence:
    """What was measured of one link."""

    link: str
    seconds: float
    phase: str | None = "running"  # of its engine; None: there is none
    lag_records: int | None = None
    records_per_second: float | None = None
    bytes_per_second: float | None = None
    partitions: int = 0
    tasks: int = 1
    tasks_max: int | None = None
    stages: Mapping[Stage, Durations] = field(default_factory=dict)
    hindrances: tuple[str, ...] = ()
    quotas: tuple[str, ...] = ()
    source_trip_s: float | None = None
    target_trip_s: float | None = None
    max_bytes_in_flight: int = 33_554_432
    merge_target_bytes: int = 262_144
    processor: Processor | None = None
    kernel: Kernel | None = None

    def mean_ms(self, stage: Stage) -> float | None:
        """How long a record took in one stage on average."""
        durations = self.stages.get(stage)
        return durations.total_us / durations.count / 1000 if durations is not None and durations.count else None

    @property
    def behind_s(self) -> float | None:
        """How long the lag takes at the present speed."""
        if self.lag_records is None or self.records_per_second is None:
            return None
        if self.lag_records == 0:
            return 0.0
        return None if self.records_per_second <= 0 else self.lag_records / self.records_per_second
