"""Numbers as people read them. Unknown values are shown as unknown, never as 0."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

_BLOCKS: Final = "▁▂▃▄▅▆▇█"


def number(value: float | None, unit: str = "") -> str:
    """A plain number."""
    if value is None:
        return "unknown"
    return f"{value:,.0f}{unit}" if value >= 100 or value == int(value) else f"{value:,.1f}{unit}"


def duration(seconds: float | None, unknown: str = "unknown") -> str:
    """A time for people: two units at most."""
    if seconds is None:
        return unknown
    if seconds < 120:
        return f"{seconds:,.1f} s" if seconds < 10 and seconds != int(seconds) else f"{seconds:,.0f} s"
    minutes, hours, days = seconds / 60, seconds / 3600, seconds / 86_400
    if minutes < 120:
        return f"{minutes:.0f} min"
    return f"{hours:.0f} h" if hours < 48 else f"{days:,.0f} days"


def moment(at_ms: int | None) -> str:
    """A point in time, in UTC."""
    return "never" if not at_ms else time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at_ms / 1000))


def size(count: float | None) -> str:
    """Bytes for people."""
    if count is None:
        return "unknown"
    for unit in ("B", "kB", "MB", "GB"):
        if abs(count) < 1000:
            return f"{count:,.0f} {unit}" if unit == "B" else f"{count:,.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"


def sparkline(values: Sequence[float], room: int, ceiling: float | None = None) -> str:
    """Draw the newest values as blocks, scaled to the ceiling, or else to the highest of them."""
    shown = list(values)[-room:]
    top = ceiling or max((*shown, 1.0))
    return "".join(_BLOCKS[min(len(_BLOCKS) - 1, int(value / top * (len(_BLOCKS) - 1) + 0.5))] for value in shown)
