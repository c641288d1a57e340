"""Events as records of a topic: their bytes, their names, and which of them are new after a restart. Pure.

    the log ────────────▶ past ──┐
    the first observation ───────┴──▶ new events: none is reported twice, and states that ended meanwhile get their end

The log is that of the process before.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Final, get_args

from twinlog.model.health.history import Event, Kind, Level

_LASTING: Final = frozenset({"fault", "source", "chore", "objective"})
"""Kinds of which a look shows everything that is so at that moment: what it does not show is over."""
_OVER: Final = "it was over when this service looked again"
INTERRUPTED: Final = "interrupted: the service that ran it ended first"


def event_id(event: Event) -> str:
    """Name an event by its time and content: the same one has the same name in every service, before and after."""
    text = f"{event.link}\x00{event.kind}\x00{event.thing}\x00{event.says}"
    return f"{event.at_ms}-{zlib.crc32(text.encode(errors='replace')):08x}"


def dump_event(event: Event) -> bytes:
    """Write an event down."""
    return json.dumps(asdict(event), separators=(",", ":"), ensure_ascii=False).encode(errors="replace")


def read_event(value: bytes | None) -> Event | None:
    """Read what was written; None for what a later version, or nobody, understands."""
    try:
        document = json.loads(value or b"null")
        event = Event(**document) if isinstance(document, dict) else None
    except (ValueError, TypeError):
        return None
    if event is None or event.kind not in get_args(Kind) or event.level not in get_args(Level):
        return None
    texts = all(isinstance(text, str) for text in (event.link, event.thing, event.says, event.remedy, event.card))
    return event if texts and isinstance(event.at_ms, int) and isinstance(event.ended, bool) else None


def news(past: Sequence[Event], first_look: Iterable[Event], link: str, at_ms: int) -> list[Event]:
    """What a first look at a link tells to somebody who knows its past, oldest first."""
    last = {(event.kind, event.thing): event for event in past if event.link == link}
    seen = list(first_look)
    changed = [event for event in seen if not _repeats(last.get((event.kind, event.thing)), event)]
    shown = {(event.kind, event.thing) for event in seen if not event.ended}
    for place, event in last.items():
        if event.kind in _LASTING and not event.ended and place not in shown:
            changed.append(replace(event, at_ms=at_ms, level="good", says=_OVER, remedy="", ended=True))
    return changed


def _repeats(before: Event | None, now: Event) -> bool:
    if before is None or before.ended != now.ended:
        return False
    # A state is told with the one before it; a first look knows none.
    return before.says == now.says or (now.kind == "state" and before.says.partition(",")[0] == now.says)


def interrupted(past: Iterable[Event], at_ms: int) -> list[Event]:
    """The ends of operations that nobody ended: whoever ran them is gone."""
    last = {(event.link, event.thing): event for event in past if event.kind == "operation"}
    return [
        replace(event, at_ms=at_ms, level="bad", says=f"{thing} {INTERRUPTED}", remedy=way_out_of(thing), ended=True)
        for (_, thing), event in last.items()
        if not event.ended
    ]


def way_out_of(operation: str) -> str:
    """What to do about an operation that was interrupted."""
    if operation in {"switch", "resume", "abort"}:
        return "`twinlog switch status` tells how far it came; `twinlog switch resume` continues from there."
    return "Begin it again."


def before_id(events: Iterable[Event], before: str) -> list[Event]:
    """Those behind the one of this name, of a list that begins with the newest; by its time when it is not there."""
    listed = list(events)
    if not before:
        return listed
    place = next((number for number, event in enumerate(listed) if event_id(event) == before), None)
    if place is not None:
        return listed[place + 1 :]
    at_ms = int(before.partition("-")[0])
    return [event for event in listed if event.at_ms < at_ms]
