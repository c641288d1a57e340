"""`twinlog run` with the files and flags of MirrorMaker 1: what would be run, and who may read the settings."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from twinlog.config.resolve import load_file
from twinlog.model.start import AtGroup
from twinlog.surface.cli.main import app


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("TWINLOG_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TWINLOG_CONFIG", raising=False)
    consumer, producer = tmp_path / "c.properties", tmp_path / "p.properties"
    consumer.write_text("bootstrap.servers = a:9092\ngroup.id = mirror\n")
    producer.write_text("bootstrap.servers = b:9092\ncompression.type = lz4\n")
    return ["run", "--dry-run", "--consumer.config", str(consumer), "--producer.config", str(producer)]


def the_file(tmp_path: Path) -> Path:
    (found,) = (tmp_path / "home").rglob("mirrormaker1/*.properties")
    return found


@pytest.mark.parametrize("flag", ["--include", "--whitelist"])
def test_the_flags_become_a_link_that_begins_where_the_group_stands(files: list[str], tmp_path: Path, flag: str):
    done = CliRunner().invoke(app, [*files, flag, "orders|payments.*", "--num.streams", "4"])
    assert done.exit_code == 0, done.output
    (link,) = load_file(the_file(tmp_path)).links
    assert link.copies.start_from == AtGroup("mirror")
    assert link.reading.tasks_max == 4
    assert link.topics.matches("orders")
    assert link.naming.remote(link.source, "orders") == "orders"
    assert "stop MirrorMaker 1 first" in done.output


def test_only_the_owner_may_read_the_file(files: list[str], tmp_path: Path):
    assert CliRunner().invoke(app, [*files, "--include", "o"]).exit_code == 0
    assert stat.S_IMODE(the_file(tmp_path).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--include", "o", "--abort.on.send.failure", "maybe"], "allowed is true or false"),
        ([], "no topics are chosen"),
        (["--include", "o", "-c", "links.properties"], "give a settings file, or MirrorMaker 1's two files"),
    ],
)
def test_what_does_not_fit_together_is_refused(files: list[str], arguments: list[str], said: str):
    done = CliRunner().invoke(app, [*files, *arguments])
    assert done.exit_code != 0
    assert said in str(done.exception)


def test_one_file_is_not_enough(files: list[str]):
    done = CliRunner().invoke(app, [*files[:4], "--include", "o"])
    assert "--producer.config is missing" in str(done.exception)


def test_without_any_file_the_way_out_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("TWINLOG_CONFIG", raising=False)
    assert "no settings file was given" in str(CliRunner().invoke(app, ["run"]).exception)
