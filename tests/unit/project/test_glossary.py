"""The glossary defines the words that Twinlog uses in its own way, and every state that an operator can see."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from twinlog.model.health.states import LinkState

ROOT = Path(__file__).parents[3]
OWN = {
    *("ledger", "cut", "fence", "tail", "epoch", "shard", "generation", "parcel", "note", "link", "engine", "fault"),
    *("roster", "standby", "switch", "drill", "card", "checkpoint", "doctor", "failover", "failback", "residency"),
    *("order", "sync job", "offset map", "active side"),
}
"""Words with a meaning of their own that documents and commands use."""


def rows() -> dict[str, str]:
    """Each word with its meaning."""
    page = (ROOT / "docs" / "glossary.md").read_text()
    lines = re.findall(r"^\| ([^|]+) \| (.+) \|$", page, re.MULTILINE)
    assert len({word for word, _ in lines if word not in {"word", "state"}}) == len(lines) - 2, "a word has two rows"
    return dict(lines)


def test_every_word_of_our_own_has_one_meaning() -> None:
    assert OWN - rows().keys() == set()
    assert all(len(meaning) > 15 for word, meaning in rows().items() if word in OWN)


def test_every_state_is_explained() -> None:
    assert set(get_args(LinkState)) - rows().keys() == set()


def test_no_word_is_defined_that_nothing_uses() -> None:
    told = "\n".join(page.read_text() for page in (ROOT / "docs").rglob("*.md") if page.name != "glossary.md").lower()
    states = {"word", "state", *get_args(LinkState)}  # the references show states as they are shown
    assert {word for word in rows().keys() - states if word.lower() not in told} == set()
