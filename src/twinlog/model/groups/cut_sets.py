"""Consistent cuts: group positions as of a time that all topics of a set have covered. Pure.

An application that reads one topic and writes another commits its input positions together with its outputs. At an
unplanned failover the copy of each topic ends somewhere else, so its last positions may be ahead of outputs that were
lost. A *cut set* names the topics that belong together. The engine samples it again and again:

    positions of the groups (t1), then the ends of all partitions (t2 > t1)
                                                 │
    the ledger reaches every one of these ends ──┘  ─▶ whatever was committed at t1 has its outputs in the copy: T = t1

The newest such sample is kept in the ledger (memo `cuts`). A failover puts the groups of the set there. Ends are those
of all records, committed or not: outputs are in the log before the positions that depend on them become visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from twinlog.model.ledger.records import Memo
from twinlog.model.names import TopicPartition
from twinlog.model.selection import Patterns

CHORE: Final = "cuts"
_SAMPLES: Final = 32

Positions: TypeAlias = Mapping[str, Mapping[TopicPartition, int]]
"""Offsets on the source, by group."""


class CutSet(NamedTuple):
    """Topics that one or more applications read and write together."""

    name: str
    topics: Patterns


@dataclass(frozen=True)
class Cut:
    """Where the groups of a set stood at a time. `at_ms` is by the engine's clock; nothing is compared with it."""

    at_ms: int
    positions: Positions


@dataclass(frozen=True)
class Sample:
    """One look at a set: the cut, and the ends that the copy must reach before it counts."""

    cut: Cut
    ends: Mapping[TopicPartition, int]

    def covered_by(self, copied: Mapping[TopicPartition, int]) -> bool:
        """Whether the copy reached all of these ends. A partition that nobody copies is never covered."""
        return all(copied.get(partition, -1) >= end for partition, end in self.ends.items())


@dataclass
class CutTracker:
    """The samples of one set that are not covered yet, oldest first, and the newest one that is."""

    pending: list[Sample] = field(default_factory=list)
    covered: Cut | None = None

    def add(self, sample: Sample) -> None:
        """Take a new sample. Of too many every second one goes: the answer becomes coarser, never wrong."""
        self.pending.append(sample)
        if len(self.pending) > _SAMPLES:
            self.pending = [*self.pending[:-1:2], self.pending[-1]]

    def reach(self, copied: Mapping[TopicPartition, int]) -> None:
        """Take what the copy holds now."""
        for number in range(len(self.pending) - 1, -1, -1):
            if self.pending[number].covered_by(copied):
                self.covered = self.pending[number].cut
                del self.pending[: number + 1]
                return


# --- memos: one per set and group, so that none grows with the number of groups ---------------------------------------


def cut_memos(cut_set: str, cut: Cut) -> dict[str, dict[str, Any]]:
    """Bodies of memos by their names."""
    return {
        f"{cut_set}/{group}": {
            "at": cut.at_ms,
            "offsets": {str(partition): offset for partition, offset in sorted(positions.items())},
        }
        for group, positions in cut.positions.items()
    }


def remembered_cuts(memos: Mapping[str, Memo]) -> dict[str, dict[str, Cut]]:
    """What the ledger remembers: a cut of one group each, by set and group."""
    cuts: dict[str, dict[str, Cut]] = {}
    for name, memo in memos.items():
        cut_set, _, group = name.partition("/")
        offsets = {TopicPartition.parse(where): int(offset) for where, offset in memo.body["offsets"].items()}
        cuts.setdefault(cut_set, {})[group] = Cut(int(memo.body["at"]), {group: offsets})
    return cuts


# --- at a failover ----------------------------------------------------------------------------------------------------


class CutBack(NamedTuple):
    """A group of a set that starts earlier than its last known position."""

    cut_set: str
    group: str
    at_ms: int
    offsets_back: int  # on the source, over all partitions


def positions_at_cuts(
    known: Positions, cuts: Mapping[str, Mapping[str, Cut]], wanted: Iterable[CutSet]
) -> tuple[dict[str, dict[TopicPartition, int]], list[CutBack]]:
    """The positions to use: as of its cut for a group of a set, the last known one for all others.

    A cut never moves a group forward. Sets that the settings no longer name do not count.
    """
    result = {group: dict(positions) for group, positions in known.items()}
    back: list[CutBack] = []
    for cut_set in wanted:
        for group, cut in sorted(cuts.get(cut_set.name, {}).items()):
            moved = 0
            for partition, offset in cut.positions[group].items():
                last = result.get(group, {}).get(partition)
                if last is not None and offset < last and cut_set.topics.matches(partition.topic):
                    result[group][partition] = offset
                    moved += last - offset
            back.append(CutBack(cut_set.name, group, cut.at_ms, moved))
    return result, back
