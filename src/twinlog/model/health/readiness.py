"""Whether a link does its work: ready means that data moves, or that there is nothing to move. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from twinlog.model.health.movement import Seen
from twinlog.model.health.states import LinkStatus

LOOKS: Final = 5
"""How many of the last looks may prove that data moves. With one every two seconds a standstill is told within ten."""
_MOVES = frozenset({"RUNNING", "CATCHING_UP", "DEGRADED"})


def seen_of(status: LinkStatus) -> Seen:
    """A whole link in one observation. What is faulted waits for hands, not for the link."""
    well = [part for part in status.partitions if part.fault is None]
    lags = [part.lag for part in well]
    return Seen(
        sum(part.source_next for part in well), None if None in lags else sum(lag for lag in lags if lag is not None)
    )


def proves(status: LinkStatus) -> bool:
    """Whether a look may count as proof. Before its engine copies, a link may know no topic yet: nothing seems left."""
    return status.engine is not None and status.engine.phase == "running"


def reasons_against(status: LinkStatus | None, trouble: str | None, looks: Sequence[Seen]) -> Iterator[str]:
    """Why a link is not ready; nothing when it is. `looks` are the last good ones, oldest first, without a failed one.

    A link that a switch holds (SWITCHED) is ready: it stands still because it was told to.
    """
    if trouble is not None:
        yield trouble
    elif status is None:
        yield "not looked at yet"
    elif status.state == "SWITCHED":
        return
    elif status.engine is None:
        yield f"{status.state}: no engine ever ran it"
    elif status.state not in _MOVES:
        silent_s = (status.now_ms - status.engine.at_ms) / 1000
        silence = f"its engine is silent for {silent_s:.0f} s" if status.state == "STALLED" else None
        cause = status.source_trouble or status.engine.trouble or silence
        yield f"{status.state}: {cause}" if cause else status.state
    elif status.engine.phase != "running":
        yield f"the engine is {status.engine.phase}"
    elif not _moves(looks):
        yield "records wait and no partition moves"


def _moves(looks: Sequence[Seen]) -> bool:
    """Nothing was left to copy at some moment, or something was copied between two."""
    return any(look.lag == 0 for look in looks) or any(b.position > a.position for a, b in pairwise(looks))
