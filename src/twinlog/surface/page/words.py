"""How the page writes numbers, times and names. Unknown values are shown as unknown, never as 0."""

from __future__ import annotations

import html
import json
import re
import time
from typing import Any, Final
from urllib.parse import quote

from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.switch.log import switch_name
from twinlog.surface.answers.sync_words import job_line
from twinlog.surface.cli.words import duration, number, size

UNKNOWN: Final = "unknown"
_TONES: Final = {
    "RUNNING": "good",
    "OK": "good",
    "ok": "good",
    "done": "good",
    "equal": "good",
    "passed": "good",
    "replayed": "good",
    "CATCHING_UP": "warn",
    "RESTARTING": "warn",
    "open": "warn",
    "PAUSED": "idle",
    "UNASSIGNED": "idle",
    "dropped": "idle",
    "WARNING": "warn",
    "REWIND": "warn",
    "warn": "warn",
    "running": "warn",
    "begun": "warn",
    "passed with remarks": "warn",
    "aborted": "warn",
    "warnings": "warn",
    "STOPPED": "idle",
    "SWITCHED": "idle",
    "unknown": "idle",
    "LOOKING": "idle",
    "to come": "idle",
}
_QUOTED: Final = re.compile(r"`([^`]+)`")


class Html(str):
    """Text that templates write as it is: its maker has escaped what others wrote."""

    __slots__ = ()

    def __html__(self) -> str:
        """Jinja asks this of what it need not escape."""
        return self


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


def zone() -> str:
    """The zone that times are written in."""
    now = time.localtime()
    name, offset = time.strftime("%Z", now), time.strftime("%z", now)
    return "UTC" if now.tm_gmtoff == 0 else f"{name} (UTC{offset[:3]}:{offset[3:]})"


def moment(at_ms: int | None) -> str:
    """A moment that can be read, pointed at for the whole of it, and read by programs."""
    if not at_ms:
        return "never"
    then = time.gmtime(at_ms / 1000)
    stamp, whole = time.strftime("%Y-%m-%dT%H:%M:%SZ", then), time.strftime("%Y-%m-%d %H:%M:%S UTC", then)
    return Html(f'<time datetime="{stamp}" title="{whole}">{clock(at_ms)}</time>')


def prose(sentence: str) -> Html:
    """A sentence in which commands and settings stand between backticks."""
    return Html(_QUOTED.sub(r"<code>\1</code>", html.escape(sentence)))


def ago(at_ms: int | None) -> str:
    """How long ago a moment was."""
    return "never" if not at_ms else f"{duration(max(0.0, round(SYSTEM_CLOCK.now_s() - at_ms / 1000)))} ago"


def rate(value: float | None) -> str:
    """Records per second."""
    return UNKNOWN if value is None else f"{value:,.0f}/s"


def bytes_rate(value: float | None) -> str:
    """Bytes per second."""
    return UNKNOWN if value is None else f"{size(value)}/s"


def milliseconds(value: float | None) -> str:
    """A latency."""
    if value is None:
        return UNKNOWN
    if value >= 1000:
        return duration(value / 1000)
    return number(value, " ms") if value < 10 else f"{value:,.0f} ms"


def catch_up(seconds: float | None) -> str:
    """When the lag will be gone, if that can be told."""
    return f"caught up in {duration(seconds)}" if seconds else "records not copied yet"


def pretty(value: Any) -> str:
    """A document as people read it."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def counted(value: float | None, thing: str) -> str:
    """A number of things: 1 record, 2 records."""
    return f"{number(value)} {thing}{'' if value == 1 else 's'}"


def segment(name: str) -> str:
    """A name as a part of an address."""
    return quote(name, safe="")


FILTERS: Final = {
    "job_line": job_line,
    "number": number,
    "duration": duration,
    "size": size,
    "tone": tone,
    "moment": moment,
    "prose": prose,
    "ago": ago,
    "rate": rate,
    "bytes_rate": bytes_rate,
    "milliseconds": milliseconds,
    "catch_up": catch_up,
    "segment": segment,
    "pretty": pretty,
    "counted": counted,
    "switch_name": switch_name,
}
