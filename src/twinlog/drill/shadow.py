"""The shadow drill: a throw-away copy of each group starts on the target from its translated position.

    positions of all groups ─▶ written to twinlog-drill-<id>-<group> ─▶ read as that group ─▶ compared with the source
                                                                                          ─▶ the groups are deleted

The real groups are not touched. Runs in the command's process.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from twinlog.errors import ClusterError, SelectionEmpty, TwinlogError
from twinlog.kafka.shadow_group import delete_groups, read_as_group
from twinlog.kafka.spans import Span, read_spans
from twinlog.ledger.reading import read_ledger
from twinlog.ledger.view import LedgerView
from twinlog.model.drills.shadow import ShadowVerdict, Window, judge_shadow
from twinlog.model.groups.observed import GroupPosition
from twinlog.model.groups.positions import Remark, Standing
from twinlog.model.ledger.translation import AtOrBefore
from twinlog.model.names import TopicPartition
from twinlog.model.naming import DRILL_PREFIX
from twinlog.model.wanted import Wanted
from twinlog.sync.answers.group_report import report_groups
from twinlog.sync.ends import LinkEnds
from twinlog.wire.connection import Cluster
from twinlog.wire.groups import GroupCoordinators

_WITHIN_S: Final = 60.0
_NAMED: Final = 5


@dataclass
class ShadowResult:
    """What all shadows found."""

    verdicts: list[ShadowVerdict] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)  # groups or partitions that no shadow could try
    steps: list[tuple[str, float]] = field(default_factory=list)  # (what, seconds)
    groups: int = 0

    @property
    def passed(self) -> bool:
        """Whether every group would continue exactly where it stopped."""
        return bool(self.verdicts) and all(verdict.passed for verdict in self.verdicts) and not self.findings

    @property
    def seconds(self) -> float:
        """From the decision to the last group's first record."""
        return sum(seconds for _, seconds in self.steps)


async def run_shadow(ends: LinkEnds, wanted: Wanted, limit: int) -> ShadowResult:
    """Try every group; `limit` is how many offsets of each partition are read and compared.

    Raises SelectionEmpty when no group is chosen, or none of them has a position in a mirrored topic.
    """
    result = ShadowResult()
    began = time.monotonic()
    report = await report_groups(ends, lambda name: wanted(name) and not name.startswith(DRILL_PREFIX))
    things = f"the groups that {ends.link.name} selects on {ends.link.source}"
    chosen = wanted.among((name for name in report.known if not name.startswith(DRILL_PREFIX)), things)
    result.findings += report.findings
    if not report.findings and not any(standing.remote for standing in report.standings):
        things, near = "the groups with a position in a mirrored topic", "their positions are in other topics"
        raise SelectionEmpty(", ".join(chosen[:_NAMED]), things, near)
    placed: dict[str, list[Standing]] = {}
    for standing in report.standings:
        if standing.remote is None:
            continue  # of a topic that this link does not mirror
        if standing.position is None:
            result.findings.append(f"{standing.group}: {standing.source}: no place on the target: {standing.why}")
            continue
        placed.setdefault(standing.group, []).append(standing)
    result.groups = len(placed)
    result.steps.append(("positions translated", time.monotonic() - began))

    names = {group: f"{DRILL_PREFIX}{uuid.uuid4().hex[:8]}-{group}" for group in placed}
    target = Cluster(ends.link.clients.target_admin, f"twinlog|{ends.link.name}|drill")
    try:
        began = time.monotonic()
        refused = await _commit(target, names, placed)
        result.findings += refused
        result.steps.append(("positions written", time.monotonic() - began))
        began = time.monotonic()
        windows = await _read(ends, names, placed, limit)
        result.steps.append(("groups started", time.monotonic() - began))
        view = await read_ledger(ends.link)
        result.verdicts = await _compare(ends, view, placed, windows, limit)
    finally:
        result.findings += await _clean_up(ends, names.values())
        await target.close()
    return result


