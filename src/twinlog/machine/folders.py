"""Twinlog's folders on this machine: a cache, which may be deleted, and state, which may not."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Literal, TextIO


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


def private_folder(path: Path) -> Path:
    """Make a folder, and those above it that are missing, for this user alone; one that is there stays as it is."""
    if not path.exists():
        private_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
    return path


def open_private(path: Path, mode: Literal["w", "a", "a+"]) -> TextIO:
    """Open a file for this user alone; one that others could read is closed to them."""
    private_folder(path.parent)
    ways = {"w": os.O_WRONLY | os.O_TRUNC, "a": os.O_WRONLY | os.O_APPEND, "a+": os.O_RDWR | os.O_APPEND}
    descriptor = os.open(path, ways[mode] | os.O_CREAT, 0o600)
    os.fchmod(descriptor, 0o600)
    return os.fdopen(descriptor, mode, encoding="utf-8")


def write_atomically(path: Path, text: str, mode: int = 0o600) -> None:
    """Write a small file so that a reader, or a crash, sees all of it or none; `mode` holds from the first byte."""
    if mode & 0o077:  # for others, too, such as what is in a cache that is shared
        path.parent.mkdir(parents=True, exist_ok=True)
    else:
        private_folder(path.parent)
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
