"""What the operator must know about a mirrored topic and its target (R7, R13), one type per kind. Pure and picklable.

Each prints as one sentence that starts with the source topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from twinlog.model.topics.configs import TopicConfig


@dataclass(frozen=True, slots=True)
class CreateRefused:
    """The target topic is missing and stays so."""

    topic: str
    remote: str
    problem: str

    def __str__(self) -> str:
        return f"{self.topic}: the target topic {self.remote} could not be created: {self.problem}"


@dataclass(frozen=True, slots=True)
class GrowthRefused:
    """The target topic lacks partitions and does not get them."""

    topic: str
    remote: str
    have: int
    want: int
    problem: str

    def __str__(self) -> str:
        return f"{self.topic}: {self.remote} stays at {self.have} of {self.want} partitions: {self.problem}"


@dataclass(frozen=True, slots=True)
class ConfigNotSynced:
    """The target topic was created without a config of the source."""

    topic: str
    remote: str
    config: str
    value: str
    problem: str

    def __str__(self) -> str:
        return f"{self.topic}: {self.remote} was created without {self.config}={self.value}: {self.problem}"


@dataclass(frozen=True, slots=True)
class TargetHasMorePartitions:
    """Partitions of the target that nothing is mirrored into. Keyed readers may miss them; no record is lost."""

    topic: str
    remote: str
    source_count: int
    target_count: int

    def __str__(self) -> str:
        return f"{self.topic}: {self.remote} has {self.target_count} partitions, the source only {self.source_count}"


@dataclass(frozen=True, slots=True)
class TargetOverwritesTimes:
    """The target topic would replace every timestamp by the time of arrival (R4)."""

    topic: str
    remote: str

    def __str__(self) -> str:
        return f"{self.topic}: {self.remote} has message.timestamp.type=LogAppendTime and would change every timestamp"


@dataclass(frozen=True, slots=True)
class TargetKeepsLess:
    """The target deletes records that the source still holds, because the limit is not a topic config there."""

    topic: str
    remote: str
    config: str
    source_value: int
    target_value: int

    def __str__(self) -> str:
        return f"{self.topic}: {self.remote} has {self.config}={self.target_value}, the source {self.source_value}"


@dataclass(frozen=True, slots=True)
class TargetConfigsUnreadable:
    """Limits and timestamp type of the target topic are unknown to us."""

    topic: str
    remote: str
    problem: str

    def __str__(self) -> str:
        return f"{self.topic}: the configs of {self.remote} cannot be read: {self.problem}"


@dataclass(frozen=True, slots=True)
class SourceConfigsUnreadable:
    """The source does not tell the topic's configs, so none can be kept in sync."""

    topic: str
    remote: str
    problem: str

    def __str__(self) -> str:
        return f"{self.topic}: its configs cannot be read, {self.remote} keeps those it has: {self.problem}"


@dataclass(frozen=True, slots=True)
class ConfigRefusedByTarget:
    """The target topic does not get a config of the source. A value of None means: no value of the topic's own."""

    topic: str
    remote: str
    config: str
    value: str | None
    problem: str

    def __str__(self) -> str:
        wish = f"{self.config} unset" if self.value is None else f"{self.config}={self.value}"
        return (
            f"{self.topic}: {self.remote} refuses {wish}: {self.problem}; "
            f"unless the target can be made to accept it, add {self.config} to config.properties.exclude"
        )


@dataclass(frozen=True, slots=True)
class ConfigByHand:
    """Somebody changed a config of the target topic, and it is not ours to change it back."""

    topic: str
    remote: str
    config: str
    source_value: str | None
    target_value: str | None

    def __str__(self) -> str:
        at_source, at_target = ("unset" if value is None else value for value in (self.source_value, self.target_value))
        return (
            f"{self.topic}: {self.remote} has {self.config} {at_target} by hand, the source {at_source}; "
            "it is kept until both "
            f"are equal or sync.topic.configs.conflict = revert"
        )


TopicFinding: TypeAlias = (
    CreateRefused
    | GrowthRefused
    | ConfigNotSynced
    | TargetHasMorePartitions
    | TargetOverwritesTimes
    | TargetKeepsLess
    | TargetConfigsUnreadable
    | SourceConfigsUnreadable
    | ConfigRefusedByTarget
    | ConfigByHand
)

RETENTION = ("retention.ms", "retention.bytes")
# Kafka's "keep everything" in both retention configs.
_UNLIMITED = -1


def retention_findings(
    topic: str, remote: str, source: Iterable[TopicConfig], target: Mapping[str, str | None]
) -> list[TopicFinding]:
    """Compare the limits in force on both ends, whoever set them."""
    values = {config.name: config.value for config in source}
    findings: list[TopicFinding] = []
    for config in RETENTION:
        at_source, at_target = values.get(config), target.get(config)
        if at_source is not None and at_target is not None and _keeps_less(int(at_target), than=int(at_source)):
            findings.append(TargetKeepsLess(topic, remote, config, int(at_source), int(at_target)))
    return findings


def _keeps_less(limit: int, *, than: int) -> bool:
    return limit != _UNLIMITED and (than == _UNLIMITED or limit < than)
