"""FileStreamSink: one line per record, exactly once.

Lines wait in memory until `flush`; then, under a lock, they are appended and noted (`notes.py`). What a crash left
behind the noted length is cut off by the next owner. A thread forces file and note to the disk once a second, so that
no flush waits for it.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import pyarrow.compute

from twinlog.config.security.places import leads_to_path
from twinlog.model.names import TopicPartition
from twinlog.pipelines.api import Finding, Owner, Rejected, Retriable, Setting, SinkBatch, Superseded, setting
from twinlog.pipelines.sinks.file_stream.notes import Note, Notes

pc: Any = pyarrow.compute
_SAFE_S: Final = 1.0


@setting
class FileSinkSettings:
    """Keys of FileStreamSink."""

    file: str = Setting("file", "the file to append to", leads=leads_to_path)


class FileStreamSink:
    """Appends the text of each value, with a line feed behind it."""

    also: ClassVar = ("org.apache.kafka.connect.file.FileStreamSinkConnector",)
    settings: ClassVar = FileSinkSettings
    takes: ClassVar = "text"
    delivery: ClassVar = "exactly-once"
    max_tasks: ClassVar = 1
    flush_ms: ClassVar = 0

    def __init__(self, s: FileSinkSettings) -> None:
        self.s = s
        self.path = Path(s.file)
        self._notes = Notes(s.file)
        self._lines: list[memoryview] = []
        self._owner: Owner | None = None
        self._note: Note | None = None  # the last one of ours
        self._safe: Note | None = None  # the last one that is on the disk
        self._disk_thread: threading.Thread | None = None
        self._closing = threading.Event()

    def check(self) -> Iterable[Finding]:
        if not self.s.file:
            yield Finding("file", "standard output is not there in a service; name a file")
        elif not self.path.parent.is_dir():
            yield Finding("file", f"the folder {self.path.parent} does not exist")
        elif not os.access(self.path if self.path.exists() else self.path.parent, os.W_OK):
            yield Finding("file", f"{self.s.file} cannot be written")

    def positions(self, connector: str) -> Mapping[TopicPartition, int] | None:
        noted = self._notes.read()
        return noted.positions if noted is not None and noted.connector == connector else {}

    def open(self, owner: Owner, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        self.close()
        self._owner = owner
        with self._notes.locked():
            noted = self._notes.read()
            length = self.path.stat().st_size if self.path.exists() else 0
            known: Mapping[TopicPartition, int] = {}
            if noted is not None and noted.connector == owner.connector:
                # Of another connector only the length is kept: its positions are not ours.
                if noted.generation > owner.generation:
                    raise Superseded(f"{self.s.file} belongs to generation {noted.generation} of {owner.connector}")
                length, known = noted.length, noted.positions
            with self.path.open("ab") as file:
                file.truncate(length)
            self._note = self._safe = Note(owner.connector, owner.generation, length, known)
            self._notes.make_safe(self._note)
            self._notes.write(self._note)
        self._closing.clear()
        self._disk_thread = threading.Thread(target=self._keep, name="file-sink", daemon=True)
        self._disk_thread.start()
        return {partition: known[partition] for partition in partitions if partition in known}

    def put(self, batch: SinkBatch) -> Sequence[Rejected]:
        lines = pc.binary_join_element_wise(pc.fill_null(batch.values, "null"), "", "\n")
        self._lines.append(memoryview(lines.buffers()[2])[: pc.sum(pc.binary_length(lines)).as_py()])
        return ()

    def flush(self, positions: Mapping[TopicPartition, int]) -> None:
        with self._notes.locked():
            noted = self._mine()
            with self.path.open("r+b", buffering=0) as file:
                file.seek(noted.length)
                data = self._lines[0] if len(self._lines) == 1 else memoryview(b"".join(self._lines))
                at = 0
                while at < len(data):
                    at += file.write(data[at:]) or 0
                file.truncate()
            behind = {**noted.positions, **positions}
            self._note = Note(noted.connector, noted.generation, noted.length + len(data), behind)
            if self._safe is None or positions.keys() - self._safe.positions.keys():
                # Of a partition that has no safe position the group's would count, which is told behind each flush.
                self._notes.make_safe(self._note)
                self._safe = self._note
            self._notes.write(self._note)
        self._lines = []

    def _mine(self) -> Note:
        """The newest note, which is ours. Raises Superseded."""
        noted = self._notes.read()
        if self._owner is None:
            raise RuntimeError("flush before open")
        if noted is None:
            raise Retriable(f"{self._notes.safe}: somebody deleted it; it is written anew", 0)
        if noted.generation > self._owner.generation or noted.connector != self._owner.connector:
            raise Superseded(f"{self.s.file} has a younger writer")
        return noted

    def _keep(self) -> None:
        """Force what was flushed to the disk, once a second and at the end. Runs in a thread."""
        is_last = False
        while not is_last:
            is_last = self._closing.wait(_SAFE_S)
            note, safe = self._note, self._safe
            if note is None or note is safe:
                continue
            with contextlib.suppress(Retriable, Superseded, OSError):
                fresh = Path(f"{self._notes.safe}.next")
                self._notes.prepare_safe(note, fresh)
                with self._notes.locked():
                    self._mine()
                    if self._safe is safe:
                        fresh.replace(self._notes.safe)
                        self._safe = note

    def close(self) -> None:
        self._lines = []
        self._closing.set()
        if self._disk_thread is not None:
            self._disk_thread.join()
        self._disk_thread = None

    def preview(self, batch: SinkBatch) -> Sequence[str]:
        return [f"append to {self.s.file}: {line}" for line in batch.values.to_pylist()]
