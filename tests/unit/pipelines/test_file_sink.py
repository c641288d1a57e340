"""FileStreamSink: a killed process loses nothing, a loss of power falls back to what was on the disk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pytest

from twinlog.model.names import TopicPartition
from twinlog.pipelines.api import Owner, SinkBatch, Superseded
from twinlog.pipelines.settings import read_settings
from twinlog.pipelines.sinks.file_stream import notes
from twinlog.pipelines.sinks.file_stream.sink import FileSinkSettings, FileStreamSink

PLACE, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture(autouse=True)
def _boot() -> Iterator[None]:
    with mock.patch.object(notes, "boot_id", return_value="monday"):
        yield


def sink_of(folder: Path) -> FileStreamSink:
    return FileStreamSink(read_settings(FileSinkSettings, {"file": str(folder / "out")}))


def batch_of(*values: str | None) -> SinkBatch:
    column = pa.array(values, pa.string())
    return SinkBatch("t", pa.RecordBatch.from_arrays([column], names=["value"]), None, None)


def test_lines_are_there_after_a_flush(tmp_path: Path) -> None:
    sink = sink_of(tmp_path)
    assert sink.open(Owner("c", 1), [PLACE]) == {}
    sink.put(batch_of("a", None, "ü"))
    sink.put(batch_of("b"))
    assert (tmp_path / "out").read_text() == ""
    sink.flush({PLACE: 4})
    assert (tmp_path / "out").read_text() == "a\nnull\nü\nb\n"
    sink.flush({PLACE: 5})  # a record that was dropped
    sink.close()
    assert sink_of(tmp_path).positions("c") == {PLACE: 5}
    assert sink_of(tmp_path).positions("d") == {}


@pytest.mark.proves("R30")
def test_a_killed_process_loses_nothing_although_nothing_was_forced_to_the_disk(tmp_path: Path) -> None:
    killed = sink_of(tmp_path)
    killed.open(Owner("c", 1), [PLACE])
    killed.put(batch_of("a"))
    killed.flush({PLACE: 1})
    with mock.patch("os.fsync") as forced:
        killed.put(batch_of("b"))
        killed.flush({PLACE: 2})
        assert not forced.called
    with (tmp_path / "out").open("ab") as file:
        file.write(b"half a li")
    sink = sink_of(tmp_path)
    assert sink.open(Owner("c", 1), [PLACE]) == {PLACE: 2}
    assert (tmp_path / "out").read_text() == "a\nb\n"
    sink.close()


@pytest.mark.proves("R30")
def test_after_a_loss_of_power_the_safe_note_counts(tmp_path: Path) -> None:
    sink = sink_of(tmp_path)
    sink.open(Owner("c", 1), [PLACE])
    sink.put(batch_of("a"))
    sink.flush({PLACE: 1})  # a partition's first position is safe at once
    with mock.patch.object(FileStreamSink, "_keep"):
        sink.put(batch_of("b"))
        sink.flush({PLACE: 2})
    (tmp_path / "out.twinlog.recent").write_text("{")
    with mock.patch.object(notes, "boot_id", return_value="tuesday"):
        after = sink_of(tmp_path)
        assert after.open(Owner("c", 1), [PLACE]) == {PLACE: 1}
        assert (tmp_path / "out").read_text() == "a\n"
        after.close()


def test_what_was_flushed_is_on_the_disk_when_the_sink_is_closed(tmp_path: Path) -> None:
    sink = sink_of(tmp_path)
    sink.open(Owner("c", 1), [PLACE])
    for number in (1, 2):
        sink.put(batch_of(str(number)))
        sink.flush({PLACE: number})
    sink.close()
    assert json.loads((tmp_path / "out.twinlog").read_text())["positions"] == [["t", 0, 2]]


def test_without_a_boot_id_each_flush_waits_for_the_disk(tmp_path: Path) -> None:
    with mock.patch.object(notes, "boot_id", return_value=""):
        sink = sink_of(tmp_path)
        sink.open(Owner("c", 1), [PLACE])
        for number in (1, 2):
            sink.put(batch_of(str(number)))
            sink.flush({PLACE: number})
        assert json.loads((tmp_path / "out.twinlog").read_text())["positions"] == [["t", 0, 2]]
        sink.close()


@pytest.mark.proves("R30")
def test_a_younger_owner_shuts_the_older_one_out(tmp_path: Path) -> None:
    older, younger = sink_of(tmp_path), sink_of(tmp_path)
    older.open(Owner("c", 1), [PLACE])
    older.put(batch_of("a"))
    older.flush({PLACE: 1})
    assert younger.open(Owner("c", 2), [PLACE]) == {PLACE: 1}
    older.put(batch_of("b"))
    with pytest.raises(Superseded):
        older.flush({PLACE: 2})
    older.close()
    with pytest.raises(Superseded):
        older.open(Owner("c", 1), [PLACE])
    younger.put(batch_of("b"))
    younger.flush({PLACE: 2})
    younger.close()
    assert (tmp_path / "out").read_text() == "a\nb\n"


def test_another_connector_appends_behind_what_is_there(tmp_path: Path) -> None:
    first = sink_of(tmp_path)
    first.open(Owner("c", 7), [PLACE])
    first.put(batch_of("a"))
    first.flush({PLACE: 1})
    first.close()
    second = sink_of(tmp_path)
    assert second.open(Owner("d", 1), [PLACE, OTHER]) == {}
    second.put(batch_of("b"))
    second.flush({OTHER: 1})
    second.close()
    assert (tmp_path / "out").read_text() == "a\nb\n"
    assert sink_of(tmp_path).positions("d") == {OTHER: 1}


def test_who_removes_the_file_and_its_note_begins_anew(tmp_path: Path) -> None:
    sink = sink_of(tmp_path)
    sink.open(Owner("c", 1), [PLACE])
    sink.put(batch_of("a"))
    sink.flush({PLACE: 1})
    sink.close()
    (tmp_path / "out").unlink()
    (tmp_path / "out.twinlog").unlink()
    again = sink_of(tmp_path)
    assert again.positions("c") == {}
    assert again.open(Owner("c", 2), [PLACE]) == {}
    again.close()
    assert (tmp_path / "out").read_bytes() == b""


def test_a_note_that_is_being_written_is_not_read(tmp_path: Path) -> None:
    """It is overwritten in place, so that somebody may see the digits of two notes in one."""
    its = notes.Notes(str(tmp_path / "out"))
    its.file.touch()
    safe, recent = notes.Note("c", 1, 10, {PLACE: 1}), notes.Note("c", 1, 1999, {PLACE: 199})
    its.make_safe(safe)
    its.write(recent)
    assert its.read() == recent
    its.recent.write_text(its.recent.read_text().replace('"length": 1999', '"length": 2999'))
    assert its.read() == safe
    its.write(notes.Note("c", 1, 5, {}))
    assert its.read() == notes.Note("c", 1, 5, {}), "a shorter note leaves nothing of the longer one"
