"""Where Twinlog keeps things of its own on this machine, in a cache that may be deleted or as state that may not."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """Name the folder of what can be fetched or made again: jars, class archives, the Java wrapper."""
    if chosen := os.environ.get("TWINLOG_CACHE"):
        return Path(chosen).expanduser().absolute()
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared).expanduser().absolute() / "twinlog"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "twinlog"
    return Path.home() / ".cache" / "twinlog"


def state_folder() -> Path:
    """Name the folder of what cannot be made again: the data of local clusters."""
    if chosen := os.environ.get("TWINLOG_HOME"):
        return Path(chosen).expanduser().absolute()
    if shared := os.environ.get("XDG_STATE_HOME"):
        return Path(shared).expanduser().absolute() / "twinlog"
    return Path.home() / ".local" / "state" / "twinlog"


def write_atomically(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a small file so that a reader, or a crash, sees all of it or none; `mode` holds from the first byte."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.unlink(missing_ok=True)
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as file:
        file.write(text)
    unfinished.replace(path)


def log_tail(log: Path, lines: int) -> str:
    """Return the end of what a process said, for an error."""
    try:
        return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
    except FileNotFoundError:
        return "(there is no log)"
