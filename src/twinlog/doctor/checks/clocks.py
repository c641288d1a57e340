"""Whether the clocks agree: retention, time limits and certificates go by them."""

from __future__ import annotations

from typing import Final

from twinlog.doctor.answers import Answer, Check, fail, known, named, ok, warn
from twinlog.doctor.facts import EndFacts, Facts

_THEME = "clocks"
_NOTICEABLE_MS, _WRONG_MS = 1_000, 60_000
_FUTURE_MS: Final = 60_000


def _clock(end: EndFacts) -> Answer:
    look = known(end.clock)
    ahead = abs(look.ahead_ms)
    side = "ahead of" if look.ahead_ms > 0 else "behind"
    seen = f"{ahead:,.0f} ms {side} this machine (+- {look.error_ms:.0f} ms)"
    remedy = f"chronyc tracking   # on the controller of {end.alias} and on this machine"
    if ahead - look.error_ms > _WRONG_MS:
        return fail(seen, remedy)
    return warn(seen, remedy) if ahead - look.error_ms > _NOTICEABLE_MS else ok(seen)


def _record_times(facts: Facts) -> Answer:
    status = known(facts.status)
    future = [
        f"{part.partition} by {(part.newest_ms - facts.now_ms) / 1000:,.0f} s"
        for part in status.partitions
        if part.newest_ms > facts.now_ms + _FUTURE_MS
    ]
    if future:
        return warn(
            f"records from the future: {named(future)}",
            "correct the clock of their producer; message.timestamp.after.max.ms on the source keeps them out",
        )
    return ok("no record is dated after this moment")


CHECKS: Final = (
    Check(
        "source-clock",
        _THEME,
        "Times in logs and reports of both sides cannot be compared.",
        lambda f: _clock(f.source),
    ),
    Check("target-clock", _THEME, "Retention on the target deletes too early or too late.", lambda f: _clock(f.target)),
    Check("record-times", _THEME, "Such records are refused by limits, and hold retention back.", _record_times),
)
