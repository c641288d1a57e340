"""Positions of the file source: bytes, and the characters that Kafka Connect counts."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from twinlog.pipelines.api import SourcePartition
from twinlog.pipelines.plugins import connector
from twinlog.pipelines.sources.file_stream import FileStreamSource

LINES = ["one", "two ä", "𝄞 and 音", "the last one"]


@pytest.mark.parametrize("done", range(len(LINES) + 1))
def test_both_kinds_of_positions_go_on_behind_the_line(tmp_path: Path, done: int) -> None:
    path = tmp_path / "in.txt"
    path.write_text("".join(f"{line}\n" for line in LINES))
    before = "".join(f"{line}\n" for line in LINES[:done])
    source = cast("FileStreamSource", connector("FileStreamSource", {"file": str(path), "topic": "t"}))
    for position in (len(before.encode()), len(before.encode("utf-16-le")) // 2):
        chunks = source.read(SourcePartition({"filename": str(path)}), {"position": position}, lambda: False)
        found = [row[""] for chunk in chunks for row in chunk.rows.to_pylist()]  # type: ignore[union-attr]
        assert found == LINES[done:]
