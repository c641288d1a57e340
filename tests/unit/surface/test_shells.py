"""What real shells make of `twinlog completion`, where they are installed. Needs no cluster."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from twinlog.config.telling.samples import sample

_PATIENCE_S = 60.0


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file of links and the script of each shell."""
    for name in [name for name in os.environ if name.startswith(("TWINLOG_", "COMP_", "ZDOT"))]:
        monkeypatch.delenv(name)
    (tmp_path / "links.properties").write_text(sample("active-passive"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("TWINLOG_CONFIG", str(tmp_path / "links.properties"))
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def script(home: Path, shell: str) -> Path:
    done = subprocess.run(["twinlog", "completion", shell], capture_output=True, text=True, check=True)
    path = home / f"twinlog.{shell}"
    path.write_text(done.stdout)
    return path


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish here")
def test_fish_is_offered_commands_and_links(home: Path):
    source = script(home, "fish")

    def offered(line: str) -> list[str]:
        command = f'source {source}; complete -C "{line}"'
        done = subprocess.run(["fish", "--no-config", "-c", command], capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    assert offered("twinlog link pau") == ["pause\tCopy nothing until the link is resumed"]
    assert "bundle\ta support archive without secrets" in offered("twinlog ")
    assert offered("twinlog failover ea") == ["east->west"]


@contextmanager
def zsh(home: Path) -> Iterator[int]:
    """One at a terminal, with its completion on."""
    source = script(home, "zsh")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp("zsh", ["zsh", "-f", "-i"])  # noqa: S606  the user's own
    try:
        typed = f"unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -u -D; source {source}; print REA''DY\n"
        os.write(terminal, typed.encode())
        await_text(terminal, "READY")
        yield terminal
    finally:
        os.kill(pid, 9)
        os.close(terminal)
        os.waitpid(pid, 0)


def await_text(terminal: int, wanted: str) -> str:
    """Read until the terminal shows it."""
    shown, deadline = "", time.monotonic() + _PATIENCE_S
    while wanted not in shown:
        assert time.monotonic() < deadline, f"{wanted!r} does not come: {shown!r}"
        if select.select([terminal], [], [], 0.2)[0]:
            shown += os.read(terminal, 65_536).decode(errors="replace")
    return shown


@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh here")
def test_zsh_completes_commands_and_links(home: Path):
    with zsh(home) as terminal:
        for typed, completed in (
            ("twinlog link pau", "twinlog link pause "),
            ("twinlog failover ea", "twinlog failover east-\\>west "),
            ("twinlog failover 'ea", "twinlog failover 'east->west' "),
        ):
            os.write(terminal, f"\x15{typed}\t".encode())
            await_text(terminal, completed)
