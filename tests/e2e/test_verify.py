"""`twinlog verify` as an operator runs it: one Spark start over sound and damaged copies, compaction included."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.kit.ends import Ends
from tests.kit.engine import twinlog
from tests.kit.planted import Field, Sown, sown

from twinlog.model.ledger.runs import Run

MakeEnds = Callable[..., Ends]


def with_a_hole(key: bytes, later: bytes) -> tuple[list[Sown], list[Sown], list[Run]]:
    """Eight records, of which the copy lacks the one at offset 5: a marker has its place, as after a compaction."""
    source = [*sown(5), Sown(key, b"old"), Sown(b"other", b"x"), Sown(later, b"new")]
    target = [*source[:4], source[4]._replace(marked=True), *source[6:]]
    return source, target, [Run(0, 0, 8)]


@pytest.mark.timeout(300)
@pytest.mark.proves("R7", "R12")
def test_verify_on_spark_finds_what_differs_and_lets_compaction_be(make_ends: MakeEnds, tmp_path: Path) -> None:
    ends = make_ends()
    file, page = ends.write_file(tmp_path), tmp_path / "report.md"
    answer = twinlog("verify", ends.link.name, "-c", str(file))
    assert (answer.returncode, "no engine has ever run this link" in answer.stderr) == (1, True)

    good = sown(300)
    field = Field(ends)
    field.sow("sound", (good, good, None), (good, good, None), bytes_=8 << 20)
    wrong = good[170]._replace(value=b"value-171")
    damaged = field.sow("damaged", (good, [*good[:170], wrong, *good[171:]], None))
    compacted = field.sow(
        "compacted", with_a_hole(b"k", later=b"k"), with_a_hole(b"k", later=b"l"), cleanup_policy="compact"
    )
    field.write_ledger()

    answer = twinlog("verify", ends.link.name, "-c", str(file), "-o", "json", "--report", str(page), scratch=tmp_path)
    found = json.loads(answer.stdout)
    assert (answer.returncode, found["equal"], found["troubles"]) == (1, False, []), answer.stderr
    assert found["records_equal"] == 3 * 300 - 1 + 2 * 7
    assert [(d["topic"], d["partition"], d["kind"], d["source_offset"]) for d in found["differences"]] == [
        (damaged, 0, "changed", 170),
        (compacted, 1, "missing", 5),
    ]
    assert (found["aside"]["compacted_target"], found["aside"]["unsettled"]) == (1, 0)
    assert found["chunks"] >= 4
    assert "source 170 / target 170: changed: value" in page.read_text()
    assert "value-1" not in page.read_text()
