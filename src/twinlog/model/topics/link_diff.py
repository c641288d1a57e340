"""What differs between both ends of a link, and why: the words of `twinlog diff` (R13). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from twinlog.model.ledger.records import RosterTopic
from twinlog.model.topics.configs import ConfigVerdict, Fate
from twinlog.model.topics.target_topics import TopicFacts

Kind: TypeAlias = Literal["topic", "partitions", "config", "deletion", "acl", "quota", "group config", "login"]


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same on both ends. `why` says what will become of it, or what somebody must do."""

    kind: Kind
    thing: str  # the source topic, or the resource of an ACL
    what: str
    source: str
    target: str
    why: str


@dataclass(frozen=True)
class LinkDiff:
    """All differences of a link. Remarks are worth knowing, but are no differences."""

    link: str
    differences: tuple[Difference, ...]
    remarks: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()  # that were compared


@dataclass(frozen=True)
class Habits:
    """What a link does by itself, and how soon."""

    topics_seconds: int | None  # None: switched off
    configs_seconds: int | None
    acls_seconds: int | None
    keeps_silently: bool  # changes by hand on the target are wanted


def soon(seconds: int | None, setting: str) -> str:
    """When a running engine sees to it."""
    return f"a running engine sees to it within {seconds} s" if seconds is not None else f"{setting} = false"


def topic_differences(
    source: TopicFacts, remote: str, target: TopicFacts | str | None, entry: RosterTopic | None, habits: Habits
) -> list[Difference]:
    """Compare one selected topic. `target` is a sentence when the target does not tell, None when there is none."""
    name = source.name
    problem = entry.problem if entry is not None else None
    trouble = None if problem is None else f"{problem.says}; {problem.remedy}"
    later = soon(habits.topics_seconds, "refresh.topics.enabled")
    match target:
        case str():
            return [Difference("topic", name, remote, "exists", "not to be seen", target)]
        case None:
            return [Difference("topic", name, remote, "exists", "missing", trouble or later)]
        case TopicFacts():
            differences: list[Difference] = []
            if trouble is not None:
                differences.append(Difference("topic", name, remote, "exists", "not mirrored", trouble))
            if source.partitions != target.partitions:
                surplus = "it has more than the source, and partitions cannot be removed: nothing is mirrored into them"
                why = surplus if target.partitions > source.partitions else trouble or later
                differences.append(
                    Difference("partitions", name, remote, str(source.partitions), str(target.partitions), why)
                )
            return differences


def config_difference(
    entry: RosterTopic, verdict: ConfigVerdict, refusals: Mapping[str, str], habits: Habits
) -> Difference | None:
    """One config of a mirrored topic; None when all is well. `refusals` are the target's words by config."""
    match verdict.fate:
        case Fate.IN_STEP | Fate.NOT_COPIED:
            return None
        case Fate.BY_HAND if habits.keeps_silently:
            return None
        case Fate.BY_HAND:
            why = "changed by hand on the target and kept; sync.topic.configs.conflict = revert would undo it"
        case Fate.CHANGE | Fate.REVERT:
            refused = refusals.get(verdict.name)
            why = soon(habits.configs_seconds, "sync.topic.configs.enabled") if refused is None else refused
    return Difference(
        "config", entry.topic, f"{entry.remote} {verdict.name}", shown(verdict.wish), shown(verdict.have), why
    )


def shown(value: str | None) -> str:
    """An override of a topic, for people."""
    return "unset" if value is None else value
