"""What the Spark query of a link failed with stays visible until a query runs well, and pauses stay short."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.engine.query_failures import LONGEST_PAUSE_S, SOUND_S, QueryFailures
from twinlog.model.ledger.records import ENGINE_SILENT_MS

FULL = "[Errno 28] No space left on device"


@pytest.mark.proves("R14")
@given(st.lists(st.floats(min_value=0.1, max_value=SOUND_S), max_size=30))
def test_a_failure_is_reported_until_a_query_ran_well(after: list[float]) -> None:
    failures, now = QueryFailures(), 100.0
    assert failures.trouble(now) is None
    for seconds in after:
        now += seconds
        pause = failures.failed(FULL, now)
        assert 0 < pause <= LONGEST_PAUSE_S < ENGINE_SILENT_MS / 1000
        said = failures.trouble(now + pause + SOUND_S / 2)
        assert said is not None
        assert FULL in said
        assert failures.trouble(now + pause + SOUND_S + 0.01) is None


def test_pauses_grow_while_it_fails_in_a_row_and_begin_anew_after_a_good_query() -> None:
    failures = QueryFailures()
    assert [failures.failed("", now) for now in (0.0, 1.0, 2.0, 4.0, 9.0)] == [0.5, 1.0, 2.0, 4.0, 4.0]
    assert failures.failed("", 100.0) == 0.5
