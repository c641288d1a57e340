"""What differs between two readings of a settings file. Pure; names settings, never values (R12)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pydantic import BaseModel

from twinlog.config.settings import LinkSettings


@dataclass(frozen=True)
class Change:
    """One link before and after; None before for a new one, after for one that is gone."""

    name: str
    before: LinkSettings | None
    after: LinkSettings | None

    def __str__(self) -> str:
        if self.before is None:
            return f"{self.name}: added"
        if self.after is None:
            return f"{self.name}: removed, or no longer enabled"
        return f"{self.name}: changed in {', '.join(_differing(self.before, self.after))}"


def diff_links(before: Iterable[LinkSettings], after: Iterable[LinkSettings]) -> tuple[Change, ...]:
    """Return the links that differ; those that are equal are not touched by a new file."""
    old = {link.name: link for link in before}
    new = {link.name: link for link in after}
    names = [*old, *(name for name in new if name not in old)]
    changes = (Change(name, old.get(name), new.get(name)) for name in names)
    return tuple(change for change in changes if change.before != change.after)


def _differing(before: BaseModel, after: BaseModel, prefix: str = "") -> Iterator[str]:
    for field in type(before).model_fields:
        one, other = getattr(before, field), getattr(after, field)
        if one == other:
            continue
        if isinstance(one, BaseModel) and type(one) is type(other):
            yield from _differing(one, other, f"{prefix}{field}.")
        else:
            yield f"{prefix}{field}"
