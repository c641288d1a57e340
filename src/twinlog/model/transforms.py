"""Transforms on a link: which topics they concern, and whether they are the same as before. Pure.

`config` has Connect's keys as they are in a connector (`transforms`, `transforms.x.type`, `predicates`,
`value.converter` …). `masks` come from residency rules: fields that must not reach the target readable.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from twinlog.model.naming import DRILL_PREFIX, HEARTBEATS
from twinlog.model.selection import Patterns

LANGUAGE: Final = 1
"""Raised when an expression gives other bytes than before: what an earlier version wrote could not be recognised."""
_EVERYTHING: Final = Patterns((".*",))
Part: TypeAlias = Literal["key", "value", "headers"]
_PARTS: Final[dict[str, frozenset[Part]]] = {
    "Filter": frozenset(),
    "ValueToKey": frozenset({"key"}),
    "InsertHeader": frozenset({"headers"}),
    "DropHeaders": frozenset({"headers"}),
    "HeaderFrom$Key": frozenset({"key", "headers"}),
    "HeaderFrom$Value": frozenset({"value", "headers"}),
}


@dataclass(frozen=True)
class FieldMask:
    """Fields of JSON values that are masked on the way, by a residency rule."""

    rule: str
    topics: Patterns
    fields: tuple[str, ...]


@dataclass(frozen=True)
class Transforms:
    """What is done to single records of a link on their way. Without steps and masks nothing is opened."""

    config: tuple[tuple[str, str], ...] = ()  # sorted
    topics: Patterns = _EVERYTHING
    tolerant: bool = False  # records that a step cannot handle are left out and counted
    masks: tuple[FieldMask, ...] = ()
    exempt: tuple[str, ...] = ()  # topics of the schema registry: copied as they are

    @property
    def keys(self) -> Mapping[str, str]:
        """Connect's keys."""
        return dict(self.config)

    @property
    def steps(self) -> tuple[str, ...]:
        """Names of the configured steps, in order."""
        return tuple(word.strip() for word in self.keys.get("transforms", "").split(",") if word.strip())

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that is done, by name."""
        return (*self.steps, *(f"residency {mask.rule}" for mask in self.masks))

    def __bool__(self) -> bool:
        """Whether anything is done at all."""
        return bool(self.steps or self.masks)

    def masks_of(self, topic: str) -> tuple[FieldMask, ...]:
        """The masks that concern a topic of the source."""
        return tuple(mask for mask in self.masks if mask.topics.matches(topic))

    def takes(self, topic: str) -> bool:
        """Tell whether records of a topic of the source go through any step."""
        if not self or topic in self.exempt or topic.rpartition(".")[2] == HEARTBEATS or topic.startswith(DRILL_PREFIX):
            return False
        return (bool(self.steps) and self.topics.matches(topic)) or bool(self.masks_of(topic))

    def changes(self, topic: str) -> frozenset[Part]:
        """Which parts of a record of this topic may be other ones on the target."""
        if not self.takes(topic):
            return frozenset()
        parts: set[Part] = {"value"} if self.masks_of(topic) else set()
        if self.topics.matches(topic):
            for name in self.steps:
                parts |= _parts_of(self.keys.get(f"transforms.{name}.type", ""))
        return frozenset(parts)

    def digest(self, topic: str) -> str:
        """A short name of what happens to the records of a topic; empty: nothing."""
        if not self.takes(topic):
            return ""
        configured = self.config if self.steps and self.topics.matches(topic) else ()
        masked = [(mask.rule, mask.fields) for mask in self.masks_of(topic)]
        text = json.dumps([LANGUAGE, configured, masked, self.tolerant])
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def _parts_of(java: str) -> frozenset[Part]:
    """The parts that a class may change; of one that is not known here, all."""
    name = java.rpartition(".")[2]
    if name in _PARTS:
        return _PARTS[name]
    if java.startswith("org.apache.kafka.connect.transforms.") and name.endswith(("$Key", "$Value")):
        return frozenset({"key"} if name.endswith("$Key") else {"value"})
    return frozenset({"key", "value", "headers"})


NO_TRANSFORMS: Final = Transforms()
