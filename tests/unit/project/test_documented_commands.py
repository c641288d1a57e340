"""Whatever the README and the guides tell people to type exists: the command and each of its options."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from twinlog.errors import TwinlogError
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


def incomplete(command: str) -> str | None:
    """What must be typed and is not there; a remedy is copied as it is, and there is no page around it."""
    words = shlex.split(command)[1:]
    node = TREE
    while getattr(node, "commands", None):
        if not words:
            return f"{node.name} needs a command behind it"
        node = node.commands[words.pop(0)]
    takes_value = {spelling for one in node.params for spelling in one.opts if not getattr(one, "is_flag", False)}
    before = ["", *words]
    given = [word for last, word in zip(before, words, strict=False) if word[0] != "-" and last not in takes_value]
    needed = [one for one in node.params if one.param_type_name == "argument" and one.required]
    if len(given) < len(needed):
        return f"{node.name} needs {' '.join((one.metavar or one.name).upper() for one in needed)}"
    missing = [
        one.opts[0] for one in node.params if one.param_type_name == "option" and one.required and not one.envvar
    ]
    return next((f"{node.name} needs {option}" for option in missing if option not in words), None)


def every_error(root: type[TwinlogError] = TwinlogError) -> Iterator[type[TwinlogError]]:
    for error in root.__subclasses__():
        yield error
        yield from every_error(error)


def advice(error: type[TwinlogError]) -> Iterator[str]:
    """The texts of an error that tell people what to do: with a link's name where it has one."""
    texts = [error.remedy, error.says, *(str(field.default) for field in dataclasses.fields(error))]
    yield from (re.sub(r"{\w+}", "x", text.replace("{link}", "a->b")) for text in texts)


def test_every_command_of_every_remedy_can_be_typed():
    found = {(error.code, command) for error in every_error() for text in advice(error) for command in commands(text)}
    assert len(found) > 15
    wrong = {f"{code}: {command}": why for code, command in found if (why := trouble(command) or incomplete(command))}
    assert wrong == {}


@pytest.mark.parametrize("guide", PAGES, ids=lambda guide: str(guide.relative_to(ROOT)))
def test_every_command_that_is_written_down_exists(guide: Path):
    wrong = {command: why for command in commands(guide.read_text()) if (why := trouble(command))}
    assert wrong == {}


def test_commands_are_found_and_mistakes_in_them_are_too():
    assert sum(len(list(commands(page.read_text()))) for page in PAGES) > 60
    text = "```console\n$ twinlog statsu -c f\n$ A=b twinlog run --lisen x\n```\nand `twinlog switch resume a->b`"
    why = ["there is no statsu", "run has no --lisen", "a shell would write to a file: a link is quoted"]
    assert [trouble(one) for one in commands(text)] == why
    assert incomplete("twinlog link reset orders") == "reset needs LINK TOPIC"
    assert incomplete("twinlog link reset 'a->b' orders") is None
