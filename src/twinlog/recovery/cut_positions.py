"""Positions of groups at the consistent cut of their set, for an unplanned failover. Changes nothing."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from twinlog.config.settings import LinkSettings
from twinlog.ledger.view import LedgerView
from twinlog.model.groups.cut_sets import CHORE, CutBack, positions_at_cuts, remembered_cuts
from twinlog.model.groups.observed import GroupPosition
from twinlog.model.groups.positions import GroupPartition, Standing, Told
from twinlog.model.names import TopicPartition
from twinlog.model.switch.facts import CutGroup

Committed = dict[str, dict[TopicPartition, GroupPosition]]


def checkpointed(view: LedgerView, told: Mapping[GroupPartition, Told]) -> Committed:
    """The last known positions of all groups on the source, as their checkpoints say."""
    sources = {entry.remote: entry.topic for entry in view.roster.values()}
    committed: Committed = {}
    for (group, remote), checkpoint in told.items():
        topic = sources.get(remote.topic)
        if topic is not None and checkpoint.incarnation in {None, view.roster[topic].incarnation}:
            position = GroupPosition(checkpoint.upstream)
            committed.setdefault(group, {})[TopicPartition(topic, remote.partition)] = position
    return committed


def at_cuts(link: LinkSettings, view: LedgerView, committed: Committed) -> tuple[Committed, list[CutBack]]:
    """The same positions, moved back to the cut for the groups of a cut set, and who was moved."""
    if not link.cut_sets:
        return committed, []
    known = {group: {p: position.offset for p, position in positions.items()} for group, positions in committed.items()}
    cuts = remembered_cuts(view.memos.get(CHORE, {}))
    offsets, back = positions_at_cuts(known, cuts, link.cut_sets)
    moved = {
        group: {
            partition: GroupPosition(offsets[group][partition], position.metadata)
            for partition, position in positions.items()
        }
        for group, positions in committed.items()
    }
    return moved, back


def cut_outlook(link: LinkSettings, view: LedgerView, told: Mapping[GroupPartition, Told]) -> tuple[str, ...]:
    """What the plan says about the cut sets: one sentence per set and group, and per set that has no cut yet."""
    _, back = at_cuts(link, view, checkpointed(view, told))
    sentences = [
        f"cut set {moved.cut_set}: group {moved.group} starts where it stood at {_clock(moved.at_ms)}; "
        f"it reads up to {moved.offsets_back:,} offsets again"
        for moved in back
    ]
    without = [cut_set.name for cut_set in link.cut_sets if cut_set.name not in {moved.cut_set for moved in back}]
    sentences += [
        f"cut set {name}: no consistent cut is known; its groups start at their last known positions"
        for name in without
    ]
    return tuple(sentences)


def read_again(
    back: Iterable[CutBack], decided: Iterable[Standing], without_cuts: Iterable[Standing]
) -> list[CutGroup]:
    """What each group of a set reads again because of its cut, in offsets of the copies; for the report."""
    moved = list(back)
    groups = {cut.group for cut in moved}
    last = {(cut.group, cut.source): cut.position for cut in without_cuts if cut.group in groups}
    again = dict.fromkeys(groups, 0)
    for standing in decided:
        if standing.group in groups and standing.position is not None:
            before = last.get((standing.group, standing.source))
            again[standing.group] += max(0, (before or standing.position) - standing.position)
    return [
        CutGroup(set=cut.cut_set, group=cut.group, as_of_ms=cut.at_ms, read_again=again[cut.group]) for cut in moved
    ]


def cut_sentence(entry: CutGroup) -> str:
    """One entry of `read_again`, for people."""
    return (
        f"cut set {entry.set}: group {entry.group} starts where it stood at {_clock(entry.as_of_ms)}; "
        f"it reads {entry.read_again:,} offsets again"
    )


def _clock(at_ms: int) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at_ms / 1000))
