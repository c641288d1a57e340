"""Answers to producers that register what is known, by the bytes they send: they all do, at every start.

An answer holds while its version lives and no settings change; both are looked at each time. Where there are too many,
one at random goes for each that comes: producers come in circles, and the oldest would be the one that comes next.
"""

import random
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from twinlog.registry.state import Entry, State

_LONGEST: Final = 65_536
_OVERHEAD: Final = 500
"""Bytes that Python needs for one answer beside its texts."""


class _Kept(NamedTuple):
    entry: Entry
    settings: int
    answer: bytes
    size: int


@dataclass
class KnownAnswers:
    """As many answers as fit into so many bytes."""

    most_bytes: int = 32 << 20
    _answers: dict[tuple[str, bytes], _Kept] = field(default_factory=dict)
    _keys: list[tuple[str, bytes]] = field(default_factory=list)  # the same keys, to choose one from
    _bytes: int = 0
    _chance: random.Random = field(default_factory=random.Random)

    def find(self, state: State, subject: str, body: bytes) -> bytes | None:
        """The answer of before, if it still holds."""
        kept = self._answers.get((subject, body))
        if kept is None:
            return None
        entry = kept.entry
        holds = (
            not entry.deleted
            and kept.settings == state.settings_revision
            and state.entry(entry.subject, entry.version) is entry
        )
        return kept.answer if holds else None

    def keep(self, state: State, subject: str, body: bytes, entry: Entry, answer: bytes) -> None:
        """Keep an answer that is a version as it is."""
        if len(body) > _LONGEST:
            return
        key, size = (subject, body), len(body) + len(answer) + _OVERHEAD
        before = self._answers.get(key)
        if before is None:
            self._keys.append(key)
        else:
            self._bytes -= before.size
        self._answers[key] = _Kept(entry, state.settings_revision, answer, size)
        self._bytes += size
        while self._bytes > self.most_bytes:
            self._forget_one()

    def _forget_one(self) -> None:
        at = self._chance.randrange(len(self._keys))
        self._keys[at], self._keys[-1] = self._keys[-1], self._keys[at]
        self._bytes -= self._answers.pop(self._keys.pop()).size
