"""Positions of groups on request: the answers of `twinlog groups` and `twinlog translate`. Needs no running engine.

Asks both clusters and the ledger once, decides by the same rules as the sync job, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from twinlog.errors import ClusterUnreachable, PositionUnknown
from twinlog.ledger.reading import read_ledger
from twinlog.ledger.view import LedgerView
from twinlog.model.groups.observed import GroupPosition
from twinlog.model.groups.positions import GroupsNow, Standing, read_again_at_most, standings
from twinlog.model.ledger.translation import AtOrBefore, Exact, Untranslatable
from twinlog.model.names import TopicPartition
from twinlog.model.selection import Taken, verdict
from twinlog.sync.checkpoints import Checkpoints
from twinlog.sync.ends import LinkEnds
from twinlog.sync.group_observation import GroupObserver
from twinlog.sync.internal_topics import InternalLog


@dataclass(frozen=True)
class GroupReport:
    """All positions of the groups that were asked for, and what could not be looked at."""

    standings: tuple[Standing, ...]
    findings: tuple[str, ...]
    with_members: frozenset[str] = frozenset()  # groups that somebody is in, on the source
    known: tuple[str, ...] = ()  # every group that the settings select, whether it was asked for or not
    source_trouble: str | None = None  # it does not answer: positions are those of the last checkpoints
    read_again: Mapping[str, int] = field(default_factory=dict)  # then: by group, at most so many records


@dataclass(frozen=True)
class Answer:
    """One translated position."""

    asked: TopicPartition
    offset: int
    place: TopicPartition
    translation: Exact | AtOrBefore

    @property
    def place_offset(self) -> int:
        """The offset at that place."""
        return self.translation.offset


async def report_groups(ends: LinkEnds, wanted: Callable[[str], bool]) -> GroupReport:
    """How the groups of a link stand on both sides now."""
    link = ends.link
    observer = GroupObserver(ends)
    try:
        view = await read_ledger(link)
        try:
            await observer.refresh_groups()
        except ClusterUnreachable as error:
            return await _without_source(observer, view, wanted, str(error))
        known = tuple(sorted(observer.groups))
        observer.groups = {name: group for name, group in observer.groups.items() if wanted(name)}
        checkpoints = Checkpoints(InternalLog(observer.target, link.naming.checkpoints_topic(link.source)))
        unread = await checkpoints.load()
        now = replace(await observer.look(view), told=checkpoints.told)
        positions = tuple(standings(now, link.group_offsets.rewinds, writing=link.group_offsets.enabled))
        with_members = frozenset(name for name, group in observer.groups.items() if group.active)
        return GroupReport(positions, tuple(filter(None, [*observer.findings, unread])), with_members, known)
    finally:
        await observer.close()


async def _without_source(
    observer: GroupObserver, view: LedgerView, wanted: Callable[[str], bool], trouble: str
) -> GroupReport:
    """The same from the target alone: where groups stood at their last checkpoint, and what each reads again."""
    link = observer.ends.link
    checkpoints = Checkpoints(InternalLog(observer.target, link.naming.checkpoints_topic(link.source)))
    unread = await checkpoints.load()
    known = tuple(sorted({group for group, _ in checkpoints.told}))
    told = {key: last for key, last in checkpoints.told.items() if wanted(key.group)}
    now = await observer.look_without_source(view, told)
    positions = tuple(standings(now, link.group_offsets.rewinds, writing=False))
    again = read_again_at_most(now)
    findings = tuple(filter(None, [*observer.findings, unread]))
    return GroupReport(positions, findings, frozenset(), known, trouble, again)


async def translate(ends: LinkEnds, asked: TopicPartition, offset: int, *, reverse: bool) -> Answer:
    """Translate one position from the source to the target, or back. Raises PositionUnknown with the reason."""
    observer = GroupObserver(ends)
    try:
        view = await read_ledger(ends.link)
        if reverse:
            return _back(ends, view, asked, offset)
        now = GroupsNow({"": {asked: GroupPosition(offset)}}, await observer.copies(view, [asked]))
        await observer.measure_starts(now)
        (standing,) = standings(now, "follow", writing=False)
    finally:
        await observer.close()
    if standing.remote is None:
        raise PositionUnknown(str(asked), offset, _why_not_mirrored(ends, asked.topic))
    translation = standing.translation
    match translation:
        case Untranslatable():
            raise PositionUnknown(str(asked), offset, translation.reason)
        case Exact() | AtOrBefore():
            place = standing.position if standing.position is not None else translation.offset
            return Answer(asked, offset, standing.remote, replace(translation, offset=place))
        case _:
            assert_never(translation)


def _back(ends: LinkEnds, view: LedgerView, asked: TopicPartition, offset: int) -> Answer:
    entry = next((entry for entry in view.roster.values() if entry.remote == asked.topic), None)
    if entry is None:
        reason = f"the link {ends.link.name} writes no topic of that name on {ends.link.target}"
        raise PositionUnknown(str(asked), offset, reason)
    place = TopicPartition(entry.topic, asked.partition)
    if asked.partition >= entry.partitions:
        raise PositionUnknown(str(asked), offset, f"the topic has {entry.partitions} partitions")
    known = view.map_of(place)
    if known is None:
        raise PositionUnknown(str(asked), offset, "nothing was copied into it yet")
    translation = known.to_source(offset)
    if isinstance(translation, Untranslatable):
        raise PositionUnknown(str(asked), offset, translation.reason)
    return Answer(asked, offset, place, translation)


def _why_not_mirrored(ends: LinkEnds, topic: str) -> str:
    link = ends.link
    why = verdict(topic, link.source, link.target, link.topics, link.naming)
    if isinstance(why, Taken):
        return f"the link {link.name} mirrors no topic of that name yet; is there one on {link.source}?"
    return f"the link {link.name} does not mirror this topic: {why}"
