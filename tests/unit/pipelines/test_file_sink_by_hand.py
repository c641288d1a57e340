"""The file sink when somebody deletes or damages the file of its positions, and when the disk is full."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from tests.kit.object_store import P0, batch_of

from twinlog.pipelines.api import Owner, Retriable
from twinlog.pipelines.plugins import connector


def sink_of(path: Path) -> Any:
    return connector("FileStreamSink", {"file": str(path)})


def test_deleted_positions_are_written_anew(tmp_path: Path) -> None:
    sink = sink_of(tmp_path / "out")
    sink.open(Owner("s", 1), [P0])
    sink.put(batch_of(["a"]))
    sink.flush({P0: 1})
    (tmp_path / "out.twinlog").unlink()
    sink.put(batch_of(["b"], first=1))
    with pytest.raises(Retriable, match="deleted"):
        sink.flush({P0: 2})
    assert sink.open(Owner("s", 1), [P0]) == {}  # the task knows where it was
    sink.put(batch_of(["b"], first=1))
    sink.flush({P0: 2})
    assert (tmp_path / "out").read_text() == "a\nb\n"
    assert sink.positions("s") == {P0: 2}


def test_damaged_positions_are_told(tmp_path: Path) -> None:
    (tmp_path / "out.twinlog").write_text("{")
    with pytest.raises(Retriable, match="holds no positions"):
        sink_of(tmp_path / "out").open(Owner("s", 1), [P0])


def test_a_full_disk_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = sink_of(tmp_path / "out")
    sink.open(Owner("s", 1), [P0])
    sink.put(batch_of(["a"]))

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(Retriable, match="No space left"):
            sink.flush({P0: 1})
    sink.open(Owner("s", 1), [P0])
    sink.put(batch_of(["a"]))
    sink.flush({P0: 1})
    assert (tmp_path / "out").read_text() == "a\n"
