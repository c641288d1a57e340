from __future__ import annotations

import dataclasses
import fcntl
import os
from pathlib import Path

import pytest

from twinlog.errors import JarsUnavailable
from twinlog.local import jars
from twinlog.local.folders import cache_folder, state_folder, write_atomically

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
