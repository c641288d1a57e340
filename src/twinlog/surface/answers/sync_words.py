"""What a sync job did, in words of people: `status`, and the page's list of sync jobs. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_MS: Final = "_ms"
_WORDS: Final = {"told": "reported", "begun": "started"}
"""Counts in the ledger keep the names that earlier versions wrote."""
_THINGS: Final = frozenset({"partitions", "topics", "windows", "records", "rules", "groups", "positions"})
_SAID: Final = frozenset({"groups", "positions", "exact", "written", "told"})


def job_line(job: str, counts: Mapping[str, int]) -> str:
    """Say what a job did last; what is 0 is left out."""
    if job == "groups" and counts.get("groups"):
        return _groups(counts)
    if job == "heartbeats" and counts.get("sent"):
        took = counts.get("canary_ms")
        return "arriving" if took is None else f"arriving, {took:,} ms"
    parts = [_part(name, count) for name, count in counts.items() if count]
    return ", ".join(parts) or "nothing to do"


def _groups(counts: Mapping[str, int]) -> str:
    groups, positions, exact = counts["groups"], counts.get("positions", 0), counts.get("exact", 0)
    plural = "" if groups == 1 else "s"
    state = "in sync" if exact == positions else "not all in sync"
    said = f"{groups:,} group{plural} {state} ({exact:,} of {positions:,} positions exact)"
    more = [_part(name, count) for name, count in counts.items() if count and name not in _SAID]
    return ", ".join([said, *more])


def _part(name: str, count: int) -> str:
    if name.endswith(_MS):
        return f"{name.removesuffix(_MS).replace('_', ' ')} {count:,} ms"
    words = _WORDS.get(name, name.replace("_", " "))
    return f"{count:,} {words.removesuffix('s') if count == 1 and words in _THINGS else words}"
