"""Which end or which resource a link waits for, in one sentence with the figures behind it. Pure.

The rule of the book: who waits in poll waits for the consumer side, who waits in send waits for the producer side; when
both are quick and the processor is idle, it is the line. `fetch` begins at the time of the record, so for a link that
is behind it holds the lag and proves nothing: the stages after it do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from twinlog.doctor.advice.evidence import Evidence

Place: TypeAlias = Literal["none", "quota", "processor", "spark", "target", "ledger", "line", "source", "unknown"]

_KEEPS_UP_S: Final = 5.0
_BUSY: Final = 0.85
_LONG_TRIP_S: Final = 0.01
_OF_THE_LINE: Final = 0.5
_SLOW_MS: Final = 20.0
_TRIPS: Final = 3.0
_FAR_CONNECTIONS: Final = 4


@dataclass(frozen=True)
class Bottleneck:
    """Where the time goes, and the figures that say so."""

    place: Place
    sentence: str
    figures: tuple[str, ...] = ()


def bottleneck(seen: Evidence) -> Bottleneck:
    """Name the bottleneck of one link."""
    figures = _figures(seen)
    if seen.phase != "running":
        state = "no engine runs it" if seen.phase is None else f"its engine is {seen.phase}"
        return Bottleneck("unknown", f"nothing can be said about its speed: {state}", figures)
    if seen.lag_records is None or seen.records_per_second is None:
        return Bottleneck("unknown", "it cannot be said why: lag or speed of the link is unknown", figures)
    if seen.hindrances:
        return Bottleneck("quota", f"something holds it back: {'; '.join(seen.hindrances)}", figures)
    behind = seen.behind_s
    if behind is not None and behind < _KEEPS_UP_S:
        return Bottleneck("none", f"it is not slow: {seen.lag_records:,} records behind, {behind:.1f} s", figures)
    return _of_a_slow_link(seen, figures)


def _of_a_slow_link(seen: Evidence, figures: tuple[str, ...]) -> Bottleneck:
    cpu = seen.processor
    if cpu is not None and cpu.machine_busy >= _BUSY * cpu.cores:
        own = f"the mirror uses {cpu.busy_cores:.1f} of {cpu.cores} cores, everything together {cpu.machine_busy:.1f}"
        return Bottleneck("processor", f"the processor of this machine is the limit: {own}", figures)
    waits = {stage: seen.mean_ms(stage) for stage in ("parcel", "queue", "produce", "note")}
    known = {stage: ms for stage, ms in waits.items() if ms is not None}
    if not known:
        return Bottleneck("source", "nothing was copied while it was looked at: it waits for the source", figures)
    worst = max(known, key=lambda stage: known[stage])
    limit = max(_SLOW_MS, _TRIPS * 1000 * (seen.target_trip_s or 0))
    if known[worst] >= limit:
        return _slow_stage(worst, known[worst], figures)
    line = _line(seen)
    if line is not None:
        return Bottleneck("line", line, figures)
    quick = ", ".join(f"{stage} {ms:.1f} ms" for stage, ms in known.items())
    return Bottleneck("source", f"records do not come faster from the source: {quick} are quick", figures)


def _slow_stage(stage: str, took_ms: float, figures: tuple[str, ...]) -> Bottleneck:
    told = f"({stage} takes {took_ms:.0f} ms on average)"
    if stage == "parcel":
        return Bottleneck("spark", f"records wait for a task of Spark {told}", figures)
    if stage == "note":
        return Bottleneck("ledger", f"notes about copied records are written slowly to the target {told}", figures)
    return Bottleneck("target", f"the target takes records slowly: the producer side waits {told}", figures)


def _line(seen: Evidence) -> str | None:
    """Say that the line is full: what connections of this machine can carry over the longer way is nearly used."""
    if seen.kernel is None or seen.bytes_per_second is None:
        return None
    for end, trip, held in (
        ("source", seen.source_trip_s, seen.kernel.rmem),
        ("target", seen.target_trip_s, seen.kernel.wmem),
    ):
        if trip is None or trip < _LONG_TRIP_S:
            continue
        carries = held / trip * _FAR_CONNECTIONS * max(1, seen.tasks)
        if seen.bytes_per_second >= _OF_THE_LINE * carries:
            return (
                f"the line to the {end} is the limit: {trip * 1000:.0f} ms round trip, and connections of this machine "
                f"carry about {carries / 1e6:.0f} MB/s over it; {seen.bytes_per_second / 1e6:.0f} MB/s are used"
            )
    return None


def _figures(seen: Evidence) -> tuple[str, ...]:
    told = [
        _figure("lag", seen.lag_records, ",.0f", " records"),
        _figure("speed", seen.records_per_second, ",.0f", " records/s"),
        _figure("bytes", None if seen.bytes_per_second is None else seen.bytes_per_second / 1e6, ",.2f", " MB/s"),
        *(_figure(stage, seen.mean_ms(stage), ",.1f", " ms") for stage in ("parcel", "queue", "produce", "note")),
        _figure("round trip to the source", _ms(seen.source_trip_s), ",.2f", " ms"),
        _figure("round trip to the target", _ms(seen.target_trip_s), ",.2f", " ms"),
    ]
    cpu = seen.processor
    told.append("processor: unknown" if cpu is None else f"processor: {cpu.busy_cores:.2f} of {cpu.cores} cores")
    return tuple(told)


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


def _figure(name: str, value: float | None, form: str, unit: str) -> str:
    return f"{name}: unknown" if value is None else f"{name}: {value:{form}}{unit}"
