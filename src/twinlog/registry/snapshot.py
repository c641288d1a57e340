"""A local copy of the topic, so that an instance serves reads after a restart although Kafka is gone. Blocking.

A file of records in the order of the topic, each with its length and checksum. It is written beside while the topic is
read, put in place when everything was read, and appended to from then on. A torn end is cut off.
"""

import logging
import os
import struct
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, NamedTuple

log = logging.getLogger("twinlog.registry.snapshot")

_MAGIC: Final = b"twinlog-schemas-1\n"
_HEAD: Final = struct.Struct(">IIqqii")  # checksum, length, offset, timestamp, length of key and value (-1: null)
_SYNC_S: Final = 1.0


class Kept(NamedTuple):
    """One record of the topic."""

    offset: int
    ts: int
    key: bytes | None
    value: bytes | None


@dataclass
class Snapshot:
    """The file of one instance."""

    path: Path
    _out: IO[bytes] | None = None
    _synced: float = 0.0

    def begin(self) -> None:
        """Write a new file beside the old one."""
        self.close()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._out = self._beside.open("wb")
        self._out.write(_MAGIC)

    def add(self, record: Kept) -> None:
        """Append one record to the snapshot."""
        if self._out is None:
            return
        key, value = record.key or b"", record.value or b""
        sizes = (-1 if record.key is None else len(key), -1 if record.value is None else len(value))
        body = _HEAD.pack(0, 0, record.offset, record.ts, *sizes)[8:] + key + value
        self._out.write(struct.pack(">II", zlib.crc32(body), len(body)) + body)

    def whole(self) -> None:
        """Everything that the topic held was added: the new file counts from now on."""
        if self._out is not None and self._beside.exists():
            self._sync()
            self._beside.replace(self.path)

    def keep(self) -> None:
        """Bring what was added to the disk, at most once a second."""
        if self._out is not None and time.monotonic() - self._synced >= _SYNC_S:
            self._sync()

    def close(self) -> None:
        """Bring everything to the disk."""
        if self._out is not None:
            self._sync()
            self._out.close()
            self._out = None

    def records(self) -> Iterator[Kept]:
        """What the file holds, up to a torn end. Raises OSError, and ValueError for a file that is no snapshot."""
        with self.path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise ValueError(f"{self.path}: not a snapshot of schemas")
            while len(head := file.read(8)) == 8:
                checksum, length = struct.unpack(">II", head)
                body = file.read(length)
                if len(body) < length or zlib.crc32(body) != checksum:
                    log.warning("%s: its end is torn; records up to there are used", self.path)
                    return
                _, _, offset, ts, key, value = _HEAD.unpack(head + body[: _HEAD.size - 8])
                rest = body[_HEAD.size - 8 :]
                split = max(key, 0)
                yield Kept(offset, ts, None if key < 0 else rest[:split], None if value < 0 else rest[split:])

    @property
    def written_at(self) -> float | None:
        """When it was last written; None when there is none."""
        try:
            return self.path.stat().st_mtime
        except OSError:
            return None

    @property
    def _beside(self) -> Path:
        return self.path.with_name(f"{self.path.name}.new")

    def _sync(self) -> None:
        assert self._out is not None  # noqa: S101  narrowing only: both callers asked
        self._out.flush()
        os.fdatasync(self._out.fileno())
        self._synced = time.monotonic()
