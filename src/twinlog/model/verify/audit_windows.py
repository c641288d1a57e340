"""Which part of a link the continuous audit looks at next: the newest window of each partition, within limits. Pure.

    copied so far   ──────────────────────────────┤ source_next
    audited before  ────────────────┤
    next window                     ├─────────────┤   or only its newest part, when it is too large

What falls out between two windows of a busy partition is not audited; `twinlog verify` compares everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from twinlog.model.ledger.records import PartitionState
from twinlog.model.names import TopicPartition

WINDOW_BYTES: Final = 1 << 20
STEP_BYTES: Final = 32 << 20
STEP_WINDOWS: Final = 256


class Window(NamedTuple):
    """Source offsets first..after-1 of one partition."""

    partition: TopicPartition
    first: int
    after: int

    @property
    def name(self) -> str:
        """Under which a mismatch in it is remembered."""
        return f"{self.partition}/{self.first}"

    def holds(self, other: Window) -> bool:
        """Whether the other one lies within this one."""
        return self.partition == other.partition and self.first <= other.first and other.after <= self.after

    def body(self, what: str, since_ms: int) -> dict[str, Any]:
        """As it is remembered."""
        return {**self.partition._asdict(), "first": self.first, "after": self.after, "what": what, "since": since_ms}

    @classmethod
    def remembered(cls, body: Mapping[str, Any]) -> Window:
        """Read what `body` wrote."""
        return cls(TopicPartition(str(body["topic"]), int(body["partition"])), int(body["first"]), int(body["after"]))


def next_windows(
    states: Mapping[TopicPartition, PartitionState], audited: Mapping[TopicPartition, int]
) -> list[Window]:
    """The windows of one step. `audited` says how far each partition was looked at, the longest ago first."""
    turn = {partition: number for number, partition in enumerate(audited, 1)}
    windows: list[Window] = []
    budget = STEP_BYTES
    for partition in sorted(states, key=lambda name: (turn.get(name, 0), name)):
        state = states[partition]
        begin = max(state.source_first, audited.get(partition, 0))
        if begin >= state.source_next:
            continue
        each = max(1, state.bytes // max(1, state.source_next - state.source_first))
        first = max(begin, state.source_next - max(1, WINDOW_BYTES // each))
        budget -= (state.source_next - first) * each
        if windows and (budget < 0 or len(windows) >= STEP_WINDOWS):
            break
        windows.append(Window(partition, first, state.source_next))
    return windows
