"""Kinds of work: what may differ between sessions of one JVM, and what may not."""

from __future__ import annotations

import pytest

from twinlog.spark.work import MIRROR, TABLES, Work

BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"


@pytest.mark.parametrize("work", [MIRROR, TABLES])
def test_settings_of_a_session_are_those_that_spark_lets_a_session_have(work: Work) -> None:
    of_sessions = [name for name in work.session if not name.startswith("spark.sql.")]
    assert of_sessions == []
    assert not work.session.keys() & work.process.keys()


def test_both_kinds_set_the_same_things_of_a_session_or_tables_leave_them_alone() -> None:
    """A session for tables in the JVM of a mirror inherits what it does not set itself."""
    assert MIRROR.session.keys() <= TABLES.session.keys()


def test_a_batch_of_the_mirror_waits_for_no_other() -> None:
    assert MIRROR.session[BATCH] == "1"
    assert int(TABLES.session[BATCH]) > 1_000
