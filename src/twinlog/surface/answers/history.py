"""What happened: numbers of moments, stretches of time, events."""

from __future__ import annotations

from pydantic import BaseModel

from twinlog.model.health.event_log import event_id
from twinlog.model.health.history import Band, Event, Sample


class SamplePoint(BaseModel):
    """The numbers of one moment."""

    at_ms: int
    state: str
    lag_records: int | None
    lag_seconds: float | None
    rpo_seconds: float | None
    rpo_records: int | None
    records_per_second: float | None
    bytes_per_second: float | None
    latency_ms: int | None
    faults: int
    copied_p50_ms: float | None
    copied_p99_ms: float | None


class BandPoint(BaseModel):
    """A stretch of time with a fault or a switch."""

    kind: str
    thing: str
    from_ms: int
    until_ms: int | None


class EventLine(BaseModel):
    """Something that happened."""

    id: str
    at_ms: int
    link: str
    kind: str
    level: str
    thing: str
    says: str
    remedy: str
    ended: bool
    card: str = ""


def point(sample: Sample) -> SamplePoint:
    """One moment."""
    return SamplePoint(**sample._asdict())


def band(values: Band) -> BandPoint:
    """One stretch of time."""
    return BandPoint(**values._asdict())


def line(event: Event) -> EventLine:
    """One event."""
    return EventLine(id=event_id(event), **vars(event))
