"""A mirror and a group as plain lists: what the rules about positions are judged by. Shares nothing with them.

Both logs are lists with one cell per offset. A source cell says whether a reader sees a record there; a target cell
names the source offset whose record it holds, or None for a marker.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from twinlog.model.groups.observed import GroupPosition
from twinlog.model.groups.positions import Copied, GroupPartition, GroupsNow, Rewinds, Standing, Told, standings
from twinlog.model.ledger.map_parts import PartIndex
from twinlog.model.ledger.packed_runs import pack
from twinlog.model.ledger.partition_map import PartitionMap
from twinlog.model.ledger.records import PartitionState, SealedRuns
from twinlog.model.ledger.runs import Run, RunMap
from twinlog.model.names import TopicPartition

HERE, THERE = TopicPartition("orders", 0), TopicPartition("A.orders", 0)
KEY = GroupPartition("g", THERE)
_SEAL_AT = 1


@dataclass
class History:
    """Everything that happens to one partition and one group."""

    origin: int = 0
    source: list[bool] = field(default_factory=list)
    target: list[int | None] = field(default_factory=list)
    copied_to: int = 0
    source_start: int = 0
    target_start: int = 0
    committed: int | None = None
    on_target: int | None = None
    active: bool = False
    told: dict[GroupPartition, Told] = field(default_factory=dict)
    written: dict[GroupPartition, int] = field(default_factory=dict)
    open_part: RunMap = field(default_factory=RunMap)
    sealed: PartIndex = field(default_factory=PartIndex)
    map_first: int = 0
    target_first: int | None = None

    def __post_init__(self) -> None:
        self.source = [True] * self.origin
        self.copied_to = self.map_first = self.origin

    # --- what happens ---------------------------------------------------------------------------------------------

    def produce(self, cells: list[bool]) -> None:
        self.source += cells

    def copy(self, count: int) -> None:
        """Copy so many offsets; records only. Each stretch of neighbours may be a batch, merged or not."""
        if self.target_first is None:
            self.target_first = len(self.target)
        for offset in range(self.copied_to, min(len(self.source), self.copied_to + count)):
            if self.source[offset]:
                self.open_part.add(Run(offset, len(self.target), 1))
                self.target.append(offset)
                if len(self.open_part) > _SEAL_AT:
                    self._seal(offset + 1)
            self.copied_to = offset + 1

    def _seal(self, up_to: int) -> None:
        self.sealed.add(
            SealedRuns(
                topic="orders",
                partition=0,
                incarnation="i",
                first=self.map_first,
                next=up_to,
                packed=pack(self.open_part),
            )
        )
        self.open_part, self.map_first = RunMap(), up_to

    def take_over(self) -> None:
        """An engine was killed and another one fenced it: a marker on the target."""
        if self.target_first is not None:
            self.target.append(None)

    def restart(self) -> None:
        """The service forgets what it keeps in memory; checkpoints are read again."""
        self.written.clear()

    # --- one cycle ------------------------------------------------------------------------------------------------

    def decide(self, rewinds: Rewinds = "follow") -> Standing:
        assert self.committed is not None
        now = GroupsNow(
            committed={"g": {HERE: GroupPosition(self.committed, "m")}},
            copied={HERE: self.copied()},
            on_target={} if self.on_target is None else {"g": {THERE: GroupPosition(self.on_target)}},
            active=frozenset({"g"} if self.active else ()),
            told=self.told,
            written=self.written,
        )
        (standing,) = standings(now, rewinds, writing=True)
        return standing

    def apply(self, standing: Standing) -> None:
        if standing.write is not None:
            self.on_target = self.written[KEY] = standing.write.offset
        if standing.checkpoint is not None:
            self.told[KEY] = Told(standing.checkpoint.upstream, standing.checkpoint.downstream, "i")

    def copied(self) -> Copied:
        translate = None
        first = self.origin
        if self.target_first is not None:
            # The state travels as JSON, like in the ledger.
            state = PartitionState(
                topic="orders",
                partition=0,
                incarnation="i",
                phase="copying",
                source_first=self.origin,
                target_first=self.target_first,
                source_next=self.copied_to,
                target_next=1 + max((at for at, cell in enumerate(self.target) if cell is not None), default=-1),
                producer_id=1,
                map_first=self.map_first,
                open_map=pack(self.open_part),
            )
            state = PartitionState.model_validate_json(state.value())
            translate = PartitionMap(state, self.sealed.parts()).to_target
        return Copied(
            remote=THERE,
            incarnation="i",
            first=first,
            floor=self.target_start,
            translate=translate,
            source_start=self.source_start,
            target_start=self.target_start,
            target_end=len(self.target),
        )

    # --- the oracle -------------------------------------------------------------------------------------------------

    def read_from(self, position: int) -> list[int]:
        """Source offsets of the records that a reader of the target gets from `position` on."""
        begin = max(position, self.target_start)
        return [cell for cell in self.target[begin:] if cell is not None]

    def unread(self) -> list[int]:
        """Source offsets of the records that the group has not read and that the target holds."""
        assert self.committed is not None
        return [c for c in self.target[self.target_start :] if c is not None and c >= self.committed]

    def missing(self) -> bool:
        """Whether the group has records before it that are on the source and will never be on the target."""
        assert self.committed is not None
        return self.committed < self.origin and self.source_start < self.origin
