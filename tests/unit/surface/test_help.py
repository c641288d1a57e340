"""`--help` teaches: every command, at any width, with examples that can be typed."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.exceptions import TyperException

from twinlog.surface.cli.examples import EXAMPLES
from twinlog.surface.cli.main import app, main

TREE: Any = typer.main.get_command(app)


def leaves(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, one in command.commands.items():
        whole = f"{path} {name}".strip()
        if hasattr(one, "commands"):
            yield from leaves(one, whole)
        else:
            yield whole, one


LEAVES = dict(leaves(TREE))


def told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str, columns: int = 80) -> str:
    for name in [name for name in os.environ if name.startswith("TWINLOG_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "argv", ["twinlog", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in {0, None}
    return capsys.readouterr().out


def test_every_command_has_examples():
    assert set(EXAMPLES) == set(LEAVES)
    assert all(EXAMPLES.values())


@pytest.mark.parametrize("path", sorted(EXAMPLES))
def test_every_example_can_be_typed(path: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TWINLOG_CONFIG", "links.properties")
    for _, line in EXAMPLES[path]:
        words = shlex.split(line.partition(" | ")[0].partition(" > ")[0])
        assert words[: 1 + len(path.split())] == ["twinlog", *path.split()]
        # Parses as for a run, and runs nothing: whatever is wrong or missing raises.
        LEAVES[path].make_context(path, words[1 + len(path.split()) :])


def test_an_example_that_is_wrong_would_be_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("TWINLOG_CONFIG", raising=False)
    for words in (["--no-such-option"], []):
        with pytest.raises(TyperException):
            LEAVES["failover"].make_context("failover", words)


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_help_fits_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    for path in ("", "link", "failover", "reset-offsets", "context add"):
        text = told(monkeypatch, capsys, *path.split(), "--help", columns=columns)
        prose = text.partition("\nExamples:")[0]
        assert max(map(len, prose.splitlines())) <= min(columns, 100), path
        assert "\x1b" not in text


def test_every_command_is_in_the_help_below_a_heading(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    text = told(monkeypatch, capsys, "-h")
    assert [name for name in TREE.commands if f"\n  {name} " not in text] == []
    for heading in ("Begin:", "Watch:", "Prove:", "Switch:", "More:"):
        assert text.count(f"\n{heading}\n") == 1


def test_the_version_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    assert told(monkeypatch, capsys, "--version").startswith("twinlog ")


def test_help_loads_no_command(tmp_path: Path):
    """A start pays for what was typed: rich, pydantic and Kafka's clients cost several times as much as the help."""
    code = (
        "import sys\nfrom twinlog.surface.cli import main\nsys.argv = ['twinlog', '--help']\n"
        "try:\n    main.main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'rich', 'pydantic', 'asyncio', 'confluent_kafka', 'aiokafka', 'pyspark'}\n"
        "heavy.add('twinlog.surface.cli.commands.run')\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert "Mirror Apache Kafka" in done.stdout
    assert done.stderr.strip() == "[]"
