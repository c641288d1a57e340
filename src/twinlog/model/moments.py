"""A moment as people read it. Pure."""

from __future__ import annotations

import time


def clock(at_ms: int | None) -> str:
    """A time of today, with its day when it is another one."""
    if at_ms is None:
        return "never"
    then, now = time.localtime(at_ms / 1000), time.localtime()
    same = (then.tm_year, then.tm_yday) == (now.tm_year, now.tm_yday)
    return time.strftime("%H:%M:%S" if same else "%Y-%m-%d %H:%M:%S", then)
