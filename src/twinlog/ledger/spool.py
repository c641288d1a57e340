"""The bytes of sealed map parts in a file, for a process that follows a ledger: memory holds an index only (R11).

A file without a name: it is gone with the process. It is no truth, only a copy of what the ledger holds, and it is
written anew when half of it is not wanted any more.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from typing import IO, Protocol

from twinlog.model.ledger.map_parts import Store


class Spool(Store, Protocol):
    """A store that tells when it should be written anew."""

    @property
    def wasteful(self) -> bool:
        """More than half of it, and more than a little, is not wanted any more."""


@dataclass
class PartSpool:
    """Appended bytes; read from any thread."""

    _file: IO[bytes] | None = None
    _size: int = 0
    _unwanted: int = field(default=0)

    def put(self, data: bytes) -> int:
        """Append; returns the place."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  as long as the spool
        place, rest = self._size, memoryview(data)
        while rest:
            rest = rest[os.pwrite(self._file.fileno(), rest, self._size) :]
            self._size = place + len(data) - len(rest)
        return place

    def get(self, place: int, size: int) -> bytes:
        """What was put there."""
        if self._file is None:
            raise LookupError(f"nothing was put at {place}")
        return os.pread(self._file.fileno(), size, place)

    def release(self, size: int) -> None:
        """So many bytes are not wanted any more."""
        self._unwanted += size

    @property
    def wasteful(self) -> bool:
        """More than half of it, and more than a little, is not wanted any more."""
        return self._unwanted > max(1 << 20, self._size // 2)
