"""The file of the audit: one entry per line, each with the hash of the one before (model/drills/evidence).

Runs in the service. Services of one machine may share a file. Whoever rotates it moves it away, and the chain continues
in the new one. `twinlog audit verify` checks it.
"""

from __future__ import annotations

import fcntl
import json
import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Final

from twinlog.model.drills.evidence import chained

_LONGEST_LINE: Final = 8 << 20


class Chain:
    """Links entries. Without a file the chain lasts as long as the process."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._last: dict[str, Any] | None = None
        self._name = uuid.uuid4().hex[:16]

    def append(self, entry: Mapping[str, Any], *, durable: bool = False) -> str:
        """Give an entry its place and write it to the file; returns the line. Raises OSError."""
        if self._path is None:
            return self._linked(entry, self._last)
        descriptor = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "rb+", buffering=0) as paper:
            fcntl.flock(paper, fcntl.LOCK_EX)
            before, torn = _last_entry(paper)
            # An empty file was rotated, or is new: the chain continues with what we know.
            line = self._linked(entry, before or self._last)
            paper.write(b"\n" * torn + line.encode() + b"\n")
            if durable:
                os.fsync(paper.fileno())
        return line

    def _linked(self, entry: Mapping[str, Any], before: Mapping[str, Any] | None) -> str:
        name = self._name if before is None else before.get("chain", self._name)
        self._last = chained({**entry, "chain": name}, before)
        return json.dumps(self._last, separators=(",", ":"))


def _last_entry(paper: IO[bytes]) -> tuple[dict[str, Any] | None, bool]:
    """The entry that the next one follows, and whether the file ends in the middle of a line."""
    size = paper.seek(0, os.SEEK_END)
    if size == 0:
        return None, False
    step = 8192
    while True:
        begin = max(0, size - step)
        paper.seek(begin)
        tail = paper.read(size - begin)
        lines = tail.splitlines()
        if len(lines) > 1 or begin == 0 or step > _LONGEST_LINE:
            break
        step *= 4
    torn = not tail.endswith(b"\n")
    for line in reversed(lines):
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and {"number", "hash"} <= entry.keys():
            return entry, torn
    return None, torn
