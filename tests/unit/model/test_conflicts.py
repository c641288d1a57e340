"""What is said about conflicts: the verdict, shares, keys that are not text."""

from __future__ import annotations

from twinlog.model.verify.conflicts import ConflictReport, TopicConflicts, shown_key


def report(*topics: TopicConflicts, troubles: tuple[str, ...] = ()) -> ConflictReport:
    return ConflictReport("A->B", ("A", "B"), 0, 1, 10_000, list(topics), troubles=list(troubles))


def test_the_verdict_counts_keys_and_never_says_none_where_something_is_unknown():
    orders = TopicConflicts("orders", {"A": 6, "B": 4}, 0, 8, 2, 1, 3)
    quiet = TopicConflicts("logs", {"A": 2, "B": 0}, 0, 2, 0, 0, 0)
    assert report(orders, quiet).verdict() == "3 conflicts: 1 of 10 keys were written on both sides within 10 s"
    assert report(orders, quiet).not_sticky == 0.2
    assert report(quiet).verdict() == "no key was written on both sides within 10 s"
    assert report().not_sticky is None
    assert "no record with a key" in report().verdict()
    assert report(quiet, troubles=("A: orders-0: no leader",)).verdict().startswith("not known")


def test_keys_are_shown_as_text_where_they_are_text():
    assert shown_key(b"user-7", True) == "user-7"
    assert shown_key(b"\x00\xff", True) == "00ff"
    assert shown_key(b"a\nb", False) == "610a62\u2026"
