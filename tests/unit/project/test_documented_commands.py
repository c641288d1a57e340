"""Whatever the README and the guides tell people to type exists: the command and each of its options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from twinlog.surface.cli.main import app

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "deploy").rglob("*.md"))]
TREE: Any = typer.main.get_command(app)
PLACEHOLDER = re.compile(r"[A-Z]+|…|\.\.\.")
"""What stands for the reader's own: NAME, FILE, … """


def commands(text: str) -> Iterator[str]:
    """What is to be typed: lines of code blocks, after a prompt perhaps, and code within prose."""
    for block in re.findall(r"^```(?:console|sh|bash|)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for line in re.sub(r"\\\n\s*", "", block).splitlines():
            typed = re.split(r"\s#\s", line.removeprefix("$ "))[0]
            if found := re.match(r"(?:\w+=\S+ )*(twinlog\b.*)", typed):
                yield found[1]
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    yield from re.findall(r"`(twinlog [a-z][^`\n]*)`", prose)


def trouble(command: str) -> str | None:
    """What is wrong with it; None if it could be typed."""
    if re.search(r"\w->", re.sub(r"'[^']*'", "", command)):
        return "a shell would write to a file: a link is quoted"
    words = shlex.split(re.split(r"\s[|>&]", command)[0])[1:]
    node = TREE
    while getattr(node, "commands", None) and words and not words[0].startswith("-"):
        if words[0] not in node.commands:
            return None if PLACEHOLDER.fullmatch(words[0]) else f"there is no {words[0]}"
        node = node.commands[words.pop(0)]
    known = {spelling: one for one in node.params for spelling in (*one.opts, *one.secondary_opts)}
    known["--help"] = None
    for word in words:
        if word.startswith("-") and word.split("=")[0] not in known:
            return f"{node.name} has no {word}"
    return None


@pytest.mark.parametrize("guide", PAGES, ids=lambda guide: str(guide.relative_to(ROOT)))
def test_every_command_that_is_written_down_exists(guide: Path):
    wrong = {command: why for command in commands(guide.read_text()) if (why := trouble(command))}
    assert wrong == {}


def test_commands_are_found_and_mistakes_in_them_are_too():
    assert sum(len(list(commands(page.read_text()))) for page in PAGES) > 60
    text = "```console\n$ twinlog statsu -c f\n$ A=b twinlog run --lisen x\n```\nand `twinlog switch resume a->b`"
    why = ["there is no statsu", "run has no --lisen", "a shell would write to a file: a link is quoted"]
    assert [trouble(one) for one in commands(text)] == why
