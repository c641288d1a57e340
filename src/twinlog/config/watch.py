"""The settings file and all it refers to, watched. Runs in the service, which asks every second or so.

Key stores, certificates and the files of config providers count like the file itself: a renewed certificate or a
rotated password arrives that way. A file is looked at again only when it has been quiet between two looks: half of a
file may be valid by accident, and would stop the links that are not in it yet.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TypeAlias

from twinlog.config.resolve import Resolved, conclude, examine, read_file
from twinlog.errors import SettingsInvalid

_Print: TypeAlias = str | None


class SettingsWatch:
    """One settings file over time."""

    def __init__(self, path: Path, clusters: Collection[str] = ()) -> None:
        self.path = path
        self._clusters = tuple(clusters)
        self._files: set[Path] = {path}
        self._loaded: dict[Path, _Print] = {}
        self._last_look: dict[Path, _Print] = {}

    def load(self) -> Resolved:
        """Read the file as it is now. Raises SettingsInvalid, and does so once: until something changes again."""
        # Before reading: what changes meanwhile is then seen as a change.
        before = _prints(self._files)
        try:
            examined = examine(read_file(self.path), str(self.path), self._clusters, os.environ)
        except SettingsInvalid:
            self._remember({self.path}, before)
            raise
        self._remember({self.path, *examined.lookup.files}, before)
        return conclude(examined)

    def changed(self) -> bool:
        """Tell whether something differs from what was loaded, and has been the same since the last call."""
        now = _prints(self._files)
        quiet = now == self._last_look
        self._last_look = now
        return quiet and now != self._loaded

    def _remember(self, files: set[Path], before: dict[Path, _Print]) -> None:
        self._files = files
        now = _prints(files)
        self._loaded = {path: before.get(path, now[path]) for path in files}
        self._last_look = now


def _prints(files: Iterable[Path]) -> dict[Path, _Print]:
    """Return a fingerprint of each file; None for one that cannot be read. The files are small: all of it is read."""
    return {path: _print(path) for path in files}


def _print(path: Path) -> _Print:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None
