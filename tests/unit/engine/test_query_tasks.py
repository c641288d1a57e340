"""A task that died without a word is named from what Spark tells, until it has got over it."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from twinlog.engine.query_tasks import FRESH_S, DeadTasks, why_it_died

KILLED = "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)\n\tat org.apache.spark"
NO_MEMORY = "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n  File\nMemoryError\n"
TOLD_ITSELF = "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\nBrokerAway: east\n"
JAVA = "java.lang.OutOfMemoryError: Java heap space\n\tat java.util"


class Option:
    """Scala's, as py4j shows it."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def isDefined(self) -> bool:  # noqa: N802
        return self._value is not None

    def get(self) -> Any:
        return self._value


def query(*errors: str | None) -> Any:
    """A query with one job of one stage, whose attempts ended so; None: an attempt that runs."""
    failed = sum(error is not None for error in errors)
    stage = SimpleNamespace(currentAttemptId=lambda: 0, numFailedTasks=lambda: failed)
    tasks = [SimpleNamespace(errorMessage=lambda error=error: Option(error)) for error in errors]
    spark = SimpleNamespace(
        statusTracker=lambda: SimpleNamespace(
            getJobIdsForGroup=lambda group: [4, 7] if group == "run" else [],
            getJobInfo=lambda job: Option(SimpleNamespace(stageIds=lambda: [job])),
            getStageInfo=lambda number: Option(stage if number == 7 else None),
        ),
        statusStore=lambda: SimpleNamespace(
            taskList=lambda *_: SimpleNamespace(size=lambda: len(tasks), apply=tasks.__getitem__)
        ),
    )
    return SimpleNamespace(
        runId="run", _jsq=SimpleNamespace(sparkSession=lambda: SimpleNamespace(sparkContext=lambda: spark))
    )


def after(looks: Sequence[Any]) -> DeadTasks:
    dead = DeadTasks()
    for second, one in enumerate(looks):
        dead.look(one, float(second))
    return dead


@pytest.mark.proves("R14")
@pytest.mark.parametrize(
    ("error", "named"),
    [(KILLED, "a Python worker died"), (NO_MEMORY, "no memory left"), (JAVA, "java.lang.OutOfMemoryError")],
)
def test_what_a_task_died_of_is_told_for_a_while(error: str, named: str) -> None:
    dead = after([query(None), query(error, None)])
    assert named in (dead.trouble(1.0) or "")
    assert named in (dead.trouble(FRESH_S) or "")
    assert dead.trouble(1.0 + FRESH_S) is None


def test_a_failure_that_is_not_renewed_is_not_told_again() -> None:
    dead = after([query(KILLED, None)] * 20)
    assert dead.trouble(FRESH_S) is None


def test_an_error_that_the_task_told_itself_is_left_to_its_memo() -> None:
    assert why_it_died(TOLD_ITSELF) is None
    assert after([query(TOLD_ITSELF, None)]).trouble(0.0) is None


def test_a_query_that_cannot_be_asked_changes_nothing() -> None:
    dead = after([query(KILLED, None), SimpleNamespace()])
    assert "a Python worker died" in (dead.trouble(1.0) or "")
