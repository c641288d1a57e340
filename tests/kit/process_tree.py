"""A process with everything that it started: listed, killed, frozen, thawed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess

import psutil


def children_of(pid: int) -> list[psutil.Process]:
    """All processes that it started, and that these started; none when it is gone."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).children(recursive=True)
    return []


def kill_tree(process: subprocess.Popen[bytes]) -> None:
    """Kill -9 of the leader of a process group with everything that it started, and wait for the end of all."""
    family = children_of(process.pid)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for child in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()
    psutil.wait_procs(family, timeout=20)
    process.wait(20)


def freeze_tree(pid: int) -> None:
    """Stop all of it, the first process first."""
    for process in (psutil.Process(pid), *children_of(pid)):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.suspend()


def thaw_tree(pid: int) -> None:
    """Continue all of it, the first process last."""
    for process in (*reversed(children_of(pid)), psutil.Process(pid)):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.resume()
