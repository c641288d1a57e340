"""What limits cost: when a link will have caught up, or by how much it falls behind. Pure.

Time advances minute by minute, because a timetable changes the limits. Where no limit holds, the link is as fast as it
was seen to be while it was behind; where that was not seen, the answer is unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from twinlog.model.health.exposed import LinkExposure
from twinlog.model.health.exposure import IN_STEP_S
from twinlog.model.ledger.control import Control, FileLimits
from twinlog.model.pace import Limits

_STEP_S: Final = 60
_LONGEST_S: Final = 7 * 24 * 3600


@dataclass(frozen=True)
class Load:
    """What a link has to do, in records. None: unknown."""

    left: int | None
    arriving_per_second: float | None
    full_per_second: float | None  # what it copies while it is behind and nothing limits it
    record_bytes: float | None


@dataclass(frozen=True)
class LimitCost:
    """What an order costs."""

    limits: Limits  # those of this moment
    load: Load
    caught_up_s: float | None  # None: see `says`
    falls_behind_per_second: float | None  # records, by the limits of this moment; 0: it keeps up
    says: str


def load_of(exposure: LinkExposure | None, copying: float | None, limits: Limits) -> Load:
    """Take the load of a link from a look at it; `limits` are those that hold now."""
    if exposure is None or not exposure.live:
        return Load(None, None, None, None)
    behind = exposure.total.records is not None and exposure.total.records > exposure.arriving * IN_STEP_S
    free = limits == Limits() and behind and copying
    return Load(exposure.total.records, exposure.arriving, copying if free else None, exposure.record_bytes)


def limit_cost(control: Control, of_file: FileLimits, load: Load, now_ms: int) -> LimitCost:
    """Compute when a link will have caught up under its limits."""
    limits = control.limits_at(now_ms, of_file)
    speed = _speed(limits, load)
    arriving = load.arriving_per_second
    behind = None if speed is None or arriving is None else max(0.0, arriving - speed)
    if load.left is None or arriving is None:
        return LimitCost(limits, load, None, behind, "when it will have caught up is unknown: the source does not tell")
    took = _simulate(load, arriving, lambda after_s: control.limits_at(now_ms + int(after_s * 1000), of_file))
    if took is None and speed is None:
        says = "when it will have caught up is unknown: its full speed was not seen yet"
    elif took is None and behind:
        says = f"it falls behind by {behind:,.0f} records a second: the source writes {arriving:,.0f}"
    elif took is None:
        says = "it does not catch up within a week"
    else:
        says = "it has caught up" if took == 0 else "it catches up"
        if behind:
            says += f", but falls behind by {behind:,.0f} records a second while this limit holds"
    return LimitCost(limits, load, took, behind, says)


def _speed(limits: Limits, load: Load) -> float | None:
    """Records a second that are copied under these limits; None: there is none, and the full speed is unknown."""
    most = [] if load.full_per_second is None else [load.full_per_second]
    if limits.records_per_second > 0:
        most.append(limits.records_per_second)
    if limits.bytes_per_second > 0 and load.record_bytes:
        most.append(limits.bytes_per_second / load.record_bytes)
    return min(most, default=None)


def _simulate(load: Load, arriving: float, limits_after: Callable[[float], Limits]) -> float | None:
    left, after = float(load.left or 0), 0.0
    if left <= arriving * IN_STEP_S:
        speed = _speed(limits_after(0.0), load)
        if speed is None or speed >= arriving:
            return 0.0
    while after < _LONGEST_S:
        speed = _speed(limits_after(after), load)
        if speed is None:
            return None
        gain = speed - arriving
        if gain > 0 and left / gain <= _STEP_S:
            return after + left / gain
        left = max(0.0, left - gain * _STEP_S)
        after += _STEP_S
    return None
