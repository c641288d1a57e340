"""Named values kept equal on the target: client quotas and group configs. Pure.

    source's values ──────────┐
    target's values ──────────┼─▶ judge_values ─▶ changes, what was changed by hand, what we gave
    given: what we set there ─┘

Three-way, as for topic configs: a value that the target has from us follows the source. One that somebody else set
there stays, and is listed (R13). A value that the source dropped is removed only where we gave it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

Values: TypeAlias = Mapping[str, Mapping[str, str]]
"""By owner (a quota's entity, a group), then by key. A number is its text: 1024.0 and 1024 must be one value."""


class ValueChange(NamedTuple):
    """One value to set on the target; None removes it."""

    owner: str
    key: str
    wish: str | None
    have: str | None


@dataclass(frozen=True)
class ValueVerdict:
    """What to do on the target, and what differs and stays so."""

    changes: tuple[ValueChange, ...]
    by_hand: tuple[ValueChange, ...]  # the target has a value that is neither the source's nor ours
    kept: tuple[ValueChange, ...]  # ours, gone on the source, not removed because of a doubt

    @property
    def differences(self) -> tuple[ValueChange, ...]:
        """All that is not equal now."""
        return tuple(sorted((*self.changes, *self.by_hand, *self.kept)))


def judge_values(source: Values, target: Values, given: Values, *, removing: bool) -> ValueVerdict:
    """Compare. Without `removing` nothing that the source dropped is taken away."""
    changes: list[ValueChange] = []
    by_hand: list[ValueChange] = []
    kept: list[ValueChange] = []
    for owner, key in sorted({*_keys(source), *_keys(given)}):
        wish, have, written = _value(source, owner, key), _value(target, owner, key), _value(given, owner, key)
        change = ValueChange(owner, key, wish, have)
        if have == wish:
            continue
        if wish is None:
            # It is not there on the source any more. Only what still is as we set it was ours.
            if have == written:
                (changes if removing else kept).append(change)
        elif have is None or have == written:
            changes.append(change)
        else:
            by_hand.append(change)
    return ValueVerdict(tuple(changes), tuple(by_hand), tuple(kept))


def next_given(
    source: Values, target: Values, given: Values, applied: Iterable[ValueChange]
) -> dict[str, dict[str, str]]:
    """What the target has from us once these changes were made. A value that is equal anyway counts as ours."""
    done = {(change.owner, change.key): change.wish for change in applied}
    result: dict[str, dict[str, str]] = {}
    for owner, key in {*_keys(source), *_keys(given)}:
        if (owner, key) in done:
            value = done[owner, key]
        else:
            have = _value(target, owner, key)
            equal = have is not None and have == _value(source, owner, key)
            value = have if equal else _value(given, owner, key)
        if value is not None:
            result.setdefault(owner, {})[key] = value
    return result


def _keys(values: Values) -> Iterator[tuple[str, str]]:
    for owner, of_owner in values.items():
        for key in of_owner:
            yield owner, key


def _value(values: Values, owner: str, key: str) -> str | None:
    return values.get(owner, {}).get(key)
