"""What tasks fail with becomes the link's trouble, and a link of which nothing was ever copied is not RUNNING."""

from __future__ import annotations

import pytest

from twinlog.flow.task_failures import TASK_FAILURES, TaskFailures, cause_of
from twinlog.model.health.states import LinkStatus, PartitionStatus, judge
from twinlog.model.ledger.records import Engine, Memo
from twinlog.model.names import TopicPartition

pytestmark = pytest.mark.proves("R14")
NOW = 1_000_000


def failure(task: str, error: str, generation: int = 7) -> Memo:
    return Memo(chore=TASK_FAILURES, name=task, body={"error": error, "generation": generation, "attempt": 0})


def test_the_newest_failure_is_reported_until_it_is_not_renewed() -> None:
    failures = TaskFailures()
    assert failures.trouble(0) is None
    failures.hear(failure("0", "an engine before this one", generation=6), 7, 1)
    failures.hear(Memo(chore="acls", name="0", body={"error": "x", "generation": 7}), 7, 1)
    assert failures.trouble(1) is None
    failures.hear(failure("0", "denied"), 7, 2)
    failures.hear(failure("1", "too large"), 7, 12)
    assert "too large" in (failures.trouble(13) or "")
    failures.hear(failure("0", "denied"), 7, 25)
    assert "denied" in (failures.trouble(50) or "")
    assert failures.trouble(56) is None


def test_the_want_of_memory_is_told_in_words() -> None:
    assert cause_of(MemoryError()) == "a Python worker has no memory left"
    assert cause_of(OSError("disk full")) == "disk full"


def test_records_that_wait_without_a_time_are_no_running_link() -> None:
    engine = Engine(engine_id="e", generation=1, phase="running", at_ms=NOW)
    waiting = PartitionStatus(TopicPartition("orders", 0), "orders", 0, 5_000_000, None)
    assert judge(LinkStatus("A->B", engine, (waiting,), now_ms=NOW, lag_seconds=None)) == "CATCHING_UP"
    failing = engine.model_copy(update={"trouble": "a task failed and is tried again: denied"})
    assert judge(LinkStatus("A->B", failing, (waiting,), now_ms=NOW, lag_seconds=None)) == "STALLED"
