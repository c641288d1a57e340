"""FileStreamSink: one line per record, exactly once.

Beside the file lies `<file>.twinlog`: how long the file is, up to which offsets, and who writes. Lines wait in memory
until `flush`; then, under a lock, they are appended and the side file is replaced. What a crash left behind that length
is cut off by the next owner.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from twinlog.model.names import TopicPartition
from twinlog.pipelines.api import Finding, Owner, Rejected, Retriable, Setting, SinkBatch, Superseded, setting


@setting
class FileSinkSettings:
    """Keys of FileStreamSink."""

    file: str = Setting("file", "the file to append to")


class FileStreamSink:
    """Appends the text of each value, with a line feed behind it."""

    also: ClassVar = ("org.apache.kafka.connect.file.FileStreamSinkConnector",)
    settings: ClassVar = FileSinkSettings
    takes: ClassVar = "text"
    delivery: ClassVar = "exactly-once"
    max_tasks: ClassVar = 1

    def __init__(self, s: FileSinkSettings) -> None:
        self.s = s
        self.path = Path(s.file)
        self.side = Path(f"{s.file}.twinlog")
        self._lines: list[bytes] = []
        self._owner: Owner | None = None

    def check(self) -> Iterable[Finding]:
        if not self.s.file:
            yield Finding("file", "standard output is not there in a service; name a file")
        elif not self.path.parent.is_dir():
            yield Finding("file", f"the folder {self.path.parent} does not exist")
        elif not os.access(self.path if self.path.exists() else self.path.parent, os.W_OK):
            yield Finding("file", f"{self.s.file} cannot be written")

    def positions(self, connector: str) -> Mapping[TopicPartition, int] | None:
        noted = self._noted()
        return _positions(noted) if noted.get("connector") == connector else {}

    def open(self, owner: Owner, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        self._owner, self._lines = owner, []
        with self._locked():
            noted = self._noted()
            if noted and noted["connector"] != owner.connector:
                # Another connector wrote it: its length is kept, its positions are not ours.
                noted = {"length": self.path.stat().st_size if self.path.exists() else 0}
            if noted.get("generation", -1) > owner.generation:
                raise Superseded(f"{self.s.file} belongs to generation {noted['generation']} of {owner.connector}")
            length = noted.get("length", self.path.stat().st_size if self.path.exists() else 0)
            with self.path.open("ab") as file:
                file.truncate(length)
            known = _positions(noted)
            self._note(length, known)
        return {partition: known[partition] for partition in partitions if partition in known}

    def put(self, batch: SinkBatch) -> Sequence[Rejected]:
        self._lines += [b"null" if line is None else line.encode() for line in batch.values.to_pylist()]
        return ()

    def flush(self, positions: Mapping[TopicPartition, int]) -> None:
        if self._owner is None:
            raise RuntimeError("flush before open")
        with self._locked():
            noted = self._noted()
            if not noted:
                raise Retriable(f"{self.side}: somebody deleted it; it is written anew", 0)
            if noted.get("generation", -1) > self._owner.generation or noted["connector"] != self._owner.connector:
                raise Superseded(f"{self.s.file} has a younger writer")
            data = b"".join(line + b"\n" for line in self._lines)
            with self.path.open("r+b") as file:
                file.seek(noted["length"])
                file.write(data)
                file.truncate()
                file.flush()
                os.fsync(file.fileno())
            self._note(noted["length"] + len(data), {**_positions(noted), **positions})
        self._lines = []

    def close(self) -> None:
        self._lines = []

    def preview(self, batch: SinkBatch) -> Sequence[str]:
        return [f"append to {self.s.file}: {line}" for line in batch.values.to_pylist()]

    def _noted(self) -> dict[str, Any]:
        try:
            noted: dict[str, Any] = json.loads(self.side.read_text())
        except FileNotFoundError:
            return {}
        except ValueError as error:
            told = f"{self.side} holds no positions ({error}); without it the offsets of the group count"
            raise Retriable(told, 5000) from error
        return noted

    def _note(self, length: int, positions: Mapping[TopicPartition, int]) -> None:
        if self._owner is None:
            raise RuntimeError("noted before open")
        noted = {
            "connector": self._owner.connector,
            "generation": self._owner.generation,
            "length": length,
            "positions": [
                [partition.topic, partition.partition, offset] for partition, offset in sorted(positions.items())
            ],
        }
        fresh = Path(f"{self.side}.new")
        with fresh.open("w") as file:
            json.dump(noted, file)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.side)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            with Path(f"{self.side}.lock").open("a") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield
        except BlockingIOError as error:
            raise Retriable(f"{self.s.file}: another process is writing", 200) from error
        except OSError as error:
            raise Retriable(f"{self.s.file}: {error.strerror or error}") from error


def _positions(noted: Mapping[str, Any]) -> dict[TopicPartition, int]:
    return {TopicPartition(topic, number): offset for topic, number, offset in noted.get("positions", ())}
