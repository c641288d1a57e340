"""FileStreamSource: the lines of a growing file. Positions count bytes."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Final

import pyarrow as pa
import pyarrow.compute

from twinlog.config.security.places import leads_to_path
from twinlog.pipelines.api import Chunk, Finding, Offset, Schema, Setting, SourcePartition, setting
from twinlog.pipelines.parcels import texts
from twinlog.pipelines.schemas import STRING

pc: Any = pyarrow.compute
_BLOCK: Final = 1 << 20


@setting
class FileSourceSettings:
    """Keys of FileStreamSource."""

    file: str = Setting("file", "the file to read", leads=leads_to_path)
    topic: str = Setting("topic", "the topic to publish data to")
    batch: int = Setting("batch.size", "lines in one chunk", 2000, at_least=1)


class FileStreamSource:
    """Every line of a file becomes a record. An incomplete last line waits for its end."""

    also: ClassVar = ("org.apache.kafka.connect.file.FileStreamSourceConnector",)
    settings: ClassVar = FileSourceSettings
    previews: ClassVar = True

    def __init__(self, s: FileSourceSettings) -> None:
        self.s = s

    def partitions(self) -> Sequence[SourcePartition]:
        return [SourcePartition({"filename": self.s.file})]

    def streams(self) -> list[tuple[str, None, Schema]]:
        return [(self.s.topic, None, _LINE)]

    def check(self) -> Iterable[Finding]:
        if not self.s.file:
            yield Finding("file", "standard input is not there in a service; name a file")
        elif not Path(self.s.file).exists():
            yield Finding("file", f"{self.s.file} does not exist yet; the connector waits for it", "warning")

    def read(self, at: SourcePartition, start: Offset | None, stop: Callable[[], bool]) -> Iterator[Chunk]:
        path = Path(str(at.at["filename"]))
        if not path.exists():
            return
        position = int((start or {}).get("position") or 0)
        with path.open("rb") as file:
            position = _behind_a_line(file, position)
            while not stop():
                file.seek(position)
                block = _whole_lines(file.read(_BLOCK), file)
                if not block:
                    return
                lines, ends = _split(block)
                for first in range(0, len(lines), self.s.batch):
                    some = lines[first : first + self.s.batch]
                    behind = position + ends[first + len(some) - 1].as_py()
                    rows = pa.RecordBatch.from_arrays([texts(some)], names=[""])
                    yield Chunk(self.s.topic, rows, partition=at, next={"position": behind}, schema=_LINE)
                position += len(block)


_LINE: Final[Schema] = STRING


def _behind_a_line(file: BinaryIO, position: int) -> int:
    """The position in bytes. Kafka Connect counts characters, so a position of its may stand inside of a line."""
    if position == 0:
        return 0
    file.seek(position - 1)
    if file.read(1) in {b"\n", b"\r", b""}:
        return position
    file.seek(0)
    read, left, decoder = 0, position, codecs.getincrementaldecoder("utf-8")(errors="replace")
    while left and (block := file.read(min(left, _BLOCK))):
        left -= len(decoder.decode(block).encode("utf-16-le")) // 2  # Java's characters
        read += len(block)
    return read - len(decoder.getstate()[0])


def _whole_lines(block: bytes, file: object) -> bytes:
    """Up to the last end of a line. A carriage return at the very end may be the half of one."""
    while True:
        end = max(block.rfind(b"\n"), block.rfind(b"\r", 0, max(0, len(block) - 1)))
        if end >= 0 or len(block) % _BLOCK:
            return block[: end + 1]
        more = file.read(_BLOCK)  # type: ignore[attr-defined]
        if not more:
            return b""
        block += more


def _split(block: bytes) -> tuple[Any, Any]:
    """The lines without their ends, and where in the block each of them ends."""
    if b"\r" in block:
        whole = block.splitlines(keepends=True)
        lines = pa.array([line.rstrip(b"\r\n") for line in whole], pa.binary())
        return lines, pc.cumulative_sum(pa.array(map(len, whole), pa.int64()))
    lines = pc.split_pattern(pa.array([block[:-1]], pa.binary()), b"\n").values
    return lines, pc.cumulative_sum(pc.add(pc.binary_length(lines).cast(pa.int64()), 1))
