"""Sync jobs in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.surface.answers.sync_words import job_line


@pytest.mark.parametrize(
    ("job", "counts", "said"),
    [
        ("groups", {"groups": 2, "positions": 18, "exact": 18}, "2 groups in sync (18 of 18 positions exact)"),
        ("groups", {"groups": 1, "positions": 3, "exact": 2}, "1 group not all in sync (2 of 3 positions exact)"),
        ("groups", {"groups": 0}, "nothing to do"),
        ("heartbeats", {"sent": 1, "canary_ms": 9}, "arriving, 9 ms"),
        ("heartbeats", {"sent": 1}, "arriving"),
        ("topics", {"created": 1200, "grown": 0}, "1,200 created"),
        ("audit", {"took_ms": 12}, "took 12 ms"),
        ("acls", {}, "nothing to do"),
    ],
)
def test_lines(job: str, counts: dict[str, int], said: str):
    assert job_line(job, counts) == said


@given(st.text(max_size=5), st.dictionaries(st.text(min_size=1, max_size=8), st.integers(0, 10**9)))
def test_every_job_has_a_line(job: str, counts: dict[str, int]):
    assert job_line(job, counts)


def test_counts_are_said_in_plain_words_and_one_is_one():
    assert job_line("offset-syncs", {"partitions": 1, "told": 1}) == "1 partition, 1 reported"
    assert job_line("takeover", {"begun": 4}) == "4 started"
