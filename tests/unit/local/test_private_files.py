"""What Twinlog writes down about records and switches is readable by its own user alone, whatever the umask says."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from twinlog.drill.reports import Reports
from twinlog.local.blueprint import draw_blueprint
from twinlog.local.storage import _run_storage_tool
from twinlog.machine.folders import open_private, private_folder, write_atomically
from twinlog.model.names import TopicPartition
from twinlog.recovery.tail import TailFile
from twinlog.wire.codec import PlainRecord


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_records_that_were_left_behind_are_for_nobody_elses_eyes(tmp_path: Path):
    path = tmp_path / "state" / "switch" / "tail.jsonl"
    with TailFile(path, "s1") as tail:
        assert mode(path.with_suffix(".part")) == 0o600
        tail.add(TopicPartition("orders", 0), PlainRecord(0, 1, b"key", b"hush", []))
    assert mode(path) == 0o600
    assert [mode(folder) for folder in (path.parent, path.parent.parent)] == [0o700, 0o700]


def test_reports_of_drills_too(tmp_path: Path):
    path = tmp_path / "state" / "drills.jsonl"
    Reports(path).append({"link": "A->B"})
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)


def test_a_file_that_was_open_to_all_is_closed_and_a_folder_of_somebody_else_stays(tmp_path: Path):
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    old = shared / "journal.jsonl"
    old.write_text("line\n")
    assert mode(old) == 0o644
    with open_private(old, "a") as file:
        file.write("next\n")
    assert (mode(old), mode(shared), old.read_text()) == (0o600, 0o755, "line\nnext\n")
    private_folder(shared / "a" / "b")
    assert [mode(shared / "a"), mode(shared / "a" / "b")] == [0o700, 0o700]
    write_atomically(shared / "c" / "state.json", "{}")
    assert (mode(shared / "c"), mode(shared / "c" / "state.json")) == (0o700, 0o600)


def test_no_login_of_a_broker_is_an_argument_that_every_user_sees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    seen: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        file = Path(command[-1].removeprefix("@"))
        assert mode(file) == 0o600
        assert 'saltedpassword=\\"' in file.read_text()
        seen.append(command)
        return subprocess.CompletedProcess(command, 0, "")

    monkeypatch.setattr("twinlog.local.storage.subprocess.run", run)
    monkeypatch.setattr("twinlog.local.storage.resolve", lambda _: ())
    monkeypatch.setattr("twinlog.local.storage.find_java", lambda: SimpleNamespace(java=Path("java")))
    _run_storage_tool(draw_blueprint("A", 1, secure=True), {"anna": "hush"}, tmp_path)
    assert len(seen) == 1
    assert not [one for one in seen[0] if "salt" in one or "anna" in one]
