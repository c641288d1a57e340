"""The engine as a process of its own, so that it can be killed like one: `python -m twinlog run`."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from twinlog.local.interrupts import signals_later
from twinlog.local.lifeline import Lifeline
from twinlog.local.process import descendants, lives

_STOP_SECONDS = 15.0
_POLL_SECONDS = 0.05


class EngineProcess:
    """Runs the links of a file. Unless `detached`, it does not outlive the process that started it."""

    def __init__(self, links: Path, log: Path, *, detached: bool = False) -> None:
        """Nothing runs before `start`."""
        self.log = log
        self._links = links
        self._detached = detached
        self._process: subprocess.Popen[bytes] | None = None
        self._lifeline: Lifeline | None = None

    @property
    def pid(self) -> int | None:
        """Return the process id while it lives."""
        alive = self._process is not None and self._process.poll() is None
        return self._process.pid if alive and self._process is not None else None

    def start(self) -> None:
        """Start it, in a session and process group of its own; it says what it does in its log."""
        with self.log.open("ab") as log, signals_later():
            self._process = subprocess.Popen(
                [sys.executable, "-m", "twinlog", "run", "-c", str(self._links)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.log.parent,
                # A killed engine cannot clean up: what it and Spark leave behind goes away with the demo's folder.
                env=os.environ | {"TMPDIR": str(self.log.parent), "SPARK_LOCAL_DIRS": str(self.log.parent)},
                # Ctrl-C in the terminal is for the demo, which then ends the engine in order.
                start_new_session=True,
            )
            if not self._detached:
                self._lifeline = Lifeline(self._process.pid, whole_group=True)

    def kill(self) -> int:
        """End it at once with SIGKILL: itself, Spark's JVM and all its workers. Returns how many processes that was."""
        if self._process is None:
            return 0
        # Spark's workers have a group of their own, so the tree is taken down before it notices.
        family = [self._process.pid, *descendants(self._process.pid)] if self.pid else []
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        for pid in family:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        _await_end(family)
        self._let_go()
        return len(family)

    def stop(self) -> None:
        """End it cleanly: what was read is written and noted first. Kills when that takes too long."""
        if self._process is None:
            return
        family = descendants(self._process.pid) if self.pid else []
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
            _await_end(family)
        except (subprocess.TimeoutExpired, TimeoutError):
            self.kill()
        self._let_go()

    def _let_go(self) -> None:
        """Forget the ended process: first its lifeline, which must not fire at a reused process id."""
        if self._lifeline is not None:
            self._lifeline.release()
            self._lifeline = None
        self._process = None


def _await_end(pids: list[int]) -> None:
    """Wait until none of them lives: a port or a socket of the old engine must not surprise the new one."""
    deadline = time.monotonic() + _STOP_SECONDS
    while any(lives(pid) for pid in pids):
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(_POLL_SECONDS)
