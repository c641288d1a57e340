"""Positions of consumer groups: where each continues in the copy, what is reported, what is committed. Pure.

    committed on the source ──ledger──▶ position on the target ──▶ checkpoint (told)
                                                              └──▶ offset of the target's group (written)

The rules, in the order of their weight:

- A position skips no unread record, and re-reads none that was copied (R5). What the group is ahead of the copy is not
  there to be read: it stands at the mirrored end and moves on with it.
- It goes back only when the group went back on the source (R6), and then only if the operator wants that followed.
- A group with members on the target is left alone. So is one that moved there by itself: only a place that we wrote is
  ever moved back.
- It lies between the beginning and the end of the log that is there: a place outside of it would make the client start
  anywhere.
- Positions in another incarnation of a topic mean nothing here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, NamedTuple, Protocol, TypeAlias, assert_never

from twinlog.model.groups.observed import GroupPosition
from twinlog.model.ledger.translation import AtOrBefore, Exact, Translation, Untranslatable
from twinlog.model.mirrormaker.records import Checkpoint
from twinlog.model.names import TopicPartition

Rewinds: TypeAlias = Literal["follow", "hold"]


class Translates(Protocol):
    """Half of a PartitionMap: the direction that is asked for."""

    def __call__(self, position: int, /) -> Translation: ...


class GroupPartition(NamedTuple):
    """One position of one group, by the name of the partition on the target."""

    group: str
    partition: TopicPartition


class Told(NamedTuple):
    """The last checkpoint of a position. Without an incarnation (MirrorMaker 2 wrote it) it counts for the present."""

    upstream: int
    downstream: int
    incarnation: str | None = None


@dataclass(frozen=True)
class Copied:
    """A partition that groups have positions in, and its copy, as they are now."""

    remote: TopicPartition
    incarnation: str
    first: int  # the ledger speaks of positions from here on …
    floor: int  # … and while it holds nothing yet, reading the target from here skips nothing
    translate: Translates | None = None  # None: nothing was copied yet
    source_start: int | None = None  # where the log begins on the source; asked only for positions before `first`
    target_start: int = 0
    target_end: int | None = None
    trouble: str | None = None  # why positions in it mean nothing


class Remark(Enum):
    """What is special about a position."""

    UNTRANSLATED = "untranslated"
    ROUGH = "rough"
    MOVED_UP = "moved up"
    HELD = "held"
    ACTIVE = "active"
    AHEAD = "ahead"


class Standing(NamedTuple):
    """One position on both sides, and what to do about it."""

    group: str
    source: TopicPartition
    committed: GroupPosition
    remote: TopicPartition | None
    translation: Translation
    position: int | None = None  # where a reader of the target continues
    on_target: int | None = None  # what the target's group has committed
    active: bool = False
    remark: Remark | None = None
    why: str = ""
    checkpoint: Checkpoint | None = None
    write: GroupPosition | None = None

    @property
    def re_read(self) -> int | None:
        """Offsets that the target's group would read a second time if it took over now; None: nobody knows."""
        if self.position is None or self.on_target is None or self.remark is Remark.ROUGH:
            return None
        return max(0, self.position - self.on_target)

    def finding(self) -> str | None:
        """A sentence for the operator, where there is something to know (R13)."""
        if self.remark in {Remark.UNTRANSLATED, Remark.ROUGH, Remark.MOVED_UP, Remark.HELD}:
            return f"{self.group}: {self.source}: {self.why}"
        return None


@dataclass(frozen=True)
class GroupsNow:
    """Everything that was observed for one decision."""

    committed: Mapping[str, Mapping[TopicPartition, GroupPosition]]  # on the source, by group
    copied: dict[TopicPartition, Copied]  # by partition of the source
    on_target: Mapping[str, Mapping[TopicPartition, GroupPosition]] = field(default_factory=dict)
    active: frozenset[str] = frozenset()  # groups with members on the target
    told: Mapping[GroupPartition, Told] = field(default_factory=dict)
    written: Mapping[GroupPartition, int] = field(default_factory=dict)  # by us, in this life


def translation_of(position: int, copied: Copied) -> Translation:
    """Translate one position with all that is known about its partition."""
    if copied.trouble is not None:
        return Untranslatable(copied.trouble)
    if position < copied.first:
        if copied.source_start is None or copied.source_start < copied.first:
            return Untranslatable(
                f"offset {position} lies before {copied.first}, where the ledger begins; it copied nothing before"
            )
        position = copied.first  # what lies between is gone from the source as well: nobody can read it any more
    if copied.translate is None:
        return AtOrBefore(copied.floor)
    return copied.translate(position)


def starts_wanted(now: GroupsNow) -> set[TopicPartition]:
    """Partitions of the source whose beginning decides about a position."""
    return {
        partition
        for positions in now.committed.values()
        for partition, position in positions.items()
        if (copied := now.copied.get(partition)) is not None and position.offset < copied.first
    }


def standings(now: GroupsNow, rewinds: Rewinds, *, writing: bool) -> Iterator[Standing]:
    """Decide about every position. `writing` says whether the target's groups are kept in sync at all."""
    for group, positions in now.committed.items():
        there = now.on_target.get(group, {})
        active = group in now.active
        for partition, committed in positions.items():
            copied = now.copied.get(partition)
            if copied is None:
                reason = Untranslatable("the topic is not mirrored by this link")
                yield Standing(group, partition, committed, None, reason, why=reason.reason)
                continue
            key = GroupPartition(group, copied.remote)
            held = there.get(copied.remote)
            told = now.told.get(key)
            written = now.written.get(key, told.downstream if told else None)
            place = _Place(group, partition, committed, copied, held.offset if held else None, active, told, written)
            yield place.stand(rewinds, writing=writing)


