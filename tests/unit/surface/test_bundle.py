import tarfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from twinlog.config.resolve import load_file
from twinlog.surface.cli.commands.bundle import redact, secrets_of
from twinlog.surface.cli.main import app

FILE = """\
clusters = A, B
bootstrap.servers = k:9092
A->B.enabled = true
B.security.protocol = SASL_PLAINTEXT
B.sasl.mechanism = PLAIN
store.bootstrap.servers = s:9092
store.security.protocol = SASL_PLAINTEXT
store.sasl.mechanism = PLAIN
store.sasl.jaas.config = org.apache.kafka.common.security.plain.PlainLoginModule required \\
    username="u" password="letmein7";
B.sasl.jaas.config = org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="hunter22";
"""


@pytest.mark.proves("R12")
def test_no_secret_is_in_the_archive_not_even_one_that_was_logged(tmp_path: Path):
    file, log, archive = tmp_path / "f.properties", tmp_path / "run.log", tmp_path / "b.tar.gz"
    file.write_text(FILE)
    log.write_text("login as u with hunter22 failed, letmein7 too\n")
    assert set(secrets_of(load_file(file).links)) == {"hunter22"}
    arguments = ["bundle", "-c", str(file), "--to", str(archive), "--log", str(log), "--log", "absent.log", "--offline"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    with tarfile.open(archive) as packed:
        texts = {one.name: packed.extractfile(one).read().decode() for one in packed}  # type: ignore[union-attr]
    assert sorted(texts) == [
        f"twinlog-bundle/{name}" for name in ("about.json", "logs/absent.log", "logs/run.log", "settings.json")
    ]
    assert not [name for name, text in texts.items() if "hunter22" in text or "letmein7" in text]
    assert texts["twinlog-bundle/logs/run.log"] == "login as u with *** failed, *** too\n"
    assert "cannot be read" in texts["twinlog-bundle/logs/absent.log"]
    assert archive.stat().st_mode & 0o077 == 0


def test_an_archive_that_is_there_stays(tmp_path: Path):
    (tmp_path / "f.properties").write_text(FILE)
    (tmp_path / "b").write_text("mine")
    result = CliRunner().invoke(
        app, ["bundle", "-c", str(tmp_path / "f.properties"), "--to", str(tmp_path / "b"), "--offline"]
    )
    assert "--to" in str(result.exception)
    assert (tmp_path / "b").read_text() == "mine"


def test_a_secret_inside_of_another_leaves_no_rest():
    assert redact("abcdef abcd", ["abcd", "abcdef"]) == "*** ***"
    assert redact('x a"bcd', ['a"bcd']) == "x ***"
    assert redact('"a\\"bcd"', ['a"bcd']) == '"***"'
    assert redact("it is", ["is"]) == "it is"
