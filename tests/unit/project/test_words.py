"""Words that people read: documents, pages, errors and commands use none that CONTRIBUTING.md refuses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "src" / "twinlog"
REFUSED = {
    r"chores?": "sync job",
    r"mend(s|ed|ing)?": "fix, repair",
    r"heed(s|ed)?": "follow, obey",
    r"gets? on(?! the)": "progress, state",
    r"behind \w+ back": "without a message",
    r"lookout|desk|shelf|household": "monitor, state, cache, processes",
    r"crates?": "a row of several parcels",
    r"theirs": "source or target",
    r"(way|come|comes|comes back|bring|brings) home": "way back, return to its origin",
}
NAMES = {
    "desk": "state, queries",
    "door doors doorkeeper": "listener, authenticator",
    "eyes sight lookout": "observer, view, monitor",
    "faces": "routers",
    "found one": "what it is: a row, an answer, a match",
    "heed heeds": "follow",
    "household": "processes",
    "keeper steward": "what it keeps: a store, a service",
    "mend": "remedy",
    "ours theirs": "own, source, target",
    "patience patient patiently": "deadline, limit, retries",
    "pen": "writer",
    "shelf": "cache",
}
"""Words that no name in the code has, and what to say instead. `one_of`, `one_row` and the like are plain English."""
ALLOWED = {"found": {"chore", "report"}}
PATTERNS = {re.compile(rf"\b(?:{word})\b", re.IGNORECASE): better for word, better in REFUSED.items()}


def texts() -> Iterator[tuple[str, str]]:
    """Yield what people read: documents, templates, and sentences in errors, commands and checks."""
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        if page.name not in {"CONTRIBUTING.md", "CHANGELOG.md"}:
            yield page.name, re.sub(r"`[^`]*`", "", page.read_text())
    for template in SOURCE.rglob("*.html"):
        yield template.name, re.sub(r"\{[{%].*?[%}]\}|<[^>]*>", "", template.read_text(), flags=re.DOTALL)
    for folder in ("errors", "surface/cli", "surface/page", "doctor", "model/switch", "recovery"):
        for file in (SOURCE / folder).rglob("*.py"):
            for text in sentences(ast.parse(file.read_text())):
                yield str(file.relative_to(SOURCE)), text


def sentences(tree: ast.AST) -> Iterator[str]:
    """Yield the strings that are sentences: at least two blanks."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.count(" ") > 1:
            yield re.sub(r"`[^`]*`", "", node.value)


def refused(text: str) -> list[str]:
    return [f"{found[0]!r}: say {better}" for word, better in PATTERNS.items() for found in word.finditer(text)]


def test_no_refused_word_is_read_by_people() -> None:
    wrong = sorted({f"{where}: {word}" for where, text in texts() for word in refused(text)})
    assert wrong == []


@pytest.mark.parametrize("text", ["how it gets on", "the chores of a link", "a record that comes home"])
def test_a_refused_word_is_found(text: str) -> None:
    assert refused(text)
