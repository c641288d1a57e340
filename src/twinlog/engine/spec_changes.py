"""What differs between what runs and what is to run. Pure; names settings, never values (R12)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from pydantic import BaseModel


class Spec(Protocol):
    """What a job runs: a value that is compared. Names are unique among all jobs of a process."""

    @property
    def name(self) -> str:
        """The job's name: of a link `A->B`, of a pipeline that of its connector."""


@dataclass(frozen=True)
class Change:
    """One job's spec before and after; None before for a new one, after for one that is gone."""

    name: str
    before: Spec | None
    after: Spec | None

    def __str__(self) -> str:
        if self.before is None:
            return f"{self.name}: added"
        if self.after is None:
            return f"{self.name}: removed, or no longer enabled"
        if isinstance(self.before, BaseModel) and isinstance(self.after, BaseModel):
            return f"{self.name}: changed in {', '.join(_differing(self.before, self.after))}"
        return f"{self.name}: changed"


def diff_specs(before: Iterable[Spec], after: Iterable[Spec]) -> tuple[Change, ...]:
    """Return what differs; jobs with an equal spec are not touched."""
    old = {spec.name: spec for spec in before}
    new = {spec.name: spec for spec in after}
    names = [*old, *(name for name in new if name not in old)]
    changes = (Change(name, old.get(name), new.get(name)) for name in names)
    return tuple(change for change in changes if change.before != change.after)


def _differing(before: BaseModel, after: BaseModel, prefix: str = "") -> Iterator[str]:
    for field in type(before).model_fields:
        old, other = getattr(before, field), getattr(after, field)
        if old == other:
            continue
        if isinstance(old, BaseModel) and type(old) is type(other):
            yield from _differing(old, other, f"{prefix}{field}.")
        else:
            yield f"{prefix}{field}"
