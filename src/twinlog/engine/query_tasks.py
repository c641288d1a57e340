"""Why tasks of a running query failed, asked of Spark. Blocking: each question goes to Spark's JVM.

A task that fails leaves a memo in the ledger (flow/task_failures). One whose process was killed, or that had no memory
to write the memo, cannot. Spark only tries it again; its status store is the one place that says why (R14).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any, Final

from twinlog.flow.task_failures import NO_MEMORY

log = logging.getLogger("twinlog.engine")

FRESH_S: Final = 15.0
"""A task that was not seen to fail again within this time has got over it."""
_SHOWN: Final = 300
_ASKED: Final = 200
"""Attempts of one stage that are looked at; the newest are the last ones."""


@dataclass
class DeadTasks:
    """Tasks of one query that failed, look by look."""

    _seen: dict[tuple[int, int], int] = field(default_factory=dict)
    _says: str = ""
    _at: float = float("-inf")

    def look(self, query: Any, now: float) -> None:
        """Ask Spark; what it cannot tell is left as it was, because whether the query runs is asked elsewhere."""
        try:
            failed = _failed(query)
            for stage, count in failed.items():
                if count > self._seen.get(stage, 0) and (cause := _cause(query, *stage)) is not None:
                    self._says, self._at = cause, now
        except Exception as error:  # noqa: BLE001  py4j raises what it likes; a query that is gone is noticed elsewhere
            log.debug("asking Spark for failed tasks: %s", error)
            return
        self._seen = failed

    def trouble(self, now: float) -> str | None:
        """What the newest failure was; None when no task failed lately."""
        return None if now - self._at >= FRESH_S else f"a task failed and is tried again: {self._says}"


def _failed(query: Any) -> dict[tuple[int, int], int]:
    """How many attempts failed, by stage and its attempt, in the newest job of a query."""
    tracker = _spark(query).statusTracker()
    jobs = sorted(tracker.getJobIdsForGroup(str(query.runId)))
    if not jobs:
        return {}
    job = tracker.getJobInfo(jobs[-1])
    failed: dict[tuple[int, int], int] = {}
    for stage in job.get().stageIds() if job.isDefined() else ():
        told = tracker.getStageInfo(stage)
        if told.isDefined():
            failed[stage, told.get().currentAttemptId()] = told.get().numFailedTasks()
    return failed


def _cause(query: Any, stage: int, attempt: int) -> str | None:
    tasks = _spark(query).statusStore().taskList(stage, attempt, _ASKED)
    errors = [task.errorMessage() for task in (tasks.apply(number) for number in range(tasks.size()))]
    told = [error.get() for error in errors if error.isDefined()]
    return next(filter(None, map(why_it_died, reversed(told))), None)


def _spark(query: Any) -> Any:
    return query._jsq.sparkSession().sparkContext()  # noqa: SLF001  PySpark has no public way to these answers


def why_it_died(says: str) -> str | None:
    """The cause in words, from the stack trace that Spark keeps; None for an error that the task could tell itself."""
    if "java.lang.OutOfMemoryError" not in says and ("MemoryError" in says or "Cannot allocate memory" in says):
        return NO_MEMORY
    if "Traceback (most recent call last)" in says:
        return None
    if "Python worker exited unexpectedly" in says or "EOFException" in says:
        return "a Python worker died: it was killed, or it had no memory left"
    return next((line.strip()[:_SHOWN] for line in says.splitlines() if line.strip()), None)
