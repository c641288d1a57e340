"""Ask the system about a process that may not be our child: Linux by /proc, macOS by `ps`."""

from __future__ import annotations

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


def _ps(pid: int, column: str) -> str:
    command = ["ps", "-ww", "-o", f"{column}=", "-p", str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
