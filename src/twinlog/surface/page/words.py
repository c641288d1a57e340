"""How the page writes numbers, times and names. What nobody knows is said, never shown as 0."""

from __future__ import annotations

import time
from typing import Final
from urllib.parse import quote

from twinlog.surface.cli.words import duration, number, size

UNKNOWN: Final = "unknown"
_TONES: Final = {
    "RUNNING": "good",
    "OK": "good",
    "ok": "good",
    "done": "good",
    "passed": "good",
    "CATCHING_UP": "warn",
    "WARNING": "warn",
    "REWIND": "warn",
    "warn": "warn",
    "running": "warn",
    "passed with remarks": "warn",
    "STOPPED": "idle",
    "SWITCHED": "idle",
    "unknown": "idle",
}


def tone(state: str) -> str:
    """How good a state is: good, warn, idle or bad. Colours and shapes follow it."""
    return _TONES.get(state, "bad")


def clock(at_ms: int | None) -> str:
    """A moment of today, or of another day."""
    if not at_ms:
        return "never"
    then = time.localtime(at_ms / 1000)
    today = time.localtime()
    same = (then.tm_year, then.tm_yday) == (today.tm_year, today.tm_yday)
    return time.strftime("%H:%M:%S" if same else "%Y-%m-%d %H:%M:%S", then)


def ago(at_ms: int | None) -> str:
    """How long ago a moment was."""
    return "never" if not at_ms else f"{duration(max(0.0, round(time.time() - at_ms / 1000)))} ago"


def rate(value: float | None) -> str:
    """Records per second."""
    return UNKNOWN if value is None else f"{value:,.0f}/s"


def bytes_rate(value: float | None) -> str:
    """Bytes per second."""
    return UNKNOWN if value is None else f"{size(value)}/s"


def milliseconds(value: float | None) -> str:
    """A latency."""
    return UNKNOWN if value is None else f"{value:,.0f} ms"


def segment(name: str) -> str:
    """A name as a part of an address."""
    return quote(name, safe="")


FILTERS: Final = {
    "number": number,
    "duration": duration,
    "size": size,
    "tone": tone,
    "clock": clock,
    "ago": ago,
    "rate": rate,
    "bytes_rate": bytes_rate,
    "milliseconds": milliseconds,
    "segment": segment,
}
