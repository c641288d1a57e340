"""What tasks report becomes states with a cause: what one task waits for, what stopped it, that it goes on again."""

from __future__ import annotations

import pytest

from twinlog.pipelines.progress import Progress

DOWN = "jdbc:postgresql://db/shop: connection refused"


def waits(task: int, reason: str, end: str = "writer") -> dict[str, object]:
    return {"task": task, "end_of": end, "waiting": reason}


@pytest.mark.proves("R31")
def test_a_task_that_waits_is_named_with_its_cause_until_it_stores_something() -> None:
    progress = Progress(state="RUNNING", tasks=2)
    progress.take(waits(1, DOWN))
    assert progress.troubles() == {1: DOWN}
    assert progress.hindrance == DOWN
    progress.take({"task": 0, "end_of": "writer", "counts": {"put": 3}})
    assert progress.troubles() == {1: DOWN}, "another task's success says nothing about this one"
    progress.take({"task": 1, "end_of": "writer", "counts": {"put": 1}})
    assert (progress.troubles(), progress.hindrance) == ({}, "")


def test_a_source_that_cannot_be_read_is_not_forgotten_when_its_writer_commits() -> None:
    progress = Progress(state="RUNNING", tasks=1)
    progress.take(waits(0, DOWN, "reader"))
    progress.take({"task": 0, "end_of": "writer", "counts": {"written": 9}})
    assert progress.troubles() == {0: DOWN}
    progress.take(waits(0, "", "reader"))
    assert progress.troubles() == {}


def test_a_failure_stays_until_something_was_stored() -> None:
    progress = Progress()
    progress.fail("the JVM ended")
    progress.fail("the JVM ended")
    assert (progress.state, progress.failures_in_a_row, progress.trace) == ("FAILED", 2, "the JVM ended")
    progress.sound()
    assert (progress.state, progress.failures_in_a_row) == ("RUNNING", 2), "it runs, and may fail in the same way"
    progress.take({"task": 0, "end_of": "writer", "counts": {"put": 1}})
    assert progress.failures_in_a_row == 0
    assert progress.trace == "the JVM ended", "what happened is still shown"


def test_a_record_that_stops_a_source_again_and_again_is_one_fault() -> None:
    progress = Progress(tasks=1)
    fault = {"topic": "orders", "stage": "TRANSFORMATION", "exception": "DataException", "message": "no id"}
    for _ in range(50):
        progress.take({"task": 0, "end_of": "writer", "fault": fault})
    assert len(progress.faults) == 1
    assert progress.troubles() == {0: "orders: TRANSFORMATION: DataException: no id"}


def test_a_partition_that_stands_still_is_named_with_its_record() -> None:
    progress = Progress(tasks=2)
    at = {"topic": "orders", "partition": 3, "offset": 17}
    fault = {**at, "stage": "VALUE_CONVERTER", "exception": "DataException", "message": "not JSON"}
    progress.take({"task": 1, "end_of": "writer", "fault": fault})
    assert progress.troubles() == {1: "orders-3 offset 17: VALUE_CONVERTER: DataException: not JSON"}


def test_what_the_whole_pipeline_waits_for_concerns_every_task() -> None:
    progress = Progress(tasks=2, waiting="orders: there is no such topic")
    assert progress.troubles() == dict.fromkeys((0, 1), "orders: there is no such topic")


def test_counts_of_an_epoch_are_added_up_at_its_end() -> None:
    progress = Progress()
    progress.take({"task": 0, "end_of": "writer", "counts": {"put": 3, "parked": 1}, "newest_ms": 7})
    progress.take({"task": 0, "end_of": "writer", "counts": {"put": 5, "parked": 1}, "newest_ms": 6})
    progress.take(waits(1, DOWN))
    progress.end_epoch()
    assert (dict(progress.totals()), progress.by_task, progress.troubles()) == ({"put": 5, "parked": 1}, {}, {})
    assert progress.newest_ms == 7
