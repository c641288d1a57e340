"""Every command that changes something has --dry-run, and with it changes nothing."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from twinlog.config.contexts import Contexts, contexts_path, save_contexts
from twinlog.config.security.users import save_user, with_token
from twinlog.config.telling.samples import sample
from twinlog.surface.cli.effects import CHANGING, READING
from twinlog.surface.cli.main import app, main


def leaves(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, one in command.commands.items():
        whole = f"{path} {name}".strip()
        if hasattr(one, "commands"):
            yield from leaves(one, whole)
        else:
            yield whole, one


COMMANDS = dict(leaves(typer.main.get_command(app)))


def spellings(command: Any) -> set[str]:
    return {word for one in command.params for word in (*one.opts, *one.secondary_opts)}


def test_every_command_says_whether_it_changes_something():
    assert set(COMMANDS) == CHANGING | READING
    assert not CHANGING & READING


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_whatever_changes_something_can_be_tried(name: str):
    assert ("--dry-run" in spellings(COMMANDS[name])) == (name in CHANGING)


@pytest.mark.parametrize("name", sorted(READING - {"top", "completion", "registry export"}))
def test_whatever_tells_facts_tells_them_in_every_form(name: str):
    (output,) = [one for one in COMMANDS[name].params if "-o" in one.opts]
    assert {member.value for member in output.type_descriptor.annotation} == {"table", "wide", "json", "yaml"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith(("TWINLOG_", "XDG_"))]:
        monkeypatch.delenv(name)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("TWINLOG_CONFIG", "")  # the command sets it; so it is put back
    monkeypatch.chdir(tmp_path)
    (tmp_path / "links.properties").write_text(sample("active-active"))
    save_contexts(contexts_path(), Contexts().add("prod", Path("links.properties")))
    save_user(tmp_path / "users", with_token("ci", "viewer")[0])
    return tmp_path


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("init new.properties --template hub", "new.properties: the lines above would be written"),
        ("init links.properties --template hub --force", "written over what is there"),
        ("run", "west->east: would be mirrored"),
        ("drill east->west --canary", "a topic and a group of the drill's own"),
        ("bundle", "would be written: about.json"),
        ("demo", "east->west: an engine would mirror 2,000 records/s"),
        ("user add bob --file users --role admin", "bob: would be added with the role admin"),
        ("user add ci --file users --token", "ci: would get a new secret"),
        ("user remove ci --file users", "ci: would be removed from users"),
        ("context add test -c links.properties", "test: would be"),
        ("context use prod", "prod: would be in use"),
        ("context remove prod", "prod: would be forgotten"),
        ("local up east", "east: would be made and started, brokers: 1"),
        ("local down", "dry run: nothing was changed"),
    ],
)
def test_a_dry_run_tells_and_changes_nothing(
    home: Path, line: str, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    before = everything(home)
    monkeypatch.setattr(sys, "argv", ["twinlog", *line.split(), "--dry-run"])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert told in said.out + said.err
    assert "dry run: nothing was changed" in said.err
    assert ended.value.code in {None, 0}
    assert everything(home) == before
