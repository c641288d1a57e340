"""A chain of reports: any change of any report is found."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.drills.evidence import breaks, chained

values = st.one_of(st.text(max_size=5), st.integers(), st.floats(allow_nan=False), st.none(), st.booleans())
reports = st.lists(
    st.dictionaries(st.text(min_size=1, max_size=5).map(lambda key: f"x{key}"), values, max_size=4), max_size=6
)


def chain(contents: list[dict[str, object]]) -> list[str]:
    lines: list[str] = []
    before = None
    for content in contents:
        before = chained(content, before)
        lines.append(json.dumps(before))
    return lines


@given(reports)
def test_an_untouched_chain_holds(contents: list[dict[str, object]]) -> None:
    lines = chain(contents)
    assert breaks(lines) == []
    if lines:
        assert breaks(lines, json.loads(lines[-1])["hash"]) == []


@given(reports.filter(bool), st.data())
def test_a_changed_report_is_found(contents: list[dict[str, object]], data: st.DataObject) -> None:
    lines = chain(contents)
    at = data.draw(st.integers(0, len(lines) - 1))
    changed = {**json.loads(lines[at]), "verdict": "passed, honestly"}
    assert [one.line for one in breaks([*lines[:at], json.dumps(changed), *lines[at + 1 :]])] == [at + 1]


@given(reports.filter(lambda some: len(some) > 1), st.data())
def test_a_report_that_was_removed_or_moved_is_found(contents: list[dict[str, object]], data: st.DataObject) -> None:
    lines = chain(contents)
    at = data.draw(st.integers(0, len(lines) - 2))
    assert breaks([*lines[:at], *lines[at + 1 :]])
    assert breaks([*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]])


def test_a_report_written_anew_with_its_hash_breaks_the_next() -> None:
    lines = chain([{"verdict": "failed"}, {"verdict": "passed"}])
    forged = json.dumps(chained({"verdict": "passed"}, None))
    assert [str(one) for one in breaks([forged, lines[1]])] == [
        "line 2: it does not follow the report before it: one was changed, moved or removed"
    ]


def test_an_end_that_was_cut_off_is_known_to_the_ledger() -> None:
    lines = chain([{"a": 1}, {"a": 2}])
    last = json.loads(lines[1])["hash"]
    assert [str(one) for one in breaks(lines[:1], last)] == [
        "line 2: the last report that the ledger knows of is missing"
    ]


@pytest.mark.parametrize("line", ["", "{", "[]", '{"hash": "x"}'])
def test_what_is_no_report_is_told(line: str) -> None:
    assert breaks([line])[0].problem == "it is no report"
