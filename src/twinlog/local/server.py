"""A foreign server as a child process, for demos and tests: start, wait until it answers, stop, kill.

It never outlives the process that started it, however that ends (`lifeline.py`).
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from twinlog.errors import ServerNotReady
from twinlog.local.lifeline import Lifeline
from twinlog.machine.folders import log_tail

READY_S: Final = 90.0
_POLL_S: Final = 0.1
_STOP_S: Final = 15.0
_NOBODY: Final = 65534


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def as_nobody(folder: Path) -> list[str]:
    """What goes before a command that refuses to run as root; the folder becomes the other user's."""
    if os.getuid() != 0:
        return []
    for path in (folder, *folder.rglob("*")):
        os.chown(path, _NOBODY, _NOBODY)
    for parent in folder.parents:
        mode = parent.stat().st_mode
        if parent != Path("/") and mode & 0o001 == 0:
            parent.chmod(mode | 0o011)
    return ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups", "env", f"HOME={folder}"]


@dataclass
class Server:
    """One server: its command, its log, and how to see that it answers."""

    name: str
    command: Sequence[str]
    log: Path
    answers: Callable[[], bool]
    environment: Mapping[str, str] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = None
    _lifeline: Lifeline | None = None

    def start(self, within_s: float = READY_S) -> None:
        """Start, and wait until it answers. Raises ServerNotReady."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                list(self.command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **self.environment},
                start_new_session=True,
            )
        self._lifeline = Lifeline(self._process.pid)
        deadline = time.monotonic() + within_s
        while not self.answers():
            ended = self._process.poll()
            if ended is not None or time.monotonic() > deadline:
                problem = f"ended with {ended}" if ended is not None else f"does not answer after {within_s:.0f} s"
                tail = log_tail(self.log, 20)
                self.stop()
                raise ServerNotReady(self.name, problem, str(self.log), tail)
            time.sleep(_POLL_S)

    def stop(self) -> None:
        """Ask it to end; kill it if it does not."""
        process = self._process
        if process is not None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_S)
        self.kill()

    def kill(self) -> None:
        """End it at once, as a crash does."""
        process, self._process = self._process, None
        lifeline, self._lifeline = self._lifeline, None
        if lifeline is not None:
            lifeline.release()
        if process is not None:
            process.kill()
            process.wait()
