"""Errors with `-o json` are JSON on standard output, with the keys of the REST interface."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from twinlog.surface.cli.main import main
from twinlog.surface.cli.output import Output, wanted_form

GOOD = "clusters = east, west\nbootstrap.servers = k:9092\neast->west.enabled = true\n"


def told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["twinlog", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    captured = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return ended.value.code, captured.out, captured.err


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "links.properties"
    path.write_text(GOOD)
    return str(path)


def test_an_unknown_link(file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    code, out, err = told(capsys, monkeypatch, "rpo", "esat->west", "-c", file, "-o", "json")
    answer = json.loads(out)
    assert (code, err) == (2, "")
    assert answer["code"] == "LINK_UNKNOWN"
    assert answer["remedy"] == "Did you mean 'east->west'?"


def test_a_wrong_option(file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    code, out, _ = told(capsys, monkeypatch, "rpo", "east->west", "-c", file, "--nope", "-o", "json")
    assert code == 2
    assert json.loads(out)["code"] == "USAGE"


def test_a_wrong_file(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "wrong"
    file.write_text(GOOD + "tasks.max = many\n")
    code, out, _ = told(capsys, monkeypatch, "status", "-c", str(file), "--output=json")
    answer = json.loads(out)
    assert (code, answer["code"]) == (2, "SETTINGS_INVALID")
    assert [(one["level"], one["line"]) for one in answer["findings"]] == [("error", 4)]


@pytest.mark.parametrize("command", ["status", "rpo", "groups", "diff", "doctor", "failover --planned"])
def test_every_command_about_a_link_takes_its_name(
    command: str, file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    code, out, _ = told(capsys, monkeypatch, *command.split(), "esat->west", "-c", file, "-o", "json")
    assert (code, json.loads(out)["code"]) == (2, "LINK_UNKNOWN")


def test_people_get_a_sentence(file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    code, out, err = told(capsys, monkeypatch, "rpo", "east", "-c", file)
    assert (code, out) == (2, "")
    assert "no such enabled link" in err


@pytest.mark.parametrize(
    ("line", "form"),
    [
        ("status -o json", Output.JSON),
        ("status -ojson", Output.JSON),
        ("status --output yaml", Output.YAML),
        ("status --output=wide", Output.WIDE),
        ("status -o", Output.TABLE),
        ("status -o nope", Output.TABLE),
        ("status", Output.TABLE),
    ],
)
def test_the_form_is_read_from_the_command_line(line: str, form: Output):
    assert wanted_form(line.split()) is form
