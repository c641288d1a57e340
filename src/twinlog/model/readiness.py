"""Whether a link does its work: ready means that data moves, or that there is nothing to move. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from twinlog.model.health import LinkStatus
from twinlog.model.movement import Movement

_MOVES = frozenset({"RUNNING", "CATCHING_UP", "DEGRADED"})


def reasons_against(status: LinkStatus | None, trouble: str | None, movements: Collection[Movement]) -> Iterator[str]:
    """Why a link is not ready; nothing when it is.

    A link that a switch holds (SWITCHED) is ready: it stands still because it was told to.
    """
    if trouble is not None:
        yield trouble
        return
    if status is None:
        yield "not looked at yet"
        return
    if status.state == "SWITCHED":
        return
    if status.state not in _MOVES:
        cause = status.source_trouble or (status.engine.trouble if status.engine else "no engine ever ran it")
        yield f"{status.state}: {cause}" if cause else status.state
    elif movements and all(one in {"STALL", "STOP"} for one in movements):
        yield "records wait and no partition moves"
