"""Ask the system about a process that may not be our child: Linux by /proc, macOS by `ps`."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

_PROC = Path("/proc")


def lives(pid: int) -> bool:
    """Tell whether any part of the process still runs, and with it its ports and file locks.

    A process that ended but was not waited for yet is gone; one whose first thread ended before the others is not.
    """
    if not (_PROC / "self").exists():
        state = _ps(pid, "state")
        return bool(state) and not state.startswith("Z")
    try:
        state = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
        return state not in {"Z", "X"} or len(list((_PROC / str(pid) / "task").iterdir())) > 1
    except (FileNotFoundError, ProcessLookupError):
        return False


def command_line(pid: int) -> str:
    """Return the command line; empty for a process that is gone or about to be."""
    if not (_PROC / "self").exists():
        return _ps(pid, "command")
    try:
        return (_PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def descendants(pid: int) -> list[int]:
    """Return the children of a process, their children and so on, parents first."""
    children: dict[int, list[int]] = {}
    for child, parent in _parents():
        children.setdefault(parent, []).append(child)
    below = list(children.get(pid, ()))
    for child in below:
        below += children.get(child, ())
    return below


def _parents() -> list[tuple[int, int]]:
    """Return every process of this machine with its parent."""
    if not (_PROC / "self").exists():
        listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=False).stdout
        return [(int(child), int(parent)) for child, parent in (line.split() for line in listed.splitlines())]
    pairs = []
    for folder in _PROC.iterdir():
        if folder.name.isdecimal():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                stat = (folder / "stat").read_text(encoding="utf-8", errors="replace")
                pairs.append((int(folder.name), int(stat.rpartition(")")[2].split()[1])))
    return pairs


def _ps(pid: int, column: str) -> str:
    command = ["ps", "-ww", "-o", f"{column}=", "-p", str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
