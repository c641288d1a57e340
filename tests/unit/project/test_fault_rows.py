"""The page of faults: a goal that was missed is red, and a run that was stopped goes on."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tests.faults.eye import Answer
from tests.faults.naming import Thing, first_naming, patterns
from tests.faults.page import Page, page
from tests.faults.row import Cost, Row, missed_goals
from tests.faults.scenario import all_scenarios
from tests.kit.verdict import Difference, Kind, Verdict

WELL = Cost(records=100, stood_still_s=2.0, beside_still_s=1.0, goes_on_s=1.5)
ROW = Row(
    "a-fault", "brokers", [5], "a fault", "something is done", WELL, None, "RUNNING", None, [], "abc", "12:00", 9.0
)


def missed(
    cost: Cost = WELL, *, named_s: float | None = 3.0, unnoticed: bool = False, end: str | None = None
) -> list[str]:
    return missed_goals(cost, named_s=named_s, unnoticed=unnoticed, end_state=end)


def test_every_fault_must_be_named_in_time_however_short_records_stood_still() -> None:
    assert missed() == missed(named_s=10.0) == []
    assert missed(named_s=None) == ["the true cause was not named"]
    assert len(missed(named_s=10.1)) == 1


def test_where_nobody_must_be_told_no_record_stands_still_for_long() -> None:
    assert missed(named_s=None, unnoticed=True) == []
    assert len(missed(replace(WELL, stood_still_s=10.5), unnoticed=True)) == 1
    assert len(missed(replace(WELL, stood_still_s=None), unnoticed=True)) == 1


def answer(at: float, **facts: object) -> Answer:
    return Answer(at - 1, at, facts)


def test_a_cause_is_told_by_the_state_the_code_and_the_names_of_the_run() -> None:
    fault = {
        "code": "CORRUPT_BATCH",
        "says": "orders-0: the batch at offset 5 is corrupt",
        "facts": {"topic": "orders"},
    }
    told = answer(7.0, state="DEGRADED", fault_list=[fault])
    other = answer(8.0, state="DEGRADED", trouble="T: broker 2 does not answer")
    cases: list[tuple[str, dict[str, Thing], Answer | None]] = [
        ("CORRUPT_BATCH <orders>-<place>: ", {"orders": "orders", "place": 0}, told),
        ("CORRUPT_BATCH <orders>-<place>: ", {"orders": "orders", "place": 1}, None),
        ("CORRUPT_BATCH <orders>-<place>: ", {"orders": "orders", "place": [0, 1]}, None),
        ("^DEGRADED; .*T: broker <broker> ", {"broker": 2}, other),
        ("^STALLED; .*T: broker <broker> ", {"broker": 2}, None),
        ("T: broker <broker> ", {"broker": 3}, None),
    ]
    for named, things, found in cases:
        assert first_naming([told, other], patterns([named], things)) is found
    assert first_naming([told, other], patterns(["CORRUPT", "broker 2"], {})) is other
    assert first_naming([told, other], []) is None


@pytest.mark.parametrize(
    "cost",
    [replace(WELL, lost=1), replace(WELL, doubled=1), replace(WELL, reordered=1), replace(WELL, changed=1)],
    ids=["lost", "doubled", "reordered", "changed"],
)
def test_one_record_is_enough_to_miss_a_goal(cost: Cost) -> None:
    assert len(missed(cost)) == 1


def test_a_link_that_stays_still_or_keeps_complaining_misses_its_goal() -> None:
    assert missed(replace(WELL, goes_on_s=None)) == ["did not go on by itself"]
    assert missed(end="STALLED") == ["afterwards status still says: STALLED"]


def test_every_kind_of_difference_counts() -> None:
    verdict = Verdict(7, 7)
    for kind in Kind:
        verdict.add(Difference(kind, "orders-0", 1, 1, "test"))
    cost = Cost.of(verdict)
    assert (cost.records, cost.lost, cost.doubled, cost.reordered, cost.changed) == (7, 1, 1, 1, 3)


def test_the_newest_row_of_a_fault_counts_and_survives_the_process(tmp_path: Path) -> None:
    for row in (ROW, replace(ROW, key="other"), replace(ROW, missed=["1 lost"], twinlog=replace(WELL, lost=1))):
        Page(tmp_path, "2026-01-01").add(row, ["other", "a-fault"])
    with (tmp_path / "2026-01-01-faults.jsonl").open("a") as file:
        file.write('{"key": "half of a row')
    rows = Page(tmp_path, "2026-01-01").rows()
    assert [(row.key, row.green) for row in rows] == [("a-fault", False), ("other", True)]
    text = (tmp_path / "2026-01-01-faults.md").read_text()
    assert "1 of 2 faults reached every goal" in text
    assert text.index("| ok |") < text.index("| **MISSED** |")


def test_faults_that_were_not_run_are_listed() -> None:
    assert "2 faults of the matrix were never run**: zombie, loops." in page(
        "2026-01-01", [ROW], left=["zombie", "loops"]
    )
    assert "never run" not in page("2026-01-01", [ROW])


def test_rows_of_an_earlier_day_are_kept_and_say_so(tmp_path: Path) -> None:
    order = ["a-fault", "other", "third"]
    for row in (ROW, replace(ROW, key="other"), replace(ROW, key="third")):
        Page(tmp_path, "2026-01-01").add(row, order)
    Page(tmp_path, "2026-01-02").add(replace(ROW, commit="def", missed=["1 lost"]), order)
    assert len((tmp_path / "2026-01-02-faults.jsonl").read_text().splitlines()) == 4
    for day in ("2026-01-02", "2026-01-03"):
        found = {row.key: (row.day, row.commit, row.green) for row in Page(tmp_path, day).rows()}
        assert found["a-fault"] == ("2026-01-02", "def", False)
        assert found["other"] == found["third"] == ("2026-01-01", "abc", True)
    text = (tmp_path / "2026-01-02-faults.md").read_text()
    assert "2 of 3 faults reached every goal" in text
    assert "1 of 3 rows are of this day" in text
    assert text.count("| 2026-01-01, an earlier state, lax |") == 2
    assert Page(tmp_path, "2025-12-31").rows() == []


def test_a_row_without_the_peer_does_not_hide_what_the_peer_did_before(tmp_path: Path) -> None:
    for row in (replace(ROW, peer=replace(WELL, lost=7)), replace(ROW, missed=["1 lost"])):
        Page(tmp_path, "2026-01-01").add(row, [])
    Page(tmp_path, "2026-01-02").add(replace(ROW, key="other"), [])
    found = Page(tmp_path, "2026-01-02")
    assert [(row.key, row.green) for row in found.rows()] == [("a-fault", False), ("other", True)]
    assert [row.peer.lost for row in found.beside() if row.peer] == [7]
    assert "in the 1 faults that it can run beside: 100 records, 7 lost" in found.file.read_text()


def test_a_row_says_of_which_commit_it_is_and_whether_its_rules_were_lax() -> None:
    root = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout
    seen = replace(ROW, day="2026-01-01", effect=["a broker was dead"], others=0.25)
    text = page("2026-01-01", [replace(seen, commit=root.strip()), replace(seen, key="other", commit="abc")])
    assert f"| 2026-01-01, commit {root.strip()} | 0.2 |" in text
    assert "| 2026-01-01, an earlier state | 0.2 |" in text
    assert "1 rows are of an earlier state" in text
    assert "*Seen: a broker was dead.*" in text
    assert "lax" not in text
    assert "(1 of them by rules that were lax, see below)" in page("2026-01-01", [replace(seen, effect=[])])


def test_words_cannot_break_the_table() -> None:
    row = replace(ROW, said="a|b\nc", peer=WELL)
    text = page("2026-01-01", [row], [row])
    assert "a/b c" in text
    assert all(line.count("|") == 15 for line in text.splitlines() if line.startswith("| ok"))


def test_every_fault_says_what_is_done_and_has_a_name_of_its_own() -> None:
    found = all_scenarios()
    assert all(one.done and one.title for one in found)
    assert all(bool(one.named) != bool(one.unnoticed) for one in found if not one.tests)
    assert len({one.key for one in found}) == len(found)
