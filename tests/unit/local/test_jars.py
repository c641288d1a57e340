from __future__ import annotations

import dataclasses
import fcntl
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from twinlog.errors import JarsUnavailable
from twinlog.local import jars
from twinlog.local.jar_hashes import listed, problem_of
from twinlog.machine.folders import cache_folder, state_folder, write_atomically

_IVY_SAYS = """:: resolving dependencies :: twinlog#kafka;working
	found org.apache.kafka#kafka_2.13;4.3.1 in maven
	found org.slf4j#slf4j-api;1.7.36 in maven
downloading https://example/kafka_2.13-4.3.1.jar ...
........ (1583kB)
	[SUCCESSFUL ] org.apache.kafka#kafka_2.13;4.3.1!kafka_2.13.jar (123ms)
	[SUCCESSFUL ] org.slf4j#slf4j-api;1.7.36!slf4j-api.jar(bundle) (99ms)
"""


def test_progress_follows_ivy() -> None:
    seen: list[jars.JarProgress] = []
    jars._follow(iter(_IVY_SAYS.splitlines()), seen.append)
    assert [(step.phase, step.done, step.total) for step in seen] == [
        ("resolving", 1, None),
        ("resolving", 2, None),
        ("downloading", 1, 2),
        ("downloading", 2, 2),
    ]
    assert seen[0].what == "kafka_2.13 4.3.1"


def test_another_version_is_another_folder() -> None:
    bumped = dataclasses.replace(jars.KAFKA.modules[0], revision="4.3.2")
    other = dataclasses.replace(jars.KAFKA, modules=(bumped, *jars.KAFKA.modules[1:]))
    assert other.key != jars.KAFKA.key
    assert jars.KAFKA.key == jars.JarSet("kafka", jars.KAFKA.modules).key


def test_a_complete_set_is_not_fetched_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TWINLOG_CACHE", str(tmp_path))
    monkeypatch.setenv("TWINLOG_MAVEN_URL", "http://127.0.0.1:1/")
    folder = tmp_path / "jars" / jars.KAFKA.key
    folder.mkdir(parents=True)
    for name in ("b-1.jar", "a-1.jar"):
        (folder / name).touch()
    assert jars.class_path(jars.resolve(jars.KAFKA)) == f"{folder / 'a-1.jar'}{os.pathsep}{folder / 'b-1.jar'}"


def test_an_unreachable_repository_is_named_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TWINLOG_CACHE", str(tmp_path))
    monkeypatch.setenv("TWINLOG_MAVEN_URL", "http://127.0.0.1:1/")
    small = jars.JarSet("small", (jars.Module("org.slf4j", "slf4j-api", "1.7.36"),))
    with pytest.raises(JarsUnavailable) as caught:
        jars.resolve(small)
    assert "127.0.0.1:1" in str(caught.value)
    assert [entry.name for entry in (tmp_path / "jars").iterdir()] == [".lock"]


def test_a_second_fetch_waits_for_the_first(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as second:
        with jars._one_at_a_time(tmp_path / "lock"), pytest.raises(BlockingIOError):
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_folders_follow_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TWINLOG_CACHE", str(tmp_path / "c"))
    monkeypatch.setenv("TWINLOG_HOME", str(tmp_path / "h"))
    assert (cache_folder(), state_folder()) == (tmp_path / "c", tmp_path / "h")
    monkeypatch.delenv("TWINLOG_CACHE")
    monkeypatch.delenv("TWINLOG_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xc"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xs"))
    assert (cache_folder(), state_folder()) == (tmp_path / "xc" / "twinlog", tmp_path / "xs" / "twinlog")


def test_a_secret_file_is_private_and_leaves_no_draft(tmp_path: Path) -> None:
    write_atomically(tmp_path / "new" / "secret", "one", mode=0o600)
    write_atomically(tmp_path / "new" / "secret", "two", mode=0o600)
    assert [entry.name for entry in (tmp_path / "new").iterdir()] == ["secret"]
    assert (tmp_path / "new" / "secret").read_text() == "two"
    assert (tmp_path / "new" / "secret").stat().st_mode & 0o777 == 0o600


def test_a_jar_that_is_not_the_one_that_was_looked_at_is_refused(tmp_path: Path) -> None:
    known = next(iter(listed()))
    (tmp_path / known).write_bytes(b"something else")
    found = problem_of(tmp_path, None)
    assert found is not None
    assert known in found
    (tmp_path / known).unlink()
    (tmp_path / "kafka_2.13-9.9.9.jar").write_bytes(b"a version that nobody looked at")
    assert problem_of(tmp_path, None) is None
    assert "https" in (problem_of(tmp_path, "http://mirror.example/maven2/") or "")


def test_the_jars_that_are_used_are_listed() -> None:
    for jar_set in (jars.KAFKA, jars.CONNECT_MIRROR):
        assert [one.name for one in jar_set.modules if f"{one.name}-{one.revision}.jar" not in listed()] == []


def test_a_set_with_a_wrong_jar_is_not_put_in_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ivy is played by a script that brings a jar of the right name."""
    monkeypatch.setenv("TWINLOG_CACHE", str(tmp_path))
    name = "slf4j-api-1.7.36.jar"
    script = tmp_path / "java"
    script.write_text(
        f'#!/bin/sh\nfor last; do :; done\nwork=$(dirname "$4")\nmkdir $work/jars; echo x > $work/jars/{name}\n'
    )
    script.chmod(0o755)
    monkeypatch.setattr("twinlog.local.jars.find_java", lambda: SimpleNamespace(java=script))
    monkeypatch.setattr("twinlog.local.jars._proxy_options", list)
    small = jars.JarSet("small", (jars.Module("org.slf4j", "slf4j-api", "1.7.36"),))
    with pytest.raises(JarsUnavailable, match="not the jar that was looked at"):
        jars.resolve(small)
    assert not (tmp_path / "jars" / small.key).exists()
