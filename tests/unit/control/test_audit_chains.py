"""The chain of audit entries: an entry that was changed, moved or removed is named, in the file and in the topic."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from typer.testing import CliRunner

from twinlog.control.audit import Audit, Who
from twinlog.model.access.audit_chains import judge_topic
from twinlog.model.drills.evidence import breaks
from twinlog.surface.cli.main import app

ANNA = Who("anna", "admin")


def test_entries_are_chained_over_restarts_and_rotated_files(tmp_path: Path):
    file, old = tmp_path / "audit.log", tmp_path / "audit.log.1"
    audit = Audit(file)
    audit.note(ANNA, "pause", "c")
    audit.note(ANNA, "resume", "c", after="ü\ud800")
    Audit(file).note(ANNA, "delete", "c")
    assert breaks(file.read_text().splitlines()) == []
    file.rename(old)
    audit.note(ANNA, "create", "c")
    lines = file.read_text().splitlines()
    assert breaks(lines, part=True) == [], "the chain goes on in the new file"
    assert breaks(lines) != [], "which is no whole chain"
    assert file.stat().st_mode & 0o077 == 0
    changed = old.read_text().replace('"resume"', '"refuse"').splitlines()
    assert [one.line for one in breaks(changed)] == [2]
    assert [one.line for one in breaks([changed[0], changed[2]])] == [2, 2]


def test_an_entry_behind_half_a_line_is_whole(tmp_path: Path):
    file = tmp_path / "audit.log"
    audit = Audit(file)
    audit.note(ANNA, "pause", "c")
    with file.open("a") as torn:
        torn.write('{"at_ms": 17')
    audit.note(ANNA, "resume", "c")
    lines = file.read_text().splitlines()
    assert json.loads(lines[2])["previous"] == json.loads(lines[0])["hash"]
    assert next(one.problem for one in breaks(lines)) == "it is no report"


def test_the_command_tells_whether_entries_were_touched(tmp_path: Path):
    file = tmp_path / "audit.log"
    for what in ("pause", "resume", "delete"):
        Audit(file).note(ANNA, what, "c")
    good = CliRunner().invoke(app, ["audit", "verify", str(file)])
    assert (good.exit_code, good.stdout.splitlines()[0]) == (
        0,
        "3 entries from the first one on: none was changed, moved or removed",
    )
    last = good.stdout.split()[-1]
    text = file.read_text()
    file.write_text("".join(text.splitlines(keepends=True)[:2]))
    assert CliRunner().invoke(app, ["audit", "verify", str(file)]).exit_code == 0, "its end alone cannot be missed"
    assert CliRunner().invoke(app, ["audit", "verify", str(file), "--last", last]).exit_code == 1
    file.write_text(text.replace('"resume"', '"refuse"'))
    broken = CliRunner().invoke(app, ["audit", "verify", str(file)])
    assert (broken.exit_code, broken.stdout.strip()) == (1, "line 2: it was changed after it was written")


def told_twice(tmp_path: Path) -> tuple[list[str], list[str]]:
    """The entries of two services, as the topic has them; and the file of the first."""
    topic: list[str] = []

    def take(entry: bytes, done: Callable[[str | None], None]) -> None:
        topic.append(entry.decode())
        done(None)

    for name, count in (("one", 4), (None, 3)):
        audit = Audit(None if name is None else tmp_path / name)
        audit.to_topic = take
        for number in range(count):
            audit.note(ANNA, "pause", f"c{number}")
    return topic, (tmp_path / "one").read_text().splitlines()


def test_the_topic_holds_whole_chains_and_all_that_the_file_holds(tmp_path: Path):
    topic, file = told_twice(tmp_path)
    good = judge_topic(topic, file)
    assert good.whole
    assert sorted(chain.entries for chain in good.chains) == [3, 4]
    assert judge_topic(list(reversed(topic)), file).whole, "the order of arrival is nobody's promise"
    removed = judge_topic([*topic[:1], *topic[2:]], file)
    assert not removed.whole
    assert "one was changed, moved or removed" in str(removed.chains)
    assert removed.missing_in_topic == ("entry 2 (pause c1 by anna)",)
    assert judge_topic(topic, file[:3]).missing_in_file == ("entry 4 (pause c3 by anna)",), "an end that was cut off"
    assert judge_topic(topic, file[2:]).whole, "what was rotated away is not asked for"
    assert not judge_topic([topic[0].replace("pause", "erase"), *topic[1:]]).whole
    assert not judge_topic([*topic, "junk"]).whole
    assert not judge_topic([*topic, topic[-1]]).whole, "twice"


def test_the_command_needs_a_file_or_the_topic(tmp_path: Path):
    for words in ([], ["--topic"], ["--topic", "--last", "x", "-c", str(tmp_path / "f")]):
        assert CliRunner().invoke(app, ["audit", "verify", *words]).exit_code != 0, words
