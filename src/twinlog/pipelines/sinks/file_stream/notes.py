"""What is noted beside a file of FileStreamSink: its length, up to which offsets, and who writes it.

    <file>.twinlog          safe: it and the file's bytes are on the disk, also when the machine loses power
    <file>.twinlog.recent   newer, written with each flush, and not forced to the disk: it counts until the machine is
                            started again, which is told by the kernel's boot id

A process that is killed loses nothing that it wrote. So the recent note is enough for it, and a flush need not wait for
the disk. After a loss of power the safe note counts: the file is cut to its length, and later records are written
again.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from twinlog.model.names import TopicPartition
from twinlog.pipelines.api import Retriable

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Note:
    """The length of the file and the positions at one flush."""

    connector: str
    generation: int
    length: int
    positions: Mapping[TopicPartition, int]

    def text(self, boot: str | None = None) -> str:
        places = [[place.topic, place.partition, offset] for place, offset in sorted(self.positions.items())]
        told = {"connector": self.connector, "generation": self.generation, "length": self.length, "positions": places}
        return json.dumps(told if boot is None else told | {"boot": boot})


@cache
def boot_id() -> str:
    """Another one after each start of the machine. Empty where no kernel tells it: each flush waits for the disk."""
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return ""


class Notes:
    """The notes beside one file."""

    def __init__(self, file: str) -> None:
        self.file = Path(file)
        self.safe = Path(f"{file}.twinlog")
        self.recent = Path(f"{file}.twinlog.recent")
        self._threads = threading.Lock()

    def read(self) -> Note | None:
        """The newest note that counts."""
        safe = _read(self.safe)
        try:
            recent = _read(self.recent, is_proven=True)
        except Retriable:
            recent = None  # a loss of power may leave half of it, or somebody is writing it
        if safe is None:
            return None  # whoever begins writes the safe one first, so somebody has removed it
        if recent is None or not boot_id() or recent.get("boot") != boot_id():
            return _note(safe)
        is_same = (safe["connector"], safe["generation"]) == (recent["connector"], recent["generation"])
        return _note(recent if is_same else safe)

    def write(self, note: Note) -> None:
        """Note what was just written to the file. Under the lock."""
        if boot_id():
            _overwrite(self.recent, note.text(boot_id()))
        else:
            self.make_safe(note)

    def make_safe(self, note: Note) -> None:
        """Force the file and a note of it to the disk. Under the lock."""
        fresh = Path(f"{self.safe}.new")
        self.prepare_safe(note, fresh)
        fresh.replace(self.safe)

    def prepare_safe(self, note: Note, fresh: Path) -> None:
        """The slow part of it, with a note of another name. Needs no lock."""
        with self.file.open("r+b") as file:
            os.fsync(file.fileno())
        with fresh.open("w") as noted:
            noted.write(note.text())
            noted.flush()
            os.fsync(noted.fileno())

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Alone, of all processes and threads. Raises Retriable."""
        with self._threads:
            try:
                with Path(f"{self.safe}.lock").open("a") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    yield
            except BlockingIOError as error:
                raise Retriable(f"{self.file}: another process is writing", 200) from error
            except OSError as error:
                raise Retriable(f"{self.file}: {error.strerror or error}") from error


def _read(path: Path, *, is_proven: bool = False) -> dict[str, Any] | None:
    try:
        text, _, proof = path.read_text().partition("\n")
        if is_proven and proof != _proof(text):
            raise ValueError("its last line does not fit the first one")  # noqa: TRY301  as what is no JSON
        noted: dict[str, Any] = json.loads(text)
    except FileNotFoundError:
        return None
    except ValueError as error:
        told = f"{path} holds no positions ({error}); without it the offsets of the group count"
        raise Retriable(told, 5000) from error
    return noted


def _note(told: Mapping[str, Any]) -> Note:
    places = {TopicPartition(topic, number): offset for topic, number, offset in told["positions"]}
    return Note(told["connector"], told["generation"], told["length"], places)


def _overwrite(path: Path, text: str) -> None:
    """In place: to rename a file makes the kernel write it to the disk. Its last line proves that it is whole."""
    data = f"{text}\n{_proof(text)}".encode()
    with path.open("r+b" if path.exists() else "w+b", buffering=0) as file:
        file.write(data)
        file.truncate(len(data))


def _proof(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"
