"""When a partition is given up because the target takes no writes for it. Pure; asked several times a second.

An election, a restart or a slow disk passes by itself: the writer repeats for some seconds. One that stays stuck
becomes a fault (TARGET_UNWRITABLE), which frees its share of the bytes on their way. It is given up sooner while the
whole task waits for room, or for its end: one bad partition must not stop the others (R8).

A cluster that is away as a whole is nobody's fault: nothing is given up while no broker answers (R9).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from twinlog.flow.outbox import Outbox
from twinlog.model.names import TopicPartition

LIMIT_S: Final = 10.0
PRESSED_S: Final = 1.0
"""What is left of the patience while others wait for this partition."""
UNANSWERED_S: Final = 10.0
"""A slow or throttled broker answers late; only one that others wait for is given up without an answer."""
_HEARD_S: Final = 5.0


@dataclass(frozen=True)
class Pressure:
    """What else is known at a moment."""

    now: float
    heard_at: float  # when a broker of the target last answered anything
    pressed: bool  # the task waits for room, or for its end
    line: Callable[[TopicPartition], str | None] = lambda _: None  # what is wrong with the line to a partition's leader


def why_given_up(box: Outbox, at: Pressure) -> str | None:
    """Why this partition is to be given up now; None: not yet."""
    if box.stopped or box.idle or at.now - at.heard_at > _HEARD_S:
        return None
    if box.hindered_since is not None:
        within_s = PRESSED_S if at.pressed else LIMIT_S
        return box.hindrance if at.now - box.hindered_since >= within_s else None
    silent = box.awaited_since is not None and at.now - box.awaited_since >= UNANSWERED_S
    if not silent or not at.pressed:
        return None
    return at.line(box.remote) or f"the broker that leads it did not answer within {UNANSWERED_S:.0f} s"
