"""From figures to a page: tables in Markdown, and the dated log in `bench/results`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, the others are figures."""
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def listed(facts: Mapping[str, str]) -> str:
    return "\n".join(f"- {name}: {value}" for name, value in facts.items())


def amount(value: float) -> str:
    """Three digits that mean something: 1.35 M, 216 k, 7.3."""
    for unit, size in ((" M", 1e6), (" k", 1e3)):
        if value >= size:
            scaled = value / size
            return f"{scaled:.2f}{unit}" if scaled < 10 else f"{scaled:.0f}{unit}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def ratio(value: float, beside: float | None) -> str:
    return "-" if not beside else f"{value / beside:.2f} x"


def append(question: str, quick: bool, body: str) -> Path:
    """Add a section to today's page of the question. Quick runs have a page of their own: they prove nothing."""
    RESULTS.mkdir(exist_ok=True)
    page = RESULTS / f"{time.strftime('%Y-%m-%d')}-{question}{'-quick' if quick else ''}.md"
    if not page.exists():
        size = ", a tenth of the size: to see that it runs, not to compare" if quick else ""
        page.write_text(f"# {question.capitalize()}, {time.strftime('%Y-%m-%d')}{size}\n", encoding="utf-8")
    with page.open("a", encoding="utf-8") as file:
        file.write(f"\n## Run of {time.strftime('%H:%M')}\n\n{body}\n")
    return page