class _Place(NamedTuple):
    """One position with everything that its decision needs."""

    group: str
    source: TopicPartition
    committed: GroupPosition
    copied: Copied
    on_target: int | None
    active: bool
    told: Told | None
    written: int | None

    def stand(self, rewinds: Rewinds, *, writing: bool) -> Standing:
        translation = translation_of(self.committed.offset, self.copied)
        remark, why = None, ""
        if isinstance(translation, Untranslatable) and (told := self._told_before()) is not None:
            remark, why = Remark.ROUGH, f"{translation.reason}; its last checkpoint is used"
            translation = AtOrBefore(told.downstream)
        match translation:
            case Untranslatable():
                return self._standing(translation, Remark.UNTRANSLATED, translation.reason)
            case Exact() | AtOrBefore():
                wanted = translation.offset
            case _:
                assert_never(translation)
        position = self._within(wanted)
        if position > wanted:
            remark = Remark.MOVED_UP
            why = (
                f"the target deleted offsets {wanted}..{position - 1}; its group continues at the earliest, {position}"
            )
        held = rewinds == "hold" and self._went_back()
        if held:
            remark, why = Remark.HELD, f"the group went back to {self.committed.offset}; `group.rewinds = hold`"
        checkpoint = None if held else self._checkpoint(position)
        write = None
        if writing and self.on_target != position:
            if self.active:
                remark, why = remark or Remark.ACTIVE, why or "its group has members on the target"
            elif self._may_write(position, held=held):
                write = GroupPosition(position, self.committed.metadata)
            elif not held:
                remark = remark or Remark.AHEAD
                why = why or f"the target's group is ahead at {self.on_target}, by itself"
        return self._standing(translation, remark, why, position=position, checkpoint=checkpoint, write=write)

    def _within(self, position: int) -> int:
        """Where the log is: never before its beginning nor behind its end."""
        end = self.copied.target_end
        return max(self.copied.target_start, position if end is None else min(position, end))

    def _told_here(self) -> Told | None:
        """What was told of this incarnation."""
        told = self.told
        return told if told and told.incarnation in {None, self.copied.incarnation} else None

    def _told_before(self) -> Told | None:
        """What was told of a place at or before this one: reading from there skips nothing.

        So a group that is behind the beginning of the ledger keeps what MirrorMaker 2 told of it before we took over.
        """
        told = self._told_here()
        here = told is not None and self.copied.trouble is None and told.upstream <= self.committed.offset
        return told if here else None

    def _went_back(self) -> bool:
        told = self._told_here()
        return told is not None and self.committed.offset < told.upstream

    def _checkpoint(self, position: int) -> Checkpoint | None:
        told = self._told_here()
        if told is not None and not self._went_back() and position <= told.downstream:
            return None
        remote = self.copied.remote
        return Checkpoint(
            self.group, remote.topic, remote.partition, self.committed.offset, position, self.committed.metadata
        )

    def _may_write(self, position: int, *, held: bool) -> bool:
        there, end = self.on_target, self.copied.target_end
        if there is None or there < position:
            return True
        if end is not None and there > end:
            return True  # a place that does not exist: left by an older topic of that name
        return there == self.written and not held

    def _standing(
        self,
        translation: Translation,
        remark: Remark | None,
        why: str,
        *,
        position: int | None = None,
        checkpoint: Checkpoint | None = None,
        write: GroupPosition | None = None,
    ) -> Standing:
        return Standing(
            self.group,
            self.source,
            self.committed,
            self.copied.remote,
            translation,
            position,
            self.on_target,
            self.active,
            remark,
            why,
            checkpoint,
            write,
        )


def continues(records: int) -> str:
    """Say where a group continues whose newest position nobody knows."""
    return f"continues {records:,} records before the end of the copy; what it read after its last sync comes again"


def read_again_at_most(now: GroupsNow) -> dict[str, int]:
    """By group: the copied records behind where it continues. A group may have read them before the source was lost."""
    again: dict[str, int] = {}
    for group, positions in now.committed.items():
        again[group] = 0
        for partition in positions:
            copied = now.copied.get(partition)
            if copied is None or copied.target_end is None:
                continue
            here = now.on_target.get(group, {}).get(copied.remote)
            told = now.told.get(GroupPartition(group, copied.remote))
            start = here.offset if here is not None else told.downstream if told is not None else copied.target_start
            again[group] += max(0, copied.target_end - start)
    return again


def counts_of(all_standings: Iterable[Standing]) -> dict[str, int]:
    """How many positions there are of each kind, for the note."""
    counts = dict.fromkeys(("positions", "exact", "behind_the_group"), 0) | {remark.value: 0 for remark in Remark}
    for standing in all_standings:
        if standing.remote is None:
            continue
        counts["positions"] += 1
        counts["exact"] += isinstance(standing.translation, Exact)
        counts["behind_the_group"] += isinstance(standing.translation, AtOrBefore)
        if standing.remark is not None:
            counts[standing.remark.value] += 1
    return {name.replace(" ", "_"): count for name, count in counts.items()}
