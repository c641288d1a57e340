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
    r"steward|doorkeeper|keeper": "service, authenticator, store",
    r"patience|patient(ly)?": "time limit, retries",
    r"eyes|sight": "observer, view",
    r"gears?(?! in the code)": "mode",
    r"bitten|feet": "say what happens",
    r"(a|the) pen": "writer",
    r"(way|come|comes|comes back|bring|brings) home": "way back, return to its origin",
    r"go(es)? on(?! the)": "continue",
    r"in step": "in sync",
    r"beg[iu]n anew": "restart, start again",
    r"stands? by": "is a standby",
}
NAMES = {
    "desk": "state, queries",
    "door doors doorkeeper": "listener, authenticator",
    "eyes sight lookout": "observer, view, monitor",
    "faces": "routers",
    "heed heeds": "follow",
    "household": "processes",
    "keeper steward": "what it keeps: a store, a service",
    "mend": "remedy",
    "ours theirs": "own, source, target",
    "patience patient patiently": "deadline, limit, retries",
    "pen": "writer",
    "shelf": "cache",
}
"""Words that no name in the code has, and what to say instead."""
EMPTY = {"found", "one"}
"""Names of variables that say nothing; a field may have them: an answer's `found` is what it found."""
KEPT = {"heeded"}
"""Names that stand in records of the ledger, so they cannot change."""
PATTERNS = {re.compile(rf"\b(?:{word})\b", re.IGNORECASE): better for word, better in REFUSED.items()}


def texts() -> Iterator[tuple[str, str]]:
    """Yield what people read: documents, templates, and sentences in errors, commands and checks."""
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        if page.name not in {"CONTRIBUTING.md", "CHANGELOG.md"}:
            yield page.name, " ".join(re.sub(r"`[^`]*`", "", page.read_text()).split())
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
    return [f"{match[0]!r}: say {better}" for word, better in PATTERNS.items() for match in word.finditer(text)]


def test_no_refused_word_is_read_by_people() -> None:
    wrong = sorted({f"{where}: {word}" for where, text in texts() for word in refused(text)})
    assert wrong == []


def given_names(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """Yield each name that the code gives, and whether it is a variable."""
    fields = {
        id(line.target) for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
        for line in node.body if isinstance(line, ast.AnnAssign)
    }  # fmt: skip
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, False
            case ast.arg():
                yield node.arg, True
            case ast.Name(ctx=ast.Store()):
                yield node.id, id(node) not in fields
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr, False


def refused_names(tree: ast.AST) -> list[str]:
    better = {word: instead for words, instead in NAMES.items() for word in words.split()}
    wrong = []
    for name, is_variable in given_names(tree):
        if is_variable and name in EMPTY:
            wrong.append(f"{name}: say what it is")
        parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)
        wrong += [
            f"{name}: say {better[part.lower()]}" for part in parts if part.lower() in better and name not in KEPT
        ]
    return wrong


def test_no_name_in_the_code_is_a_refused_word() -> None:
    files = {file: refused_names(ast.parse(file.read_text())) for file in SOURCE.rglob("*.py")}
    assert {str(file.relative_to(SOURCE)): sorted(set(wrong)) for file, wrong in files.items() if wrong} == {}


@pytest.mark.parametrize(
    "code", ["class OrderDesk: ...", "def f(one): ...", "found = 1", "self.theirs = 1", "[one for one in x]"]
)
def test_a_refused_name_is_found(code: str) -> None:
    assert refused_names(ast.parse(code))


def test_a_field_may_be_called_found() -> None:
    assert refused_names(ast.parse("class Answer:\n    found: int\n")) == []


@pytest.mark.parametrize(
    "text", ["how it gets on", "the live gear", "the chores of a link", "a record that comes home"]
)
def test_a_refused_word_is_found(text: str) -> None:
    assert refused(text)
