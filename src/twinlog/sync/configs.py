"""SyncJob "configs": topic configs of the target kept in sync with the source's (model/topics/configs has the rules).

    describe both ends ─▶ judge_configs ─▶ set, unset ─▶ what we gave is remembered per topic; the rest are findings

The blocking part runs in a worker thread of the service. `twinlog diff` and `twinlog explain` use its eyes only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from twinlog.config.link_values import ConfigSyncSettings
from twinlog.errors import ClusterError
from twinlog.ledger.view import LedgerView
from twinlog.model.ledger.records import Memo, RosterTopic
from twinlog.model.switch.fences import Fences
from twinlog.model.topics.configs import ConfigVerdict, Fate, config_changes, judge_configs, next_base
from twinlog.model.topics.findings import (
    ConfigByHand,
    ConfigRefusedByTarget,
    SourceConfigsUnreadable,
    TargetConfigsUnreadable,
    TopicFinding,
    retention_findings,
)
from twinlog.sync.config_orders import apply_configs, config_rules
from twinlog.sync.ends import LinkEnds
from twinlog.sync.jobs import Outcome
from twinlog.sync.source_fences import SourceFences

CHORE: Final = "configs"
# Both ends' answers for these topics are in memory at a time: some fifty configs each (R11).
_TOPICS_AT_ONCE: Final = 500


@dataclass(frozen=True)
class JudgedTopic:
    """One mirrored topic: what is to be done about its configs, or why they could not be read."""

    entry: RosterTopic
    verdicts: tuple[ConfigVerdict, ...] = ()
    findings: tuple[TopicFinding, ...] = ()


def base_of(entry: RosterTopic, memo: Memo | None) -> dict[str, str]:
    """What we last gave this target topic; another incarnation of it got nothing from us."""
    if memo is None:
        return dict(entry.created_with or {})
    return dict(memo.body.get("given", {})) if memo.body.get("target_id") == entry.target_id else {}


def judged_topics(
    ends: LinkEnds, entries: Iterable[RosterTopic], memos: Mapping[str, Memo], fences: Fences | None = None
) -> Iterator[list[JudgedTopic]]:
    """Look at both ends, some hundred topics at a time. Topics that are gone on either side are left out.

    What a fence changed on the source is nobody's wish: it is taken as it was before.
    """
    wanted = [entry for entry in entries if entry.target_id]
    rules = config_rules(ends.link)
    for begin in range(0, len(wanted), _TOPICS_AT_ONCE):
        part = wanted[begin : begin + _TOPICS_AT_ONCE]
        source_configs = ends.source.fetch_topic_configs(entry.topic for entry in part)
        target_configs = ends.target.fetch_topic_configs(entry.remote for entry in part)
        judged = []
        for entry in part:
            source, target = source_configs[entry.topic], target_configs[entry.remote]
            if isinstance(source, ClusterError):
                judged.append(
                    JudgedTopic(entry, (), (SourceConfigsUnreadable(entry.topic, entry.remote, str(source)),))
                )
            elif isinstance(target, ClusterError):
                judged.append(
                    JudgedTopic(entry, (), (TargetConfigsUnreadable(entry.topic, entry.remote, str(target)),))
                )
            else:
                source = fences.configs_before(entry.topic, source) if fences is not None else source
                verdicts = judge_configs(source, target, base_of(entry, memos.get(entry.topic)), rules)
                in_force = {config.name: config.value for config in target} | config_changes(verdicts)
                findings = retention_findings(entry.topic, entry.remote, source, in_force)
                judged.append(JudgedTopic(entry, tuple(verdicts), tuple(findings)))
        yield judged


@dataclass
class ConfigSync:
    """The sync job of one link."""

    ends: LinkEnds
    settings: ConfigSyncSettings
    name: str = CHORE
    _fences: SourceFences = field(init=False)

    def __post_init__(self) -> None:
        self._fences = SourceFences(self.ends.link)

    @property
    def seconds(self) -> float:
        """How long to wait after one step before the next."""
        return self.settings.seconds

    async def step(self, view: LedgerView) -> Outcome:
        """Compare and apply once, for every topic that is mirrored now."""
        entries = [entry for entry in view.roster.values() if entry.problem is None]
        memos, fences = dict(view.memos.get(CHORE, {})), await self._fences.look()
        return await asyncio.to_thread(self._sync, entries, memos, set(view.roster), fences)

    def _sync(self, entries: list[RosterTopic], memos: dict[str, Memo], known: set[str], fences: Fences) -> Outcome:
        findings: list[TopicFinding] = []
        remembered: list[Memo] = []
        changed = 0
        for part in judged_topics(self.ends, entries, memos, fences):
            changes = {topic.entry.remote: config_changes(topic.verdicts) for topic in part}
            refused = apply_configs(self.ends.target, changes)
            for topic in part:
                entry = topic.entry
                problems = refused.get(entry.remote, {})
                changed += len(changes[entry.remote]) - len(problems)
                findings += topic.findings
                findings += [_refusal(topic, config, problem) for config, problem in problems.items()]
                if self.settings.conflict == "report":
                    findings += [by_hand(entry, verdict) for verdict in topic.verdicts if verdict.fate is Fate.BY_HAND]
                if topic.verdicts:
                    body = {"target_id": entry.target_id, "given": next_base(topic.verdicts, problems)}
                    if entry.topic not in memos or memos[entry.topic].body != body:
                        remembered.append(Memo(chore=CHORE, name=entry.topic, body=body))
        return Outcome(
            counts={"topics": len(entries), "changed": changed},
            findings=[str(finding) for finding in findings],
            memos=remembered,
            forget=[topic for topic in memos if topic not in known],
        )


def by_hand(entry: RosterTopic, verdict: ConfigVerdict) -> ConfigByHand:
    """The sentence about a config that somebody changed on the target."""
    return ConfigByHand(entry.topic, entry.remote, verdict.name, verdict.wish, verdict.have)


def _refusal(topic: JudgedTopic, config: str, problem: str) -> ConfigRefusedByTarget:
    wish = next(verdict.wish for verdict in topic.verdicts if verdict.name == config)
    return ConfigRefusedByTarget(topic.entry.topic, topic.entry.remote, config, wish, problem)
