"""Which topics a link mirrors, and why. Pure; used by planning (driver), the control plane and the faces."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from twinlog.model.javaregex import Matcher, RegexError, compile_java
from twinlog.model.naming import ReplicationNaming, is_others_drill, is_own


@dataclass(frozen=True)
class Included:
    """An include pattern matches and no exclude pattern does."""

    pattern: str

    def __str__(self) -> str:
        return f"included by {self.pattern}"


@dataclass(frozen=True)
class Excluded:
    """An exclude pattern matches; it wins over every include."""

    pattern: str

    def __str__(self) -> str:
        return f"excluded by {self.pattern}"


@dataclass(frozen=True)
class NotIncluded:
    """No include pattern matches."""

    def __str__(self) -> str:
        return "no include pattern matches"


@dataclass(frozen=True)
class Internal:
    """The topic belongs to a machine; mirroring it would hand one cluster's state to another."""

    owner: str

    def __str__(self) -> str:
        return f"internal topic of {self.owner}"


@dataclass(frozen=True)
class Cycle:
    """The records were born on the other side, or would go round."""

    def __str__(self) -> str:
        return "it was copied from the other side of this link already"


@dataclass(frozen=True)
class Heartbeats:
    """A heartbeats topic that no pattern selects, but the link takes along."""

    def __str__(self) -> str:
        return "heartbeats are mirrored"


@dataclass(frozen=True)
class OfRegistry:
    """A topic of the schema registry, which the link takes along whatever the patterns say."""

    def __str__(self) -> str:
        return "the topics of the schema registry are mirrored (registry.mirror)"


@dataclass(frozen=True)
class OtherWay:
    """A topic of the schema registry that goes along another link, or along none."""

    def __str__(self) -> str:
        return "a topic of the schema registry goes one way, and this is not the way (registry.mirror)"


Why: TypeAlias = Included | Excluded | NotIncluded
Taken: TypeAlias = Included | Heartbeats | OfRegistry
"""The verdicts on topics that are mirrored."""
Verdict: TypeAlias = Why | Internal | Cycle | Heartbeats | OfRegistry | OtherWay


@dataclass(frozen=True)
class Patterns:
    """A list of Java regular expressions of which one must match the whole name; an empty list matches nothing.

    The list is joined with `|` before it is compiled, as MirrorMaker 2 does. That is more than a detail: the comma
    separates, so `(orders,payments)` arrives as two halves that are sound only together.
    """

    patterns: tuple[str, ...] = ()

    def matches(self, name: str) -> bool:
        """Tell whether one pattern matches the whole name."""
        return bool(self.patterns) and _joined(self.patterns).fullmatch(name) is not None

    def deciding(self, name: str) -> str | None:
        """Return the first pattern that matches, or None; halves of one expression are shown together."""
        if not self.matches(name):
            return None
        for pattern in self.patterns:
            try:
                if _joined((pattern,)).fullmatch(name):
                    return pattern
            except RegexError:
                continue
        return "|".join(self.patterns)

    def check(self) -> None:
        """Raise RegexError when the list does not compile."""
        if self.patterns:
            _joined(self.patterns)


@dataclass(frozen=True)
class Selection:
    """The topics that the operator asked for: an include list and an exclude list, exclude wins."""

    include: tuple[str, ...]
    exclude: tuple[str, ...] = ()
    # Heartbeats travel whatever the patterns say, unless this is off: their names carry the topology.
    heartbeats: bool = True
    # Topics of the schema registry that go along this link, and those that must not.
    registry: tuple[str, ...] = ()
    not_this_way: tuple[str, ...] = ()

    def matches(self, name: str) -> bool:
        """Tell whether the patterns select the name; `replicates` adds the rules nobody can switch off."""
        return Patterns(self.include).matches(name) and not Patterns(self.exclude).matches(name)

    def why(self, name: str) -> Why:
        """Return the pattern that decides about the name."""
        excluded = Patterns(self.exclude).deciding(name)
        if excluded is not None:
            return Excluded(excluded)
        included = Patterns(self.include).deciding(name)
        return NotIncluded() if included is None else Included(included)


def verdict(topic: str, source: str, target: str, selection: Selection, naming: ReplicationNaming) -> Verdict:
    """Decide whether the link source->target mirrors a topic of the source, with the reason."""
    if topic in selection.registry:
        return OfRegistry()
    if topic in selection.not_this_way:
        return OtherWay()
    if is_own(topic) or is_others_drill(topic, source):
        return Internal("Twinlog")
    if naming.is_internal(topic):
        return Internal("MirrorMaker 2" if naming.is_mm2_internal(topic) else "Kafka")
    if naming.is_cycle(topic, source, target):
        return Cycle()
    why = selection.why(topic)
    if not isinstance(why, Included) and selection.heartbeats and naming.is_heartbeats(topic):
        return Heartbeats()
    return why


def replicates(topic: str, source: str, target: str, selection: Selection, naming: ReplicationNaming) -> bool:
    """Tell whether the link source->target mirrors a topic of the source."""
    return isinstance(verdict(topic, source, target, selection, naming), Taken)


@lru_cache(maxsize=256)
def _joined(patterns: tuple[str, ...]) -> Matcher:
    return compile_java("|".join(patterns))
