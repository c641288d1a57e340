"""What the operator must know about a mirrored topic and its target (R7, R13), one type per kind. Pure and picklable.

Each prints as one sentence that starts with the source topic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


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


TopicFinding: TypeAlias = (
    CreateRefused
    | GrowthRefused
    | ConfigNotSynced
    | TargetHasMorePartitions
    | TargetOverwritesTimes
    | TargetKeepsLess
    | TargetConfigsUnreadable
)
