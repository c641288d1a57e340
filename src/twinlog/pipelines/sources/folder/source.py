"""The folder source: files of a folder, each row once, then the file is moved away. Runs in a Python worker.

A position names the file under way, how many of its rows were handed on, and the files that are done but still there:

    {"file": "b.csv", "rows": 2000, "done": "a.csv"}

A file is moved only when Kafka has stored the position behind it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.pipelines.api import Chunk, Finding, Offset, SettingsRefused, SourcePartition
from twinlog.pipelines.sources.debezium.envelope import position_only
from twinlog.pipelines.sources.folder.reading import Unreadable, batches
from twinlog.pipelines.sources.folder.settings import FolderSettings

_SPOOL: Final = "com.github.jcustenborder.kafka.connect.spooldir.SpoolDir"
_BETWEEN: Final = "/"  # stands in no file's name
_FORMS: Final = {"Csv": "csv", "Json": "json", "SchemaLessJson": "text", "LineDelimited": "text", "Avro": "avro"}


class FolderSource:
    """Files of a folder."""

    also: ClassVar = ("io.twinlog.FolderSourceConnector", *(f"{_SPOOL}{form}SourceConnector" for form in _FORMS))
    settings: ClassVar = FolderSettings

    def __init__(self, s: FolderSettings) -> None:
        self.s = s
        findings = []
        own = s.plugin.removeprefix(_SPOOL).removesuffix("Connector").removesuffix("Source")
        self.form = s.form or _FORMS.get(own, "")
        if not self.form:
            findings.append(Finding("format", "missing: csv, json, text, parquet, avro or xml"))
        if s.cleanup == "move" and not s.finished:
            findings.append(Finding("finished.path", "cleanup.policy=MOVE needs it"))
        try:
            self._pattern = re.compile(s.pattern)
        except re.error as error:
            findings.append(Finding("input.file.pattern", f"no regular expression: {error}"))
        if findings:
            raise SettingsRefused(findings)
        self.folder = Path(s.path)

    @property
    def previews(self) -> bool:
        """Not where a file that cannot be read would be moved away."""
        return self.s.halt or not self.s.broken

    def partitions(self) -> Sequence[SourcePartition]:
        return [SourcePartition({"folder": str(self.folder)})]

    def check(self) -> Iterable[Finding]:
        for key, folder in (("input.path", self.s.path), ("finished.path", self.s.finished),
                            ("error.path", self.s.broken)):  # fmt: skip
            if folder and not Path(folder).is_dir():
                yield Finding(key, f"{folder}: no such folder")

    def _files(self, done: set[str]) -> list[Path]:
        """What there is to read, oldest first."""
        now, files = SYSTEM_CLOCK.now_s() * 1000, []
        for path in self.folder.iterdir():
            if path.is_file() and path.name not in done and self._pattern.fullmatch(path.name):
                changed = path.stat().st_mtime
                if now - changed * 1000 >= self.s.min_age_ms:
                    files.append((changed, path.name, path))
        return [path for *_, path in sorted(files)]

    def read(self, at: SourcePartition, start: Offset | None, stop: Callable[[], bool]) -> Iterator[Chunk]:
        position: dict[str, Any] = dict(start or {})
        done = done_of(position)
        under_way = str(position.get("file") or "")
        files = self._files(done)
        for path in sorted(files, key=lambda file: file.name != under_way):  # stable: the file under way comes first
            skip = int(position.get("rows") or 0) if path.name == under_way else 0
            try:
                for chunk in self._chunks(path, at, skip, done):
                    yield chunk
                    if stop():
                        return
            except Unreadable as error:
                if self.s.halt or not self.s.broken:
                    raise
                shutil.move(path, Path(self.s.broken) / path.name)
                Path(self.s.broken, f"{path.name}.reason").write_text(f"{error}\n")
                continue
            done.add(path.name)
            here = {file.name for file in self.folder.iterdir()}
            done &= here  # what was moved need not be remembered
            yield position_only(self.s.topic, at, {"file": "", "rows": 0, "done": _BETWEEN.join(sorted(done))})

    def _chunks(self, path: Path, at: SourcePartition, skip: int, done: set[str]) -> Iterator[Chunk]:
        rows = 0
        for batch, schema in batches(path, self.form, self.s):
            for begin in range(0, batch.num_rows, self.s.batch):
                part = batch.slice(begin, self.s.batch)
                rows += part.num_rows
                if rows <= skip:
                    continue
                late = part.slice(max(0, skip - (rows - part.num_rows)))
                then: dict[str, Any] = {"file": path.name, "rows": rows, "done": _BETWEEN.join(sorted(done))}
                yield Chunk(self.s.topic, late, at, then, schema=schema)

    def committed(self, at: SourcePartition, offset: Offset) -> None:  # noqa: ARG002
        for name in done_of(dict(offset)):
            path = self.folder / name
            if not path.exists() or self.s.cleanup == "none":
                continue
            if self.s.cleanup == "delete":
                path.unlink()
            else:
                shutil.move(path, Path(self.s.finished) / name)


def done_of(position: dict[str, Any]) -> set[str]:
    return {name for name in str(position.get("done") or "").split(_BETWEEN) if name}
