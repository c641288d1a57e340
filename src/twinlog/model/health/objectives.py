"""How much may be lost and how long a recovery may take, as the operator wrote it. Pure and picklable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from twinlog.model.selection import Patterns

Kept: TypeAlias = Literal["kept", "broken", "unknown"]
EVERYTHING_ELSE: Final = "default"
"""The name of the objective of topics that no named one takes."""


@dataclass(frozen=True)
class Objective:
    """One line of the agreement with the owners of some topics. None: nothing was agreed."""

    name: str
    topics: Patterns
    rpo_seconds: int | None = None
    rto_seconds: int | None = None


@dataclass(frozen=True)
class Objectives:
    """All objectives of a link, the first that names a topic counts for it."""

    named: tuple[Objective, ...] = ()
    otherwise: Objective = Objective(EVERYTHING_ELSE, Patterns((".*",)))

    def of(self, topic: str) -> Objective:
        """The objective of one topic."""
        return next((objective for objective in self.named if objective.topics.matches(topic)), self.otherwise)

    @property
    def all(self) -> tuple[Objective, ...]:
        """Named ones in their order, then the one of everything else."""
        return (*self.named, self.otherwise)

    @property
    def strictest_rto_seconds(self) -> int | None:
        """A switch moves all topics of a link: the shortest time that was promised to anybody counts for it."""
        return min((objective.rto_seconds for objective in self.all if objective.rto_seconds is not None), default=None)


def kept(seconds: float | None, limit: int | None) -> Kept | None:
    """Whether a measured time keeps an objective; None when there is none. What nobody knows is not kept."""
    if limit is None:
        return None
    if seconds is None:
        return "unknown"
    return "kept" if seconds <= limit else "broken"
