"""When each user of the users file was last let in, kept on this machine for `twinlog user list`.

Runs in the service's loop, and writes in a thread: a name that is new at once, all others once a minute.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from pathlib import Path
from typing import Final

from twinlog.machine.folders import state_folder, write_atomically
from twinlog.model.clock import SYSTEM_CLOCK

log = logging.getLogger("twinlog.rest")

_EVERY_S: Final = 60.0


def last_used_file() -> Path:
    """Where it is kept."""
    return state_folder() / "logins.json"


def read_last_used(path: Path) -> dict[str, int]:
    """Names, and seconds since 1970; nothing where nothing is known."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(name): int(at) for name, at in document.items()} if isinstance(document, dict) else {}


class LastUsed:
    """What one service saw."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: dict[str, int] = {}
        self._written = -_EVERY_S
        self._writing = threading.Lock()

    def see(self, name: str) -> bool:
        """Note a login; True when it is time to `write`."""
        is_new = name not in self._seen
        self._seen[name] = int(SYSTEM_CLOCK.now_s())
        if not is_new and time.monotonic() - self._written < _EVERY_S:
            return False
        self._written = time.monotonic()
        return True

    def write(self) -> None:
        """Write it down. Blocking. A disk that refuses it is told in the log and stops nobody."""
        with self._writing:
            known = read_last_used(self._path)
            known |= {name: max(at, known.get(name, 0)) for name, at in list(self._seen.items())}
            try:
                write_atomically(self._path, json.dumps(known), 0o600)
            except OSError as error:
                log.warning("%s: when logins were last used is not kept: %s", self._path, error.strerror)
