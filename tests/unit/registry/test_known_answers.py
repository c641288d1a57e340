"""Answers to schemas that are known are kept within a limit, and only while they hold."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from twinlog.surface.registry.known_answers import KnownAnswers


def _entry(subject: str) -> Any:
    return SimpleNamespace(subject=subject, version=1, deleted=False)


class Paper:
    """As much of a state as is looked at."""

    def __init__(self) -> None:
        self.settings_revision = 0
        self.entries: dict[tuple[str, int], Any] = {}

    def entry(self, subject: str, version: int) -> Any:
        return self.entries.get((subject, version))


def _filled(state: Any, known: KnownAnswers, count: int) -> list[str]:
    names = [f"s{number}" for number in range(count)]
    for name in names:
        state.entries[name, 1] = _entry(name)
        known.keep(state, name, b"body", state.entries[name, 1], b"answer of " + name.encode())
    return names


def test_a_full_memory_forgets_a_few_and_not_all() -> None:
    state: Any = Paper()
    known = KnownAnswers(most_bytes=1000 * 520)
    names = _filled(state, known, 1010)
    found = [name for name in names if known.find(state, name, b"body") is not None]
    assert 900 < len(found) < 1010


def test_producers_that_come_in_circles_still_find_most_answers() -> None:
    state: Any = Paper()
    known = KnownAnswers(most_bytes=1000 * 520)
    names = _filled(state, known, 1050)
    hits = 0
    for _ in range(3):
        for name in names:
            if known.find(state, name, b"body") is not None:
                hits += 1
            else:
                known.keep(state, name, b"body", state.entries[name, 1], b"answer of " + name.encode())
    assert hits > 0.7 * 3 * len(names)


def test_the_limit_counts_bytes() -> None:
    state: Any = Paper()
    known = KnownAnswers(most_bytes=100_000)
    entry = state.entries["s", 1] = _entry("s")
    for number in range(50):
        known.keep(state, "s", b"%d" % number + b"x" * 10_000, entry, b"answer")
    kept = sum(known.find(state, "s", b"%d" % number + b"x" * 10_000) is not None for number in range(50))
    assert 5 <= kept <= 9


def test_an_answer_holds_only_while_nothing_changed() -> None:
    state: Any = Paper()
    known = KnownAnswers()
    _filled(state, known, 1)
    assert known.find(state, "s0", b"body") == b"answer of s0"
    state.settings_revision += 1
    assert known.find(state, "s0", b"body") is None
    known.keep(state, "s0", b"body", state.entries["s0", 1], b"answer")
    assert known.find(state, "s0", b"body") == b"answer"
    state.entries["s0", 1] = _entry("s0")
    assert known.find(state, "s0", b"body") is None
