"""Target topics kept in sync with the source: what was observed, what must change, and what the data path may rely on.

    observe (sync/topics) -> diff_topics (here, pure) -> apply (sync/topics) -> Roster (here)

A change is something we do on the target; a finding is something the operator must know (R7, R13). Pure and picklable:
a roster travels from the service to the planner on the driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from twinlog.errors import PartitionCountDiffers, PartitionFault, TargetKeepsNoTimes, TargetTopicRefused
from twinlog.model.naming import ReplicationNaming
from twinlog.model.topics.configs import ConfigRules, TopicConfig, copied_configs
from twinlog.model.topics.findings import (
    CreateRefused,
    GrowthRefused,
    TargetConfigsUnreadable,
    TargetHasMorePartitions,
    TargetOverwritesTimes,
    TopicFinding,
    retention_findings,
)

TIMESTAMP_TYPE = "message.timestamp.type"
MAX_MESSAGE_BYTES = "max.message.bytes"


# --- observed ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """What a cluster says about a topic. The id tells a recreated topic from the old one."""

    name: str
    topic_id: str
    partitions: int
    replication_factor: int
    internal: bool


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The configs could not be read, or were not asked for."""

    reason: str


@dataclass(frozen=True, slots=True)
class SourceTopic:
    """A selected topic on the source. Its configs matter only while the target topic is missing."""

    name: str
    topic_id: str
    partitions: int
    configs: tuple[TopicConfig, ...] | Unreadable = Unreadable("not asked for")


@dataclass(frozen=True, slots=True)
class TargetTopic:
    """An existing topic on the target with the configs in force."""

    name: str
    topic_id: str
    partitions: int
    configs: Mapping[str, str | None] | Unreadable

    def effective(self, config: str) -> str | None:
        """Return the value in force, None when it is unknown."""
        return None if isinstance(self.configs, Unreadable) else self.configs.get(config)


# --- changes ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CreateTopic:
    """The target topic is missing. Its configs go into the same request.

    With a default retention even for a moment, the broker would delete old records as soon as they arrive (R1).
    """

    topic: str
    remote: str
    partitions: int
    replication_factor: int
    configs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class AddPartitions:
    """The source grew."""

    topic: str
    remote: str
    have: int
    want: int


TopicChange: TypeAlias = CreateTopic | AddPartitions


# --- the rules --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TopicRules:
    """What a link says about the topics it creates."""

    source: str
    replication_factor: int
    configs: ConfigRules


@dataclass(frozen=True, slots=True)
class TopicDiff:
    """What to do on the target, and what to tell the operator."""

    changes: tuple[TopicChange, ...]
    findings: tuple[TopicFinding, ...]


def diff_topics(
    sources: Iterable[SourceTopic], targets: Mapping[str, TargetTopic], naming: ReplicationNaming, rules: TopicRules
) -> TopicDiff:
    """Compare the selected source topics with the target's topics (by their names there)."""
    changes: list[TopicChange] = []
    findings: list[TopicFinding] = []
    for source in sources:
        remote = naming.remote(rules.source, source.name)
        target = targets.get(remote)
        if target is None:
            if isinstance(source.configs, Unreadable):
                # Created without its retention, the topic would lose old records on arrival.
                problem = f"the source's topic configs cannot be read: {source.configs.reason}"
                findings.append(CreateRefused(source.name, remote, problem))
                continue
            copied = copied_configs(source.configs, rules.configs)
            changes.append(CreateTopic(source.name, remote, source.partitions, rules.replication_factor, copied))
            continue
        if target.partitions < source.partitions:
            changes.append(AddPartitions(source.name, remote, target.partitions, source.partitions))
        findings.extend(findings_about(source, target))
    return TopicDiff(tuple(changes), tuple(findings))


def findings_about(source: SourceTopic, target: TargetTopic) -> list[TopicFinding]:
    """List what differs between the two and is not ours to change."""
    findings: list[TopicFinding] = []
    if target.partitions > source.partitions:
        findings.append(TargetHasMorePartitions(source.name, target.name, source.partitions, target.partitions))
    if isinstance(target.configs, Unreadable):
        findings.append(TargetConfigsUnreadable(source.name, target.name, target.configs.reason))
    if target.effective(TIMESTAMP_TYPE) == "LogAppendTime":
        findings.append(TargetOverwritesTimes(source.name, target.name))
    if not isinstance(source.configs, Unreadable):
        in_force = {} if isinstance(target.configs, Unreadable) else target.configs
        findings += retention_findings(source.name, target.name, source.configs, in_force)
    return findings


# --- the result -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MirroredTopic:
    """One selected source topic and what it is mirrored into, as of the last cycle.

    `remote_topic_id` is None while the target topic is not there: refused (see `findings`) or about to appear.
    """

    name: str
    topic_id: str
    partitions: int
    remote: str
    remote_topic_id: str | None = None
    remote_partitions: int = 0
    remote_timestamp_type: str | None = None
    remote_max_message_bytes: int | None = None
    findings: tuple[TopicFinding, ...] = ()
    # The configs with which we made the target topic; None when it was there before us, or made in an earlier cycle.
    created_with: Mapping[str, str] | None = None

    def can_carry(self, partition: int) -> bool:
        """Tell whether records of this partition can be written to the target now, times and all (R4)."""
        return partition < self.remote_partitions and self.fault(partition) is None

    def fault(self, partition: int) -> PartitionFault | None:
        """Name the reason why this partition waits until somebody acts; None also while we are still at it."""
        for finding in self.findings:
            match finding:
                case CreateRefused():
                    return TargetTopicRefused(self.name, partition, self.remote, finding.problem)
                case GrowthRefused() if partition >= finding.have:
                    return PartitionCountDiffers(self.name, partition, finding.want, finding.have)
                case TargetOverwritesTimes():
                    return TargetKeepsNoTimes(self.name, partition)
                case _:
                    continue
        return None


@dataclass(frozen=True, slots=True)
class Roster:
    """All topics of a link, by source name. `unseen` are selected names whose facts the source would not tell.

    `vanished` were mirrored, and both ends say that they are there no more.
    """

    topics: Mapping[str, MirroredTopic] = field(default_factory=dict)
    unseen: Mapping[str, str] = field(default_factory=dict)
    vanished: frozenset[str] = frozenset()
    # Topics that must not be copied now, and why.
    halted: Mapping[str, PartitionFault] = field(default_factory=dict)

    @property
    def findings(self) -> tuple[TopicFinding, ...]:
        """Everything the operator should know, topic by topic."""
        return tuple(finding for topic in self.topics.values() for finding in topic.findings)