async def _commit(target: Cluster, names: Mapping[str, str], placed: Mapping[str, list[Standing]]) -> list[str]:
    wanted = {
        names[group]: {s.remote: GroupPosition(s.position) for s in some if s.remote and s.position is not None}
        for group, some in placed.items()
    }
    problems: list[str] = []
    for group, answer in (await GroupCoordinators(target).commit_positions(wanted)).items():
        if isinstance(answer, ClusterError):
            problems.append(f"{group}: its positions were not taken: {answer}")
        else:
            problems += [f"{group}: {refusal.partition}: refused with error {refusal.error}" for refusal in answer]
    return problems


async def _read(
    ends: LinkEnds, names: Mapping[str, str], placed: Mapping[str, list[Standing]], limit: int
) -> dict[str, dict[TopicPartition, Window]]:
    """Start every shadow, a few at a time."""
    remotes = {standing.remote for some in placed.values() for standing in some if standing.remote}
    # Asked before anything is read: what is copied meanwhile is nobody's business here.
    answers = await asyncio.to_thread(ends.target.fetch_end_offsets, sorted(remotes))
    known = {partition: int(end) for partition, end in answers.items() if not isinstance(end, ClusterError)}
    turn = asyncio.Semaphore(8)

    async def one(group: str) -> tuple[str, dict[TopicPartition, Window]]:
        wanted = {s.remote: known[s.remote] for s in placed[group] if s.remote in known and s.remote is not None}
        async with turn:
            client = ends.link.clients.target_consumer
            read = await asyncio.to_thread(read_as_group, client, names[group], wanted, limit=limit, within_s=_WITHIN_S)
        return group, read

    return dict(await asyncio.gather(*(one(group) for group in placed)))


async def _compare(
    ends: LinkEnds,
    view: LedgerView,
    placed: Mapping[str, list[Standing]],
    windows: Mapping[str, Mapping[TopicPartition, Window]],
    limit: int,
) -> list[ShadowVerdict]:
    """Read what each group has left on the source, and compare."""
    compacted = await asyncio.to_thread(_compacted, ends, {entry.topic for entry in view.roster.values()})
    verdicts: list[ShadowVerdict] = []
    for group, some in placed.items():
        spans = {s.source: _left(s, view, limit) for s in some}
        committed = ends.link.reading.fetch.isolation == "read_committed"
        of_source = await asyncio.to_thread(
            read_spans, ends.link.clients.source_consumer, spans, committed=committed, within_s=_WITHIN_S
        )
        for standing in some:
            window = windows[group].get(standing.remote) if standing.remote else None
            if standing.remote is None or window is None:
                continue
            verdict = ShadowVerdict(group, standing.source, standing.remote, standing.committed.offset, window.first)
            mapped = view.map_of(standing.source)
            if mapped is not None:
                left = Window(*spans[standing.source], of_source[standing.source])
                judge_shadow(
                    verdict,
                    left,
                    window,
                    mapped,
                    compacted=standing.source.topic in compacted,
                    at_the_end=isinstance(standing.translation, AtOrBefore) and standing.remark is not Remark.ROUGH,
                )
            verdicts.append(verdict)
    return verdicts


def _left(standing: Standing, view: LedgerView, limit: int) -> Span:
    """What the group has left on the source, as far as it is copied: the rest is told by the RPO, not by a drill."""
    state = view.states.get(standing.source)
    first = standing.committed.offset
    reached = state.source_next if state is not None else first
    return Span(first, max(first, min(reached, first + limit)))


def _compacted(ends: LinkEnds, topics: Iterable[str]) -> set[str]:
    topic_configs = ends.source.fetch_topic_configs(topics)
    return {
        topic
        for topic, configs in topic_configs.items()
        if not isinstance(configs, ClusterError)
        and any(config.name == "cleanup.policy" and "compact" in (config.value or "") for config in configs)
    }


async def _clean_up(ends: LinkEnds, groups: Iterable[str]) -> list[str]:
    """Delete the shadows; one that stays is named, never kept quiet."""
    try:
        answers = await asyncio.to_thread(delete_groups, ends.target, groups)
    except TwinlogError as error:
        return [f"the shadow groups {DRILL_PREFIX}* were not deleted: {error}"]
    left = {name: answer for name, answer in answers.items() if answer is not None}
    return [
        f"{name}: not deleted: {answer}" for name, answer in left.items() if "GROUP_ID_NOT_FOUND" not in str(answer)
    ]
