"""How the JVM of this process ended: what an operator wants to know when Spark is gone (R14)."""

from __future__ import annotations

import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Final

_END_S: Final = 1.0
"""Its connections break a moment before the process is gone."""


def error_file_option() -> str:
    """Where the JVM writes why it had to give up; without it, into the working directory."""
    return f"-XX:ErrorFile={_error_file('%p')}"


def how_it_ended(jvm: subprocess.Popen[bytes]) -> str | None:
    """By its own report, or by its exit code; None while it runs. Waits for a second at most."""
    try:
        code = jvm.wait(_END_S)
    except subprocess.TimeoutExpired:
        return None
    report = _error_file(jvm.pid)
    if report.exists():
        words = [line.strip("# .\n") for line in report.read_text(errors="replace").splitlines()]
        return f"{next(filter(None, words), 'it crashed')} ({report})"
    return f"it was killed by {signal.Signals(-code).name}" if code < 0 else f"it ended with exit code {code}"


def _error_file(pid: int | str) -> Path:
    return Path(tempfile.gettempdir(), f"twinlog-jvm-{pid}.log")
