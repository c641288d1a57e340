"""Whether and why a topic or a group is mirrored: the answers of `twinlog explain`. Needs no running engine.

Asks both clusters and the ledger, decides by the rules that the link itself uses, and changes nothing.
"""

from __future__ import annotations

import asyncio
import difflib
from dataclasses import dataclass

from twinlog.errors import LedgerMissing, TopicUnknown
from twinlog.ledger.view import LedgerView
from twinlog.model.groups.observed import SHARE
from twinlog.model.groups.positions import Remark, Standing
from twinlog.model.ledger.records import RosterTopic
from twinlog.model.selection import Included, Taken, verdict
from twinlog.model.topics.configs import ConfigVerdict
from twinlog.model.topics.target_topics import TopicFacts
from twinlog.sync import configs
from twinlog.sync.answers.group_report import report_groups
from twinlog.sync.answers.link_diff import read_roster
from twinlog.sync.ends import LinkEnds
from twinlog.sync.group_observation import GroupObserver


@dataclass(frozen=True)
class TopicExplanation:
    """One topic on one link."""

    link: str
    topic: str
    exists: bool | None  # on the source; None: it does not tell
    mirrored: bool
    why: str  # the rule or pattern that decides
    remote: str
    facts: tuple[str, ...] = ()  # what became of it, one sentence each
    configs: tuple[ConfigVerdict, ...] = ()


@dataclass(frozen=True)
class GroupExplanation:
    """One consumer group on one link."""

    link: str
    group: str
    exists: bool
    translated: bool
    why: str
    facts: tuple[str, ...] = ()


async def explain_topic(ends: LinkEnds, topic: str) -> TopicExplanation:
    """Everything that decides about a topic of the source."""
    return await asyncio.to_thread(_topic, ends, topic, await read_roster(ends.link))


def _topic(ends: LinkEnds, topic: str, view: LedgerView | None) -> TopicExplanation:
    link = ends.link
    why = verdict(topic, link.source, link.target, link.topics, link.naming)
    selected = isinstance(why, Taken)
    remote = link.naming.remote(link.source, topic)
    answer = ends.source.describe_topics([topic])[topic]
    if not isinstance(answer, TopicFacts):
        unknown = isinstance(answer, TopicUnknown)
        fact = f"there is no such topic on {link.source}" if unknown else str(answer)
        known = view is not None and topic in view.roster
        facts = (fact, *_name_hints(ends, topic), *(_history(view, topic) if known else ()))
        return TopicExplanation(link.name, topic, False if unknown else None, False, str(why), remote, facts)
    copy = ends.target.describe_topics([remote])[remote]
    if not selected:
        left = [f"{remote} is still there from earlier"] if isinstance(copy, TopicFacts) else []
        return TopicExplanation(link.name, topic, True, False, str(why), remote, tuple(left))
    if not isinstance(copy, TopicFacts):
        missing = isinstance(copy, TopicUnknown)
        told = f"{remote} does not exist on {link.target} yet" if missing else f"{remote}: {copy}"
        facts = (told, *_history(view, topic))
        return TopicExplanation(link.name, topic, True, False, str(why), remote, facts)
    return _mirrored(ends, answer, copy, view, str(why))


def _mirrored(
    ends: LinkEnds, source: TopicFacts, copy: TopicFacts, view: LedgerView | None, why: str
) -> TopicExplanation:
    link = ends.link
    entry = view.roster.get(source.name) if view is not None else None
    facts = [f"{source.partitions} partitions, {copy.name} has {copy.partitions}"]
    if entry is not None and entry.created_with is not None:
        facts.append(f"{copy.name} was made by this link")
    known = entry or RosterTopic(
        topic=source.name, source_id=source.topic_id, remote=copy.name, target_id=copy.topic_id, origins=[]
    )
    memos = view.memos.get(configs.CHORE, {}) if view is not None else {}
    ((judged,),) = configs.judged_topics(ends, [known.model_copy(update={"target_id": copy.topic_id})], memos)
    facts += [str(finding) for finding in judged.findings]
    facts += _history(view, source.name)
    if not link.configs.enabled:
        facts.append("its configs are copied when it is made and not kept in sync: sync.topic.configs.enabled = false")
    healthy = entry is not None and entry.problem is None
    return TopicExplanation(link.name, source.name, True, healthy, why, copy.name, tuple(facts), judged.verdicts)


def _history(view: LedgerView | None, topic: str) -> list[str]:
    """What the ledger says about it."""
    if view is None:
        return ["no engine has ever run this link; start it with `twinlog run`"]
    entry = view.roster.get(topic)
    if entry is None:
        return ["the engine has not taken it up"]
    if entry.problem is not None:
        return [f"{entry.problem.code}: {entry.problem.says}", f"try: {entry.problem.remedy}"]
    return []


def _name_hints(ends: LinkEnds, topic: str) -> list[str]:
    naming, link = ends.link.naming, ends.link
    upstream = naming.upstream_topic(topic)
    if naming.policy == "default" and upstream is not None and naming.topic_source(topic) == link.source:
        return [f"on {link.target} that is the name of the copy of {upstream}; ask for {upstream}"]
    near = difflib.get_close_matches(topic, ends.source.list_topics(), n=3, cutoff=0.6)
    return [f"did you mean {' or '.join(near)}?"] if near else []


async def explain_group(ends: LinkEnds, group: str) -> GroupExplanation:
    """Everything that decides about a consumer group."""
    link = ends.link
    observer = GroupObserver(ends)
    try:
        here = (await observer.at_source.list_groups()).get(group)
        there = (await observer.at_target.list_groups()).get(group)
    finally:
        await observer.close()
    why = link.groups.why(group)
    facts: list[str] = []
    if here is None:
        facts.append(f"there is no such group on {link.source}")
    else:
        facts.append(f"a {here.kind or 'classic'} group, {here.state.lower() or 'of unknown state'} on {link.source}")
    if there is not None and there.active:
        facts.append(f"active on {link.target}: its positions there are its own and left alone")
    else:
        facts.append(f"not active on {link.target}")
    if not link.group_offsets.enabled:
        facts.append("positions are reported in checkpoints only: sync.group.offsets.enabled = false")
    if here is None or not isinstance(why, Included):
        return GroupExplanation(link.name, group, here is not None, False, str(why), tuple(facts))
    if here.kind == SHARE:
        facts.append("a share group has no position that could be translated")
        return GroupExplanation(link.name, group, True, False, str(why), tuple(facts))
    try:
        report = await report_groups(ends, lambda name: name == group)
    except LedgerMissing as missing:
        return GroupExplanation(link.name, group, True, False, str(why), (*facts, str(missing)))
    lost = [standing for standing in report.standings if standing.remark is Remark.UNTRANSLATED]
    facts += _positions(report.standings, lost)
    facts += report.findings
    return GroupExplanation(link.name, group, True, bool(report.standings) and not lost, str(why), tuple(facts))


def _positions(standings: tuple[Standing, ...], lost: list[Standing]) -> list[str]:
    if not standings:
        return ["it has committed no position"]
    told = [f"{len(standings) - len(lost)} of {len(standings)} positions have their place on the target"]
    return told + [f"{standing.source}: {standing.why}" for standing in lost]
