"""How commands answer, wherever they answer to."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table

from twinlog.config.telling.samples import sample
from twinlog.doctor.answers import Diagnosis
from twinlog.surface.cli.commands.doctor import print_diagnoses
from twinlog.surface.cli.output import Output, as_yaml, print_event, print_facts, screen
from twinlog.surface.cli.progress import bars

FACTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(FACTS)
def test_yaml_says_what_json_says(facts: object):
    assert yaml.safe_load(as_yaml(facts)) == json.loads(json.dumps(facts))


def test_facts_and_events_are_documents(capsys: pytest.CaptureFixture[str]):
    facts = {"link": "east->west", "topics": ["a", "b"], "off": None}
    print_facts(facts, Output.JSON)
    assert json.loads(capsys.readouterr().out) == facts
    print_facts(facts, Output.YAML)
    assert yaml.safe_load(capsys.readouterr().out) == facts
    for form in (Output.JSON, Output.YAML):
        print_event(facts, form)
        print_event(facts, form)
    lines = capsys.readouterr().out
    told = [json.loads(line) for line in lines.splitlines()[:2]]
    assert [*told, *yaml.safe_load_all(lines.split("\n", 2)[2])] == [facts] * 4


def test_nothing_is_cut_in_a_pipe(capsys: pytest.CaptureFixture[str]):
    for form in (Output.TABLE, Output.WIDE):
        screen(form).print("word " * 60)
        assert len(capsys.readouterr().out.splitlines()) == 1


def test_bars_are_for_terminals(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    def work() -> str:
        with bars(stay=True) as progress:
            task = progress.add_task("copying", total=2, detail="half of it")
            progress.advance(task)
            progress.console.print("a line")
        return capsys.readouterr().err

    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert work() == "a line\n"
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    assert "half of it" in work()


@pytest.mark.parametrize(("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colours_are_for_terminals_that_want_them(tmp_path: Path, variables: dict[str, str], coloured: bool):
    (tmp_path / "links.properties").write_text(sample("hub") + "tasks.max = many\n")
    dropped = ("TWINLOG_", "NO_COLOR", "FORCE_COLOR")
    clean = {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
    environment = {**clean, "TERM": "xterm-256color", "XDG_CONFIG_HOME": str(tmp_path), **variables}
    command = [sys.executable, "-m", "twinlog", "status", "-c", "links.properties"]
    ours, theirs = pty.openpty()
    try:
        at_terminal = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=theirs, stderr=theirs)
        os.close(theirs)
        assert at_terminal.wait(60) == 2
        said = os.read(ours, 100_000)
    finally:
        os.close(ours)
    assert b"tasks.max" in said
    assert (b"\x1b[" in said) == coloured
    piped = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert b"tasks.max" in piped.stderr
    assert b"\x1b" not in piped.stderr


def test_checks_that_one_cause_leaves_open_are_told_together(capsys: pytest.CaptureFixture[str]):
    away = "east does not answer"
    found = [Diagnosis(name, "limits", "unknown", away, "it matters", "") for name in ("retention", "replicas")]
    found += [Diagnosis("clock", "clocks", "unknown", "not asked", "it matters", "")]
    print_diagnoses("east->west", found, everything=False)
    told = capsys.readouterr().out.splitlines()
    assert told[:2] == [f"unknown retention, replicas: {away}", "unknown clock: not asked"]
    assert told[2:] == ["east->west: 3 checks: 3 unknown"]
    print_diagnoses("east->west", found, everything=True)
    assert f"unknown replicas: {away}" in capsys.readouterr().out.splitlines()


@pytest.mark.proves("R7")
def test_a_table_in_a_pipe_loses_no_part_of_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table()
    for title in ("group", "remark"):
        table.add_column(title)
    table.add_row("fraud-detection-" + "x" * 60, "ahead of the copy " * 10)
    screen(Output.TABLE).print(table)
    assert "fraud-detection-" + "x" * 60 in capsys.readouterr().out
