"""Differences in words: the place is exact, the content is not shown, and rows become one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.names import TopicPartition
from twinlog.model.verify.differences import Content, Difference, Kind, Oddity, describe_change, explain, grouped
from twinlog.model.verify.plan import Excluded
from twinlog.model.verify.report import VerifyReport
from twinlog.model.verify.verification import ChunkResult

_bytes = st.none() | st.binary(max_size=6)
CONTENTS = st.tuples(
    st.integers(-1, 99), _bytes, _bytes, st.lists(st.tuples(st.sampled_from(["a", "b", "trace"]), _bytes), max_size=3)
)


@given(CONTENTS, CONTENTS)
def test_every_change_has_words_and_equal_records_have_none(source: Content, target: Content) -> None:
    what = describe_change(source, target)
    assert bool(what) == (source != target)
    fields = [name for name, at in (("timestamp", 0), ("key", 1), ("value", 2)) if source[at] != target[at]]
    assert all(name in what for name in fields)
    assert ("header" in what) == (source[3] != target[3])


def test_the_words_tell_null_from_empty_and_show_no_content() -> None:
    before: Content = (1, None, b"secret-4711", [("trace", b"hidden"), ("trace", b"x"), ("b", None)])
    after: Content = (1, b"", b"secret-4712", [("trace", b"x"), ("b", None)])
    what = describe_change(before, after)
    assert what == "key is empty, not null; value differs from byte 10 of 11 on; headers: 2, not 3 (lost 'trace')"
    assert "secret" not in what
    assert "hidden" not in what
    assert describe_change(
        (1, None, None, [("a", b"1"), ("b", b"2")]), (1, None, None, [("b", b"2"), ("a", b"1")])
    ) == ("headers are in another order")


@given(st.integers(2, 40), st.data())
def test_a_dropped_record_shifts_all_behind_it_and_that_is_two_lines(count: int, data: st.DataObject) -> None:
    dropped = data.draw(st.integers(0, count - 2))
    odd = [Oddity(n, 100 + n, n, n + 1, "differs") for n in range(dropped, count - 1)]
    odd.append(Oddity(count - 1, 100 + count - 1, count - 1, None, "nothing there"))
    missing, moved = explain(odd)
    assert (missing.kind, missing.source, missing.count) == (Kind.MISSING, dropped, 1)
    assert (moved.kind, moved.source, moved.count, moved.shift) == (Kind.MOVED, dropped + 1, count - dropped - 1, -1)


@given(st.permutations(range(12)))
def test_a_new_order_is_told_as_moves_only(order: list[int]) -> None:
    odd = [Oddity(n, n, n, print_, "differs") for n, print_ in enumerate(order) if n != print_]
    found = explain(odd)
    assert all(one.kind is Kind.MOVED for one in found)
    assert sum(one.count for one in found) == len(odd)


@given(st.lists(st.sampled_from([Kind.MISSING, Kind.EXTRA, Kind.CHANGED]), max_size=20))
def test_grouping_loses_no_record(kinds: list[Kind]) -> None:
    single = [Difference(kind, n, n, str(kind)) for n, kind in enumerate(kinds)]
    groups = grouped(single)
    assert sum(one.count for one in groups) == len(single)
    starts = [one.source for one in groups]
    assert starts == sorted(starts, key=lambda at: at or 0)


def test_a_report_says_what_was_compared_what_differs_and_what_could_not_be() -> None:
    where = TopicPartition("orders", 3)
    report = VerifyReport("A->B", "all topics", 0, took_s=2.0)
    report.take([ChunkResult(where, 0, 10, equal=10, source_bytes=500, target_bytes=500, compacted_source=2)])
    assert (report.equal, report.verdict()) == (True, "A->B: equal: 10 records")
    report.excluded = [Excluded("orders-4", "the source has deleted them since", 7)]
    report.settle(where, 5, [(4, 104)])
    report.take([ChunkResult(where, 10, 20, trouble="B: no broker answers: x")])
    assert not report.equal
    page, figures = report.as_markdown(), report.as_json()
    assert "orders-3: source 4 / target 104: missing" in page
    assert "orders-4: 7 offsets: the source has deleted them since" in page
    assert "source offsets 10..19: B: no broker answers" in page
    assert figures["records_differing"] == 1
    assert figures["aside"]["compacted_target"] == 5
    assert figures["differences"][0]["source_offset"] == 4
